//! What an operator does about keys and sessions: makes and revokes, lists and ends. A write that fails changes nothing.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::watch;

use weir_store::shared::NodeId;

use super::{
    Doorkeeper,
    firsts::FirstKey,
    keys::{self, Bearer, Key, NotMade},
    secrets::{self, Hash},
    session::ListedSession,
};
use crate::{Error, Right};

/// A key that was made just now: the only time that it is known.
pub(crate) struct MadeKey {
    pub(crate) secret: String,
    pub(crate) key: Arc<Key>,
}

impl Doorkeeper {
    /// A handle on all keys beside the first.
    pub(crate) fn all_keys(&self) -> &keys::Keys {
        &self.keys
    }

    /// All keys beside the first, by name.
    pub(crate) fn keys(&self) -> Arc<Vec<Arc<Key>>> {
        self.keys.all()
    }

    /// When the first key was last sent.
    pub(crate) fn first_used(&self) -> Option<Timestamp> {
        keys::moment(self.first_used.load(std::sync::atomic::Ordering::Relaxed))
    }

    /// Makes a key. The name has been looked at by [`keys::name`].
    pub(crate) async fn make_key(
        &self,
        name: &str,
        right: Right,
    ) -> Result<Result<MadeKey, NotMade>, Error> {
        let (secret, print) = keys::fresh()?;
        let (keys, name) = (self.keys.clone(), name.to_owned());
        let now = self.clock.now().as_second();
        let written = self
            .file
            .write_durable(move |tx| keys.insert(tx, &name, right, print, now))
            .await;
        let made = written.inspect_err(|_| self.keys.reload(&self.file))?;
        if made.is_ok() {
            self.told_key(print).await;
        }
        Ok(made.map(|key| MadeKey { secret, key }))
    }

    /// Tells other nodes what is known of a key, and waits until they can know it.
    async fn told_key(&self, print: Hash) {
        if let Some(people) = &self.people {
            people.tell_key(print, self.keys.news(&print).as_ref());
            people.told().await;
        }
    }

    /// Revokes a key and ends its sessions; how many there were. `None` if it is gone already.
    pub(crate) async fn revoke_key(&self, id: i64) -> Result<Option<usize>, Error> {
        let (keys, sessions) = (self.keys.clone(), self.sessions.clone());
        let now = self.clock.now().as_second();
        let written = self
            .file
            .write_durable(move |tx| match keys.remove(tx, id, now)? {
                Some(print) => {
                    let ended = sessions.end_of_key(tx, &print, now)?;
                    Ok(Some((print, ended)))
                }
                None => Ok(None),
            })
            .await;
        let revoked = written.inspect_err(|_| self.as_stored())?;
        self.ended.send_replace(());
        let Some((print, ended)) = revoked else {
            return Ok(None);
        };
        if let Some(people) = &self.people {
            people.tell_ended(&ended);
        }
        self.told_key(print).await;
        Ok(Some(ended.len()))
    }

    /// The first keys of other nodes that still hold.
    pub(crate) fn other_firsts(&self) -> Vec<FirstKey> {
        let Some(people) = &self.people else {
            return Vec::new();
        };
        let (all, own) = (self.firsts.all(), people.node.id());
        let others = all.iter().filter(|one| one.node != own && !one.revoked);
        others.cloned().collect()
    }

    /// Revokes the first key of another node and ends its sessions; how many there were. A node that is there, or comes back,
    /// brings its key with it.
    pub(crate) async fn revoke_first(&self, node: NodeId) -> Result<Option<usize>, Error> {
        let others = self.other_firsts();
        let Some(first) = others.into_iter().find(|first| first.node == node) else {
            return Ok(None);
        };
        let revoked = FirstKey {
            revoked: true,
            changes: first.changes.saturating_add(1),
            ..first
        };
        let (firsts, sessions) = (self.firsts.clone(), self.sessions.clone());
        let (row, now) = (revoked.clone(), self.clock.now().as_second());
        // Another node, or this one, may have the same key.
        let (own, others) = (self.settings().print, self.other_firsts());
        let elsewhere = others
            .iter()
            .any(|one| one.node != node && one.print == row.print);
        let is_over = !elsewhere && own != row.print;
        let ended = self
            .file
            .write_durable(move |tx| {
                firsts.merge(tx, &row)?;
                match is_over {
                    true => sessions.end_of_key(tx, &row.print, now),
                    false => Ok(Vec::new()),
                }
            })
            .await?;
        self.ended.send_replace(());
        if let Some(people) = &self.people {
            people.tell_first(&revoked);
            people.tell_ended(&ended);
            people.told().await;
        }
        Ok(Some(ended.len()))
    }

    /// All sessions whose keys hold, each with whose it is, the one used last first.
    pub(crate) fn sessions(&self) -> Vec<(ListedSession, Bearer)> {
        let all = self.sessions.all(self.clock.now()).into_iter();
        all.filter_map(|one| {
            let bearer = self.bearer(&one.key)?;
            Some((one, bearer))
        })
        .collect()
    }

    /// Ends all sessions but perhaps one; how many there were.
    pub(crate) async fn end_sessions(&self, but: Option<Hash>) -> Result<usize, Error> {
        let (sessions, now) = (self.sessions.clone(), self.clock.now().as_second());
        let written = self
            .file
            .write_durable(move |tx| sessions.end_all(tx, but.as_ref(), now))
            .await;
        let ended = written.inspect_err(|_| self.sessions.reload(&self.file))?;
        self.told_ended(&ended).await;
        Ok(ended.len())
    }

    /// Changes each time that keys no longer hold which did.
    pub(crate) fn key_ends(&self) -> watch::Receiver<()> {
        self.ended.subscribe()
    }

    /// Notes that a key was sent. If the row cannot be written, the page shows an older time after a restart.
    pub(super) fn note_use(&self, bearer: &Bearer) {
        let now = self.clock.now().as_second();
        let is_first = self.settings.load().print == bearer.print;
        let noted = match self.keys.find(&bearer.print) {
            Some(key) => self.keys.note_use(&key, &self.file, now).map(|is_new| {
                if let Some(people) = self.people.as_ref().filter(|_| is_new) {
                    people.tell_key(key.print, self.keys.news(&key.print).as_ref());
                }
            }),
            None if is_first && keys::is_due(&self.first_used, now) => self
                .file
                .write_later(move |tx| secrets::put(tx, secrets::USED, &[], now))
                .map_err(Error::from),
            None => Ok(()),
        };
        if let Err(error) = noted {
            tracing::debug!(%error, "the use of a key was not recorded");
        }
    }

    fn as_stored(&self) {
        self.keys.reload(&self.file);
        self.sessions.reload(&self.file);
    }
}
