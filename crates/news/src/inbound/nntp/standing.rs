//! Who a newsreader is and what it may do: AUTHINFO (RFC 4643), STARTTLS (RFC 4642) and COMPRESS (RFC 8054).

use std::net::IpAddr;

use weir_news_proto::reply::code;
use weir_web::{Client, KeyMark, Porter, Refusal, Right};

use super::figures::{CountedOpen, OpenKind};
use super::session::{Flow, Session};
use super::wire::Gone;
use crate::posting::Poster;

/// What is known of a client.
pub(super) struct Standing {
    pub(super) address: IpAddr,
    /// Held while the connection is encrypted.
    pub(super) encrypted: Option<CountedOpen>,
    /// Held while it is compressed.
    pub(super) compressed: Option<CountedOpen>,
    /// A name was sent and waits for its password.
    named: bool,
    /// The key it has sent. Any name goes with it, so names say nothing.
    signed_in: Option<KeyMark>,
}

impl Standing {
    pub(super) fn new(address: IpAddr) -> Self {
        Self {
            address,
            encrypted: None,
            compressed: None,
            named: false,
            signed_in: None,
        }
    }

    /// The client by the rules of now, which may have changed since it came.
    pub(super) fn client(&self, porter: &Porter) -> Client {
        porter.client(self.address)
    }

    /// What the key that it has sent allows, if it still holds.
    fn right(&self, porter: &Porter) -> Option<Right> {
        porter.right(self.signed_in.as_ref()?)
    }

    /// Whether it has sent a key that no longer holds.
    pub(super) fn has_lost_its_key(&self, porter: &Porter) -> bool {
        let key = self.signed_in.as_ref();
        key.is_some_and(|key| !porter.holds(key))
    }

    /// Whether it may read without more ado.
    pub(super) fn may_read(&self, porter: &Porter, public: bool) -> bool {
        let has_key = self
            .right(porter)
            .is_some_and(|has| has.covers(Right::Read));
        public || has_key || porter.is_open() || self.client(porter).near()
    }

    /// Whether it may post without more ado; else what its key allows, if it has sent one.
    pub(super) fn may_post(&self, porter: &Porter) -> Result<(), Option<Right>> {
        match self.right(porter) {
            _ if porter.is_open() => Ok(()),
            Some(right) if right.covers(Right::Post) => Ok(()),
            other => Err(other),
        }
    }

    /// Who posts: by the key, for names say nothing.
    pub(super) fn poster(&self, porter: &Porter) -> Poster {
        let name = self.signed_in.as_ref().and_then(|key| porter.key_name(key));
        Poster::of(name.as_deref(), self.right(porter))
    }

    /// Whether a key may be sent over this connection: nobody on the way can read it.
    pub(super) fn is_safe(&self, porter: &Porter) -> bool {
        self.encrypted.is_some() || self.client(porter).near()
    }
}

impl Session {
    /// Whether AUTHINFO makes sense now, apart from encryption.
    pub(super) fn can_sign_in(&self) -> bool {
        let standing = &self.standing;
        standing.compressed.is_none() && standing.right(&self.service.porter).is_none()
    }

    /// Whether STARTTLS makes sense now.
    pub(super) fn can_secure(&self) -> bool {
        let has_certificate = self.service.parts.tls.load().is_some();
        has_certificate && self.standing.encrypted.is_none() && self.can_sign_in()
    }

    /// AUTHINFO USER.
    pub(super) fn user(&mut self) {
        if self.refuses_keys() {
            return;
        }
        self.standing.named = true;
        self.say(code::PASSWORD_NEEDED, "Send an API key as the password");
    }

    /// AUTHINFO PASS.
    pub(super) async fn password(&mut self, given: &str) {
        if self.refuses_keys() {
            return;
        }
        if !std::mem::take(&mut self.standing.named) {
            return self.say(code::AUTHENTICATION_ORDER, "Send AUTHINFO USER first");
        }
        let porter = &self.service.porter;
        let client = self.standing.client(porter);
        // Another node may have made it a moment ago.
        porter.look_for(given, &client).await;
        match porter.key(given, &client) {
            Ok(key) => {
                self.standing.signed_in = Some(key);
                self.note_success();
                self.say(code::AUTHENTICATED, "Signed in");
            }
            // Where nobody needs a key, a wrong one does no harm.
            Err(_) if porter.is_open() => self.say(code::AUTHENTICATED, "No key is needed here"),
            Err(refusal) => {
                self.service.parts.figures.wrong_key();
                let text = match refusal {
                    Refusal::Throttled { seconds, .. } => {
                        format!("Too many wrong keys from your address: wait {seconds} s")
                    }
                    Refusal::NoKey | Refusal::WrongKey | Refusal::TooLittle { .. } => {
                        "That is not a key of this server; its page Connect makes one".to_owned()
                    }
                };
                self.say(code::AUTHENTICATION_FAILED, &text);
            }
        }
    }

    /// AUTHINFO SASL.
    pub(super) fn sasl(&mut self) {
        if !self.refuses_keys() {
            let text = "No SASL mechanism is offered: send AUTHINFO USER and AUTHINFO PASS";
            self.say(code::UNSUPPORTED, text);
        }
    }

    /// Says why no key is taken, if that is so.
    fn refuses_keys(&mut self) -> bool {
        if self.standing.compressed.is_some() {
            self.say(code::REFUSED, "Not after COMPRESS");
        } else if !self.can_sign_in() {
            self.say(code::REFUSED, "You have signed in already");
        } else if !self.standing.is_safe(&self.service.porter) {
            let text = match self.service.parts.tls.load().is_some() {
                true => {
                    "Send STARTTLS first, or connect with TLS: a key must not be readable on its way"
                }
                false => {
                    "A key must not be readable on its way, and this server has no certificate: its operator has to set news.tls_cert and news.tls_key"
                }
            };
            self.say(code::ENCRYPTION_NEEDED, text);
        } else {
            return false;
        }
        true
    }

    /// STARTTLS.
    pub(super) async fn start_tls(&mut self) -> Result<Flow, Gone> {
        let tls = self.service.parts.tls.load_full();
        let Some(tls) = tls.filter(|_| self.can_secure()) else {
            match self.service.parts.tls.load().is_some() {
                true => self.say(code::REFUSED, "Not now: after TLS, AUTHINFO or COMPRESS"),
                false => self.say(code::TLS_FAILED, "This server has no certificate"),
            }
            return Ok(Flow::Goes);
        };
        self.say(code::TLS_STARTS, "Begin with TLS");
        self.wire.flush().await?;
        let within = self.service.parts.rules.load().command;
        self.wire.secure(&tls, within).await?;
        // Whatever was said before may have been said by somebody else.
        self.standing.named = false;
        self.place = None;
        self.standing.encrypted = Some(self.service.parts.figures.open(OpenKind::Encrypted));
        Ok(Flow::Goes)
    }

    /// COMPRESS DEFLATE.
    pub(super) async fn compress(&mut self) -> Result<Flow, Gone> {
        if self.standing.compressed.is_some() {
            self.say(code::REFUSED, "Compressed already");
            return Ok(Flow::Goes);
        }
        let parts = &self.service.parts;
        let most = parts.compressed;
        let Some(counted) = parts.figures.open_below(OpenKind::Compressed, most) else {
            let text = "Too many connections are compressed already: go on without";
            self.say(code::FAULT, text);
            return Ok(Flow::Goes);
        };
        self.say(code::COMPRESSION_STARTS, "Compression starts");
        self.wire.flush().await?;
        self.wire.compress();
        self.standing.compressed = Some(counted);
        Ok(Flow::Goes)
    }
}
