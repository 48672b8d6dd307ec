//! Keys, sign-in links, sessions and form tokens: who someone is. What they may open is `access`.

pub(crate) mod cookie;
pub(crate) mod firsts;
mod forms;
mod gone;
pub(crate) mod keys;
pub(crate) mod link;
mod linking;
mod links;
mod managing;
pub(crate) mod people;
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
use tokio::sync::watch;
use weir_config::Secret;
use weir_engine::Node;
use weir_store::sqlite::File;

pub(crate) use self::settings::SignInSettings;
pub use self::settings::kept_key;
use self::{
    firsts::{FirstKey, FirstKeys},
    forms::{FormSecret, FormSecrets},
    gone::{Gone, GoneKind},
    keys::{Bearer, Keys},
    links::Links,
    people::{Kept, People},
    secrets::Hash,
    session::{Session, Sessions},
    site::Site,
};
use crate::{
    Auth, Client, Clock, Error, Identity, Throttle, Visitor, nodes::Replica, rules::RequestRules,
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

/// What a request carries that may be unknown here.
pub(crate) struct Sought {
    /// What the cookie of a session holds.
    pub(crate) session: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) site: Site,
}

/// What came of a sign-in link.
pub(crate) enum Followed {
    /// It signed the visitor in: the token for the cookie.
    In(String),
    /// It is the right one, but too old.
    Expired,
    /// The store does not answer, so this node does not know whether it holds; the name of the node that made it, if that is
    /// known.
    Unsure(Option<Arc<str>>),
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
    forms: FormSecrets,
    first_start: bool,
    /// The first keys of all nodes.
    firsts: FirstKeys,
    /// What is held together with other nodes, if there are several.
    pub(crate) people: Option<People>,
}

impl Doorkeeper {
    /// Opens the tables; returns the key if it was made just now.
    pub(crate) fn open(
        rules: RequestRules,
        file: File,
        clock: Arc<dyn Clock>,
        node: Option<Node>,
    ) -> Result<(Self, Option<Secret>), Error> {
        file.migrate(secrets::MIGRATIONS)?;
        let now = clock.now().as_second();
        let (form, first_start) =
            secrets::kept(&file, "form", secrets::random::<32>()?.to_vec(), now)?;
        let (settings, made) = SignInSettings::new(rules, &file, now)?;
        let form = *blake3::hash(&form).as_bytes();
        let sessions = file.read(Sessions::load)?;
        let keys = file.read(|connection| Keys::load(connection, node.is_some()))?;
        let first_used = file.read(|connection| secrets::made(connection, secrets::USED))?;
        let kept = Kept {
            forms: file.read(|connection| {
                let made = secrets::made(connection, "form")?;
                FormSecrets::load(connection, FormSecret { made, secret: form })
            })?,
            firsts: file.read(FirstKeys::load)?,
            links: Links::new(file.read(|connection| Gone::load(connection, GoneKind::Link))?),
            ended: watch::Sender::new(()),
            clock,
            sessions,
            keys,
            file,
        };
        let keeper = Self {
            people: node.map(|node| People::new(node, kept.clone())),
            file: kept.file,
            clock: kept.clock,
            keys: kept.keys,
            first_used: AtomicI64::new(first_used),
            ended: kept.ended,
            sessions: kept.sessions,
            settings: ArcSwap::from_pointee(settings),
            throttle: Throttle::default(),
            foreign: Throttle::default(),
            forms: kept.forms,
            firsts: kept.firsts,
            first_start,
        };
        keeper.note_first()?;
        Ok((keeper, made))
    }

    /// Keeps this node's first key beside those of the others, and tells them if it is another one.
    fn note_first(&self) -> Result<(), Error> {
        let Some(people) = &self.people else {
            return Ok(());
        };
        let settings = self.settings.load();
        let before = self.firsts.of(people.node.id());
        let first = FirstKey {
            node: people.node.id(),
            name: people.node.name().into(),
            print: settings.print,
            strong: settings.strong,
            changes: before.as_ref().map_or(1, |first| first.changes),
            revoked: false,
        };
        let first = match before {
            Some(before) if before == first => return Ok(()),
            Some(before) => FirstKey {
                changes: before.changes.saturating_add(1),
                ..first
            },
            None => first,
        };
        let (firsts, kept) = (self.firsts.clone(), first.clone());
        self.file
            .write_blocking(move |tx| firsts.merge(tx, &kept))?;
        people.tell_first(&first);
        Ok(())
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
        if let Err(error) = self.note_first() {
            tracing::warn!(%error, "other nodes do not hear of the new first key");
        }
    }

    pub(crate) fn settings(&self) -> Arc<SignInSettings> {
        self.settings.load_full()
    }

    /// What is held together with other nodes, by the table's name.
    pub(crate) fn held(&self) -> Vec<(&'static str, Replica)> {
        let held = self.people.as_ref().map(|people| {
            [
                ("keys", people.keys.clone()),
                ("sessions", people.sessions.clone()),
            ]
        });
        held.into_iter().flatten().collect()
    }

    /// Nothing was stored before this start.
    pub(crate) fn first_start(&self) -> bool {
        self.first_start
    }

    /// Checks a key and counts wrong ones by address; who has it. While an address is blocked, a key that the operator chose
    /// is not accepted even if it is right, or guessing could continue at full speed. A key that Weir made is accepted:
    /// nobody guesses 160 bits, so nobody can lock out the programs that have it.
    pub(crate) fn key(&self, given: &str, client: &Client, site: Site) -> Result<Bearer, NotTaken> {
        let bearer = self.known(given);
        if let Some(bearer) = &bearer
            && bearer.strong
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
        let node = self.people.as_ref().map(|people| people.node.id());
        let elsewhere = node.and_then(|node| self.firsts.bearer(print, node));
        first.or(other).or(elsewhere)
    }

    /// Looks at the store once if a cookie or key is not known here, before it is refused: another node may have made it a
    /// moment ago. Whoever sent too many wrong ones is not looked up.
    pub(crate) async fn look_for(&self, sought: &Sought, client: &Client) {
        let Some(people) = &self.people else { return };
        let is_new = |token: &String| !self.sessions.has(token) && !self.sessions.is_ended(token);
        let is_session = sought.session.as_ref().is_some_and(is_new);
        let is_key = sought.key.as_ref().is_some_and(|key| {
            let print = secrets::hash(key);
            self.bearer(&print).is_none() && !self.keys.is_revoked(&print)
        });
        if !(is_session || is_key) || self.blocked(client, sought.site) {
            return;
        }
        // A session is worth nothing without its key, which may be as new.
        let sessions = async {
            if is_session {
                people.sessions.look().await;
            }
        };
        tokio::join!(people.keys.look(), sessions);
    }

    fn blocked(&self, client: &Client, site: Site) -> bool {
        let pace = self.settings.load().rules.wrong_keys;
        let until = self
            .throttle_of(site)
            .blocked(client.address, self.clock.now(), pace);
        until.is_some()
    }

    fn throttle_of(&self, site: Site) -> &Throttle {
        match site {
            Site::Ours => &self.throttle,
            Site::Other => &self.foreign,
        }
    }

    fn counted(&self, client: &Client, site: Site, right: bool) -> Result<(), NotTaken> {
        let settings = self.settings.load();
        let pace = settings.rules.wrong_keys;
        let throttle = self.throttle_of(site);
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
        self.told_session(secrets::hash(&token)).await;
        Ok(token)
    }

    /// Tells other nodes what is known of a session, and waits until they can know it.
    async fn told_session(&self, id: Hash) {
        if let Some(people) = &self.people {
            people.tell_session(id, self.sessions.news(&id).as_ref());
            people.told().await;
        }
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
        if let Some(people) = &self.people {
            people.tell_session(id, self.sessions.news(&id).as_ref());
        }
        Ok(self
            .file
            .write_later(move |tx| session::write_seen(tx, &id, now, lifetime))?)
    }

    /// Ends a session.
    pub(crate) async fn sign_out(&self, id: Hash) -> Result<(), Error> {
        let (sessions, now) = (self.sessions.clone(), self.clock.now().as_second());
        let ended = self
            .file
            .write_durable(move |tx| sessions.end(tx, &id, now))
            .await;
        // Whoever is told that nothing was changed is still signed in.
        let ended = ended.inspect_err(|_| self.sessions.reload(&self.file))?;
        self.told_ended(&ended).await;
        Ok(())
    }

    async fn told_ended(&self, ended: &session::EndedSessions) {
        if let Some(people) = &self.people {
            people.tell_ended(ended);
            people.told().await;
        }
    }

    /// A short mark of a text, which says nothing of it.
    pub(crate) fn mark_of(&self, text: &str) -> String {
        // Apart from form tokens, which are made with the same key.
        let mark = [b"mark\0", text.as_bytes()].concat();
        self.forms.token(&mark)
    }

    /// The token that every form carries: bound to the session, or to the form cookie while there is no session.
    pub(crate) fn form_token(&self, bound_to: &[u8]) -> String {
        self.forms.token(bound_to)
    }

    /// Whether a form came from a page of ours, shown to the same visitor by any node.
    pub(crate) fn form_token_is_right(&self, bound_to: &[u8], given: &str) -> bool {
        self.forms.is_right(bound_to, given)
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
