//! Sessions: rows of `web_session`, known by the hash of what the cookie holds.
//!
//! All of them are held in memory too, so that a request costs no look into the file. Memory is changed by the writes
//! themselves, on the writer's thread: it goes through the same states as the table, in the same order, even if whoever asked
//! for a write has hung up meanwhile. When a commit fails, sessions may have ended in memory that the table still has until
//! the next start; never the other way round, apart from one whose token nobody was given.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use weir_store::rusqlite::{self, Connection, Transaction};
use weir_store::sqlite::File;

use super::secrets::{Hash, hash};

/// Maximum rows; the session unused for longest makes room.
const SESSIONS: i64 = 1000;
/// Seconds after which the use of a session is recorded again.
const SEEN_EVERY: i64 = 3600;
/// Characters kept of a browser's `User-Agent`.
const AGENT: usize = 200;

/// A valid session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) id: Hash,
    /// Hash of the key it was made under, which must still hold.
    pub(crate) key: Hash,
    /// Its use was not recorded for a while: record it and extend its life.
    pub(crate) stale: bool,
}

/// All sessions; clones are the same ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sessions(Arc<Mutex<HashMap<Hash, Row>>>);

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    /// Hash of the key it was made under.
    key: Hash,
    created: i64,
    seen: i64,
    expires: i64,
    agent: Arc<str>,
    address: Arc<str>,
    /// When it was last used. Only `seen` is in the table.
    used: i64,
}

/// A session as its owner and operators see it.
#[derive(Debug, Clone)]
pub(crate) struct ListedSession {
    pub(crate) id: Hash,
    pub(crate) key: Hash,
    pub(crate) created: i64,
    pub(crate) used: i64,
    /// What the browser calls itself.
    pub(crate) agent: Arc<str>,
    /// From where somebody signed in; empty if an earlier Weir did not note it.
    pub(crate) address: Arc<str>,
}

/// What a new session is made of.
pub(crate) struct NewSession {
    pub(crate) token: String,
    pub(crate) key: Hash,
    pub(crate) agent: String,
    pub(crate) address: String,
    pub(crate) now: Timestamp,
    pub(crate) lifetime: Duration,
}

impl Sessions {
    /// As the table has them.
    pub(crate) fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let sql = "SELECT id, key, seen, expires, created, agent, address FROM web_session";
        let mut rows = connection.prepare(sql)?;
        let rows = rows.query_map([], |row| {
            let seen = row.get(2)?;
            let (agent, address): (String, String) = (row.get(5)?, row.get(6)?);
            let read = Row {
                key: row.get(1)?,
                created: row.get(4)?,
                seen,
                expires: row.get(3)?,
                agent: agent.into(),
                address: address.into(),
                used: seen,
            };
            Ok((row.get(0)?, read))
        })?;
        let rows: rusqlite::Result<_> = rows.collect();
        Ok(Self(Arc::new(Mutex::new(rows?))))
    }

    /// The session of a cookie, if it has not expired. Whether its key still holds is for the caller to find out.
    pub(crate) fn find(&self, token: &str, now: Timestamp) -> Option<Session> {
        let id = hash(token);
        let mut rows = self.0.lock();
        let row = rows.get_mut(&id)?;
        let now = now.as_second();
        if row.expires <= now {
            return None;
        }
        row.used = now;
        let (key, stale) = (row.key, now - row.seen >= SEEN_EVERY);
        Some(Session { id, key, stale })
    }

    /// The key of a session that has not expired.
    pub(crate) fn key_of(&self, id: &Hash, now: Timestamp) -> Option<Hash> {
        let rows = self.0.lock();
        let row = rows.get(id)?;
        (row.expires > now.as_second()).then_some(row.key)
    }

    /// All that have not expired, the one used last first.
    pub(crate) fn all(&self, now: Timestamp) -> Vec<ListedSession> {
        let rows = self.0.lock();
        let valid = rows.iter().filter(|(_, row)| row.expires > now.as_second());
        let mut all: Vec<ListedSession> = valid
            .map(|(id, row)| ListedSession {
                id: *id,
                key: row.key,
                created: row.created,
                used: row.used,
                agent: Arc::clone(&row.agent),
                address: Arc::clone(&row.address),
            })
            .collect();
        drop(rows);
        all.sort_by_key(|one| (std::cmp::Reverse(one.used), one.id));
        all
    }

    /// Extends the life of a session at once; the row follows with [`write_seen`].
    pub(crate) fn seen(&self, id: &Hash, now: Timestamp, lifetime: Duration) {
        if let Some(row) = self.0.lock().get_mut(id) {
            row.seen = now.as_second();
            row.expires = until(now, lifetime);
        }
    }

    /// Adds a session. Those that have expired go, and the one unused for longest if there are too many.
    pub(crate) fn insert(&self, tx: &Transaction<'_>, new: &NewSession) -> rusqlite::Result<()> {
        let now = new.now.as_second();
        let expires = until(new.now, new.lifetime);
        let expired = removed(
            tx,
            "DELETE FROM web_session WHERE expires <= ?1 RETURNING id",
            now,
        )?;
        let unused = removed(
            tx,
            "DELETE FROM web_session WHERE id IN
             (SELECT id FROM web_session ORDER BY seen DESC LIMIT -1 OFFSET ?1) RETURNING id",
            SESSIONS - 1,
        )?;
        let agent: String = new.agent.chars().take(AGENT).collect();
        let id = hash(&new.token);
        tx.execute(
            "INSERT INTO web_session (id, key, created, seen, expires, agent, address)
             VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6)",
            (id, new.key, now, expires, &agent, &new.address),
        )?;
        let mut rows = self.0.lock();
        for id in expired.iter().chain(&unused) {
            rows.remove(id);
        }
        let row = Row {
            key: new.key,
            created: now,
            seen: now,
            expires,
            agent: agent.into(),
            address: new.address.as_str().into(),
            used: now,
        };
        rows.insert(id, row);
        Ok(())
    }

    /// Ends a session.
    pub(crate) fn end(&self, tx: &Transaction<'_>, id: &Hash) -> rusqlite::Result<()> {
        // It ends here even if the row cannot be deleted.
        self.0.lock().remove(id);
        tx.execute("DELETE FROM web_session WHERE id = ?1", [id])?;
        Ok(())
    }

    /// Ends all sessions but perhaps one; how many there were.
    pub(crate) fn end_all(
        &self,
        tx: &Transaction<'_>,
        but: Option<&Hash>,
    ) -> rusqlite::Result<usize> {
        let mut rows = self.0.lock();
        let before = rows.len();
        rows.retain(|id, _| Some(id) == but);
        let ended = before - rows.len();
        drop(rows);
        match but {
            Some(id) => tx.execute("DELETE FROM web_session WHERE id <> ?1", [id])?,
            None => tx.execute("DELETE FROM web_session", [])?,
        };
        Ok(ended)
    }

    /// Ends all sessions of a key; how many there were.
    pub(crate) fn end_of_key(&self, tx: &Transaction<'_>, key: &Hash) -> rusqlite::Result<usize> {
        let mut rows = self.0.lock();
        let before = rows.len();
        rows.retain(|_, row| row.key != *key);
        let ended = before - rows.len();
        drop(rows);
        tx.execute("DELETE FROM web_session WHERE key = ?1", [key])?;
        Ok(ended)
    }

    /// Takes over what the table has, after a write that failed. When sessions were last used is known to the hour then.
    pub(crate) fn reload(&self, file: &File) {
        match file.read(Self::load) {
            Ok(read) => *self.0.lock() = std::mem::take(&mut read.0.lock()),
            Err(error) => tracing::warn!(%error, "cannot read the sessions again"),
        }
    }
}

/// Records in the table that a session was used.
pub(crate) fn write_seen(
    tx: &Transaction<'_>,
    id: &Hash,
    now: Timestamp,
    lifetime: Duration,
) -> rusqlite::Result<()> {
    tx.execute(
        "UPDATE web_session SET seen = ?2, expires = ?3 WHERE id = ?1",
        (id, now.as_second(), until(now, lifetime)),
    )?;
    Ok(())
}

/// Runs a DELETE and gives the sessions that it took away.
fn removed(tx: &Transaction<'_>, delete: &str, argument: i64) -> rusqlite::Result<Vec<Hash>> {
    let mut delete = tx.prepare_cached(delete)?;
    let rows = delete.query_map([argument], |row| row.get(0))?;
    rows.collect()
}

fn until(now: Timestamp, lifetime: Duration) -> i64 {
    now.as_second()
        .saturating_add(i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::secrets::MIGRATIONS;
    use super::*;

    const KEY: Hash = [7; 32];

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    fn new(token: usize, second: i64, lifetime: u64) -> NewSession {
        NewSession {
            token: token.to_string(),
            key: KEY,
            agent: String::new(),
            address: "192.0.2.1".to_owned(),
            now: at(second),
            lifetime: Duration::from_secs(lifetime),
        }
    }

    /// Runs some changes in one transaction, and sees that memory holds what the table does.
    fn change(
        file: &File,
        sessions: &Sessions,
        work: impl FnOnce(&Sessions, &Transaction<'_>) + Send + 'static,
    ) {
        let changed = sessions.clone();
        let work = move |tx: &Transaction<'_>| {
            work(&changed, tx);
            Ok(())
        };
        file.write_blocking(work).unwrap();
        let table = file.read(Sessions::load).unwrap();
        let kept = |sessions: &Sessions| {
            let mut rows = sessions.0.lock().clone();
            rows.values_mut().for_each(|row| row.used = 0);
            rows
        };
        assert_eq!(kept(sessions), kept(&table));
    }

    #[test]
    fn memory_holds_what_the_table_does() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::open(directory.path().join("state.db")).unwrap();
        file.migrate(MIGRATIONS).unwrap();
        let sessions = Sessions::default();
        let count = || sessions.0.lock().len();
        let most = usize::try_from(SESSIONS).unwrap();
        change(&file, &sessions, move |sessions, tx| {
            for token in 0..most + 20 {
                sessions
                    .insert(tx, &new(token, token as i64, 100_000))
                    .unwrap();
            }
        });
        assert_eq!(count(), most, "the table is full");
        let is_valid = |token: usize, second| {
            let found = sessions.find(&token.to_string(), at(second));
            found.is_some()
        };
        assert!(
            !is_valid(19, 2_000) && is_valid(20, 2_000),
            "the oldest went"
        );
        // The oldest that is left is used; then the next one is the oldest.
        change(&file, &sessions, move |sessions, tx| {
            let (id, lifetime) = (hash("20"), Duration::from_secs(100_000));
            sessions.seen(&id, at(5_000), lifetime);
            write_seen(tx, &id, at(5_000), lifetime).unwrap();
            sessions.insert(tx, &new(9_000, 5_000, 10)).unwrap();
            sessions.end(tx, &hash("30")).unwrap();
        });
        assert!(is_valid(20, 5_000) && !is_valid(21, 5_000) && !is_valid(30, 5_000));
        assert!(
            is_valid(9_000, 5_009) && !is_valid(9_000, 5_010),
            "its time"
        );
        // Expired ones go when somebody signs in.
        let before = count();
        change(&file, &sessions, move |sessions, tx| {
            sessions.insert(tx, &new(9_001, 5_010, 10)).unwrap();
        });
        assert_eq!(count(), before, "one went, one came");
        assert_eq!(sessions.find("9001", at(5_011)).unwrap().key, KEY);
        // All of a key, then all but one.
        change(&file, &sessions, move |sessions, tx| {
            let other = NewSession {
                key: [8; 32],
                ..new(9_002, 5_011, 10)
            };
            sessions.insert(tx, &other).unwrap();
            assert_eq!(sessions.end_of_key(tx, &[8; 32]).unwrap(), 1);
            let ended = sessions.end_all(tx, Some(&hash("9001"))).unwrap();
            assert_eq!(ended, before - 1);
        });
        assert!(is_valid(9_001, 5_011) && count() == 1);
        file.close();
    }

    #[test]
    fn use_is_recorded_once_an_hour() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::open(directory.path().join("state.db")).unwrap();
        file.migrate(MIGRATIONS).unwrap();
        let sessions = Sessions::default();
        change(&file, &sessions, |sessions, tx| {
            sessions.insert(tx, &new(1, 0, 100_000)).unwrap();
        });
        let is_stale = |second| sessions.find("1", at(second)).unwrap().stale;
        assert!(!is_stale(SEEN_EVERY - 1) && is_stale(SEEN_EVERY));
        sessions.seen(&hash("1"), at(SEEN_EVERY), Duration::from_secs(100_000));
        assert!(!is_stale(2 * SEEN_EVERY - 1), "before the row is written");
        sessions.seen(&hash("2"), at(0), Duration::from_secs(1));
        assert!(
            sessions.find("2", at(0)).is_none(),
            "nobody is brought back"
        );
        file.close();
    }
}
