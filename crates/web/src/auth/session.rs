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
    /// Its use was not recorded for a while: record it and extend its life.
    pub(crate) stale: bool,
}

/// All sessions; clones are the same ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sessions(Arc<Mutex<HashMap<Hash, Row>>>);

/// What decides whether a session is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    /// Print of the key it was made under.
    key: Hash,
    seen: i64,
    expires: i64,
}

/// What a new session is made of.
pub(crate) struct NewSession {
    pub(crate) token: String,
    pub(crate) key: Hash,
    pub(crate) agent: String,
    pub(crate) now: Timestamp,
    pub(crate) lifetime: Duration,
}

impl Sessions {
    /// As the table has them.
    pub(crate) fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let mut rows = connection.prepare("SELECT id, key, seen, expires FROM web_session")?;
        let rows = rows.query_map([], |row| {
            let (key, seen, expires) = (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((row.get(0)?, Row { key, seen, expires }))
        })?;
        let rows: rusqlite::Result<_> = rows.collect();
        Ok(Self(Arc::new(Mutex::new(rows?))))
    }

    /// The session of a cookie, if it is valid.
    pub(crate) fn find(&self, token: &str, key: &Hash, now: Timestamp) -> Option<Session> {
        let id = hash(token);
        let row = self.0.lock().get(&id).copied()?;
        let now = now.as_second();
        (row.key == *key && row.expires > now).then_some(Session {
            id,
            stale: now - row.seen >= SEEN_EVERY,
        })
    }

    /// Whether a session is still valid.
    pub(crate) fn holds(&self, id: &Hash, key: &Hash, now: Timestamp) -> bool {
        let row = self.0.lock().get(id).copied();
        row.is_some_and(|row| row.key == *key && row.expires > now.as_second())
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
            "INSERT INTO web_session (id, key, created, seen, expires, agent) VALUES (?1, ?2, ?3, ?3, ?4, ?5)",
            (id, new.key, now, expires, agent),
        )?;
        let mut rows = self.0.lock();
        for id in expired.iter().chain(&unused) {
            rows.remove(id);
        }
        let row = Row {
            key: new.key,
            seen: now,
            expires,
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
    use weir_store::sqlite::File;

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
        assert_eq!(*sessions.0.lock(), *table.0.lock());
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
            let found = sessions.find(&token.to_string(), &KEY, at(second));
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
        assert!(
            sessions.find("9001", &[8; 32], at(5_011)).is_none(),
            "another key"
        );
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
        let is_stale = |second| sessions.find("1", &KEY, at(second)).unwrap().stale;
        assert!(!is_stale(SEEN_EVERY - 1) && is_stale(SEEN_EVERY));
        sessions.seen(&hash("1"), at(SEEN_EVERY), Duration::from_secs(100_000));
        assert!(!is_stale(2 * SEEN_EVERY - 1), "before the row is written");
        sessions.seen(&hash("2"), at(0), Duration::from_secs(1));
        assert!(
            sessions.find("2", &KEY, at(0)).is_none(),
            "nobody is brought back"
        );
        file.close();
    }
}
