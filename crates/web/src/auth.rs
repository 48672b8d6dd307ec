//! Keys, sign-in links, sessions and form tokens: who someone is. What they may open is `access`.

pub(crate) mod cookie;
pub(crate) mod keys;
pub(crate) mod link;
mod managing;
pub(crate) mod secrets;
pub(crate) mod session;
mod settings;
pub(crate) mod site;

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::AtomicI64},
};

use arc_swap::ArcSwap;
use axum::http::{HeaderMap, header};
use jiff::Timestamp;
use subtle::ConstantTimeEq;
use tokio::sync::watch;
use weir_config::Secret;
use weir_store::sqlite::File;

pub(crate) use self::settings::SignInSettings;
pub use self::settings::kept_key;
use self::{
    keys::{Bearer, Keys},
    secrets::Hash,
    session::{Session, Sessions},
    site::Site,
};
use crate::{
    Auth, Client, Clock, Error, Identity, Throttle, Visitor, rules::RequestRules,
    visitor::SessionId,
};

/// Why a key was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotTaken {
    Wrong,
    Throttled { until: Timestamp },
}

/// By what somebody came in, to be looked at again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Nobody needed a key.
    Open,
    /// The key of this print.
    Key(Hash),
    Session(Hash),
}

/// What came of a sign-in link.
pub(crate) enum Followed {
    /// It signed the visitor in: the token for the cookie.
    In(String),
    /// It is the right one, but too old.
    Expired,
    /// It is not a link of ours, or no longer one.
    Not(NotTaken),
}

/// Everything that decides who someone is.
pub(crate) struct Doorkeeper {
    pub(crate) file: File,
    pub(crate) clock: Arc<dyn Clock>,
    settings: ArcSwap<SignInSettings>,
    keys: Keys,
    /// When the first key was last sent, as [`keys::Key`] has it.
    first_used: AtomicI64,
    /// Changes when keys no longer hold that did.
    ended: watch::Sender<()>,
    sessions: Sessions,
    /// Wrong keys from programs and from our own pages.
    throttle: Throttle,
    /// Wrong keys that another site may have made a browser send. Counted separately, or any page could lock out the
    /// programs at its reader's address; but still counted, or a guesser would only have to pose as a browser.
    foreign: Throttle,
    form: Hash,
    first_start: bool,
}

impl Doorkeeper {
    /// Opens the tables; returns the key if it was made just now.
    pub(crate) fn open(
        rules: RequestRules,
        file: File,
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, Option<Secret>), Error> {
        file.migrate(secrets::MIGRATIONS)?;
        let now = clock.now().as_second();
        let (form, first_start) =
            secrets::kept(&file, "form", secrets::random::<32>()?.to_vec(), now)?;
        let (settings, made) = SignInSettings::new(rules, &file, now)?;
        let form = *blake3::hash(&form).as_bytes();
        let sessions = file.read(Sessions::load)?;
        let keys = file.read(Keys::load)?;
        let first_used = file.read(|connection| secrets::made(connection, secrets::USED))?;
        let keeper = Self {
            file,
            clock,
            keys,
            first_used: AtomicI64::new(first_used),
            ended: watch::Sender::new(()),
            sessions,
            settings: ArcSwap::from_pointee(settings),
            throttle: Throttle::default(),
            foreign: Throttle::default(),
            form,
            first_start,
        };
        Ok((keeper, made))
    }

    /// Makes new settings, for [`Doorkeeper::set`]. Returns the key if it was made just now.
    pub(crate) fn stage(
        &self,
        rules: RequestRules,
    ) -> Result<(SignInSettings, Option<Secret>), Error> {
        SignInSettings::new(rules, &self.file, self.clock.now().as_second())
    }

    /// Puts new settings in force. Sessions made under another key end.
    pub(crate) fn set(&self, settings: SignInSettings) {
        self.settings.store(Arc::new(settings));
        self.ended.send_replace(());
    }

    pub(crate) fn settings(&self) -> Arc<SignInSettings> {
        self.settings.load_full()
    }

    /// Nothing was stored before this start.
    pub(crate) fn first_start(&self) -> bool {
        self.first_start
    }

    /// Checks a key and counts wrong ones by address; who has it. While an address is blocked, a key that the operator chose
    /// is not accepted even if it is right, or guessing could continue at full speed. A key that Weir made is accepted:
    /// nobody guesses 160 bits, so nobody can lock out the programs that have it.
    pub(crate) fn key(&self, given: &str, client: &Client, site: Site) -> Result<Bearer, NotTaken> {
        let settings = self.settings.load();
        let bearer = self.known(given);
        let is_chosen = |bearer: &Bearer| bearer.name.is_none() && !settings.strong;
        if let Some(bearer) = &bearer
            && !is_chosen(bearer)
        {
            self.note_use(bearer);
            return Ok(bearer.clone());
        }
        self.counted(client, site, bearer.is_some())?;
        let bearer = bearer.ok_or(NotTaken::Wrong)?;
        self.note_use(&bearer);
        Ok(bearer)
    }

    /// Who has this key, for routes where a wrong one makes no difference.
    pub(crate) fn known(&self, given: &str) -> Option<Bearer> {
        self.bearer(&secrets::hash(given))
    }

    /// Who has the key with this hash, if it holds.
    pub(crate) fn bearer(&self, print: &Hash) -> Option<Bearer> {
        let (first, other) = (self.settings.load().bearer(print), self.keys.bearer(print));
        first.or(other)
    }

    fn counted(&self, client: &Client, site: Site, right: bool) -> Result<(), NotTaken> {
        let settings = self.settings.load();
        let pace = settings.rules.wrong_keys;
        let throttle = match site {
            Site::Ours => &self.throttle,
            Site::Other => &self.foreign,
        };
        let now = self.clock.now();
        if let Some(until) = throttle.blocked(client.address, now, pace) {
            return Err(NotTaken::Throttled { until });
        }
        if right {
            return Ok(());
        }
        throttle.count(client.address, now, pace);
        tracing::warn!(client = %client.address, "a wrong key was sent");
        Err(NotTaken::Wrong)
    }

    /// Makes a sign-in link that replaces the previous one; returns its path.
    pub(crate) fn link(&self) -> Result<String, Error> {
        let new = link::NewLink::make()?;
        let path = new.path.clone();
        let now = self.clock.now().as_second();
        self.file.write_blocking(move |tx| new.put(tx, now))?;
        Ok(path)
    }

    /// Notes where Weir listens, for links that are made from outside.
    pub(crate) fn note_address(&self, address: SocketAddr) -> Result<(), Error> {
        let now = self.clock.now().as_second();
        let text = address.to_string();
        Ok(self
            .file
            .write_blocking(move |tx| secrets::put(tx, secrets::ADDRESS, text.as_bytes(), now))?)
    }

    /// Signs in by key: the token for the cookie.
    pub(crate) async fn sign_in(
        &self,
        bearer: &Bearer,
        agent: &str,
        client: &Client,
    ) -> Result<String, Error> {
        let new = self.new_session(bearer.print, agent, client)?;
        let token = new.token.clone();
        let sessions = self.sessions.clone();
        self.file
            .write_durable(move |tx| sessions.insert(tx, &new))
            .await?;
        Ok(token)
    }

    /// Signs in by link and uses it up. A wrong link counts as a wrong key; the right one, of 160 random bits, signs
    /// in no matter what others at this address sent.
    pub(crate) async fn use_link(
        &self,
        link: &str,
        agent: &str,
        client: &Client,
        site: Site,
    ) -> Result<Followed, Error> {
        let hash = secrets::hash(link);
        // A read is cheap, a durable write is not: whoever guesses gets no further than this.
        let Some(made) = self.file.read(|connection| link::made(connection, &hash))? else {
            return Ok(self.wrong_link(client, site));
        };
        if !link::is_valid(made, self.clock.now().as_second()) {
            return Ok(Followed::Expired);
        }
        let first = self.settings.load().print;
        let new = self.new_session(first, agent, client)?;
        let token = new.token.clone();
        let sessions = self.sessions.clone();
        let taken = self
            .file
            .write_durable(move |tx| {
                let taken = link::take(tx, &hash)?;
                if taken {
                    sessions.insert(tx, &new)?;
                }
                Ok(taken)
            })
            .await?;
        match taken {
            true => Ok(Followed::In(token)),
            false => Ok(self.wrong_link(client, site)),
        }
    }

    fn wrong_link(&self, client: &Client, site: Site) -> Followed {
        let counted = self.counted(client, site, false);
        Followed::Not(counted.err().unwrap_or(NotTaken::Wrong))
    }

    fn new_session(
        &self,
        key: Hash,
        agent: &str,
        client: &Client,
    ) -> Result<session::NewSession, Error> {
        let settings = self.settings.load();
        Ok(session::NewSession {
            token: secrets::token()?,
            key,
            agent: agent.to_owned(),
            address: client.address.to_string(),
            now: self.clock.now(),
            lifetime: settings.rules.session_lifetime,
        })
    }

    /// The session of a request, if it has a valid one, and whose it is.
    pub(crate) fn session(&self, headers: &HeaderMap) -> Option<(Session, Bearer)> {
        let token = cookie::read(headers, cookie::SESSION)?;
        let session = self.sessions.find(token, self.clock.now())?;
        Some((session, self.bearer(&session.key)?))
    }

    /// By what a visitor came in; `None` if they did not.
    pub(crate) fn pass(&self, visitor: &Visitor) -> Option<Pass> {
        match visitor.identity {
            Identity::Nobody => None,
            Identity::Anyone => Some(Pass::Open),
            Identity::Key => Some(Pass::Key(visitor.bearer.as_ref()?.print)),
            Identity::Session(SessionId(id)) => Some(Pass::Session(id)),
        }
    }

    /// Whether they would still be let in.
    pub(crate) fn lets_pass(&self, pass: &Pass) -> bool {
        match pass {
            Pass::Open => self.settings.load().rules.auth == Auth::None,
            Pass::Key(print) => self.bearer(print).is_some(),
            Pass::Session(id) => {
                let key = self.sessions.key_of(id, self.clock.now());
                key.is_some_and(|key| self.bearer(&key).is_some())
            }
        }
    }

    /// Records that a session was used, and extends its life. Nobody waits for the row: if it is lost, the session ends
    /// earlier after a restart.
    pub(crate) fn seen(&self, id: Hash) -> Result<(), Error> {
        let now = self.clock.now();
        let lifetime = self.settings.load().rules.session_lifetime;
        self.sessions.seen(&id, now, lifetime);
        Ok(self
            .file
            .write_later(move |tx| session::write_seen(tx, &id, now, lifetime))?)
    }

    /// Ends a session.
    pub(crate) async fn sign_out(&self, id: Hash) -> Result<(), Error> {
        let sessions = self.sessions.clone();
        Ok(self
            .file
            .write_durable(move |tx| sessions.end(tx, &id))
            .await?)
    }

    /// The token that every form carries: bound to the session, or to the form cookie while there is no session.
    pub(crate) fn form_token(&self, bound_to: &[u8]) -> String {
        let hash = blake3::keyed_hash(&self.form, bound_to);
        data_encoding::BASE32_NOPAD
            .encode(&hash.as_bytes()[..20])
            .to_ascii_lowercase()
    }

    /// Whether a form came from a page of ours, shown to the same visitor.
    pub(crate) fn form_token_is_right(&self, bound_to: &[u8], given: &str) -> bool {
        self.form_token(bound_to)
            .as_bytes()
            .ct_eq(given.as_bytes())
            .into()
    }
}

/// The key in a request's headers: `Authorization: Bearer KEY` or `X-Api-Key: KEY`.
pub(crate) fn header_key(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| {
            let (scheme, key) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
        });
    bearer.or_else(|| {
        headers
            .get("x-api-key")
            .and_then(|value| value.to_str().ok())
    })
}
