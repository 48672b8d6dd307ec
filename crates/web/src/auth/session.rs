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

use super::gone::{Gone, GoneKind, LONGER};
use super::secrets::{Hash, hash};

/// Maximum rows; the session unused for longest makes room.
const SESSIONS: i64 = 1000;
/// Seconds after which the use of a session is recorded again.
const SEEN_EVERY: i64 = 3600;
/// Characters kept of a browser's `User-Agent`.
const AGENT: usize = 200;
/// Characters of an address.
const ADDRESS: usize = 50;

/// A valid session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) id: Hash,
    /// Hash of the key it was made under, which must still hold.
    pub(crate) key: Hash,
    /// Its use was not recorded for a while: record it and extend its life.
    pub(crate) stale: bool,
}

/// All sessions, and those that were ended; clones are the same ones.
#[derive(Debug, Clone)]
pub(crate) struct Sessions(Arc<Mutex<HashMap<Hash, SessionRow>>>, Gone);

impl Default for Sessions {
    fn default() -> Self {
        Self(Arc::default(), Gone::new(GoneKind::Session))
    }
}

/// What is known of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionRow {
    /// Hash of the key it was made under.
    pub(crate) key: Hash,
    pub(crate) created: i64,
    pub(crate) seen: i64,
    pub(crate) expires: i64,
    pub(crate) agent: Arc<str>,
    pub(crate) address: Arc<str>,
    /// When it was last used. Only `seen` is in the table.
    used: i64,
}

impl SessionRow {
    /// A session of another node.
    pub(crate) fn of_others(
        key: Hash,
        (created, seen, expires): (i64, i64, i64),
        agent: &str,
        address: &str,
    ) -> Self {
        let agent: String = agent.chars().take(AGENT).collect();
        let address: String = address.chars().take(ADDRESS).collect();
        Self {
            key,
            created,
            seen,
            expires,
            agent: agent.into(),
            address: address.into(),
            used: seen,
        }
    }
}

/// What another node knows of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionNews {
    /// It holds, or did when this was written.
    Holds(SessionRow),
    /// It was ended, and that is remembered until this second.
    Ended(i64),
}

/// Sessions that were ended, each with the second until which that is remembered.
pub(crate) type EndedSessions = Vec<(Hash, i64)>;

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
            let read = SessionRow {
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
        let gone = Gone::load(connection, GoneKind::Session)?;
        Ok(Self(Arc::new(Mutex::new(rows?)), gone))
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
        let row = SessionRow {
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

    /// Ends a session, if there is one.
    pub(crate) fn end(
        &self,
        tx: &Transaction<'_>,
        id: &Hash,
        now: i64,
    ) -> rusqlite::Result<EndedSessions> {
        // It ends here even if the row cannot be deleted.
        let ended = self.0.lock().remove(id);
        let ended: EndedSessions = ended.iter().map(|row| (*id, remembered(row))).collect();
        tx.execute("DELETE FROM web_session WHERE id = ?1", [id])?;
        self.1.put(tx, &ended, now)?;
        Ok(ended)
    }

    /// Ends all sessions but perhaps one.
    pub(crate) fn end_all(
        &self,
        tx: &Transaction<'_>,
        but: Option<&Hash>,
        now: i64,
    ) -> rusqlite::Result<EndedSessions> {
        let ended = self.end_if(|id, _| Some(id) != but);
        match but {
            Some(id) => tx.execute("DELETE FROM web_session WHERE id <> ?1", [id])?,
            None => tx.execute("DELETE FROM web_session", [])?,
        };
        self.1.put(tx, &ended, now)?;
        Ok(ended)
    }

    /// Ends all sessions of a key.
    pub(crate) fn end_of_key(
        &self,
        tx: &Transaction<'_>,
        key: &Hash,
        now: i64,
    ) -> rusqlite::Result<EndedSessions> {
        let ended = self.end_if(|_, row| row.key == *key);
        tx.execute("DELETE FROM web_session WHERE key = ?1", [key])?;
        self.1.put(tx, &ended, now)?;
        Ok(ended)
    }

    fn end_if(&self, is_over: impl Fn(&Hash, &SessionRow) -> bool) -> EndedSessions {
        let mut ended = Vec::new();
        self.0.lock().retain(|id, row| {
            let is_over = is_over(id, row);
            if is_over {
                ended.push((*id, remembered(row)));
            }
            !is_over
        });
        ended
    }

    /// Whether a cookie's session was ended, here or elsewhere.
    pub(crate) fn is_ended(&self, token: &str) -> bool {
        self.1.has(&hash(token))
    }

    /// Whether there is a session of this cookie, expired or not.
    pub(crate) fn has(&self, token: &str) -> bool {
        self.0.lock().contains_key(&hash(token))
    }

    /// What is known of one.
    pub(crate) fn news(&self, id: &Hash) -> Option<SessionNews> {
        let ended = self.1.until(id).map(SessionNews::Ended);
        ended.or_else(|| self.0.lock().get(id).cloned().map(SessionNews::Holds))
    }

    /// What is known of all of them.
    pub(crate) fn all_news(&self) -> Vec<(Hash, SessionNews)> {
        let ended = self.1.all().into_iter();
        let mut all: Vec<_> = ended
            .map(|(id, until)| (id, SessionNews::Ended(until)))
            .collect();
        let rows = self.0.lock();
        all.extend(
            rows.iter()
                .map(|(id, row)| (*id, SessionNews::Holds(row.clone()))),
        );
        all
    }

    /// Takes over what another node knows; whether this node knows more of it. An end is final. Otherwise the later use
    /// counts, whoever saw it.
    pub(crate) fn merge(
        &self,
        tx: &Transaction<'_>,
        id: &Hash,
        news: &SessionNews,
        now: i64,
    ) -> rusqlite::Result<bool> {
        let theirs = match news {
            SessionNews::Ended(until) => {
                self.end(tx, id, now)?;
                if *until > now {
                    self.1.put(tx, &[(*id, *until)], now)?;
                }
                return Ok(false);
            }
            SessionNews::Holds(_) if self.1.has(id) => return Ok(true),
            SessionNews::Holds(theirs) if theirs.expires <= now => return Ok(false),
            SessionNews::Holds(theirs) => theirs,
        };
        let mut rows = self.0.lock();
        let (merged, knows_more) = match rows.get(id) {
            Some(ours) => {
                let merged = SessionRow {
                    seen: ours.seen.max(theirs.seen),
                    expires: ours.expires.max(theirs.expires),
                    used: ours.used.max(theirs.seen),
                    ..theirs.clone()
                };
                let knows_more = (merged.seen, merged.expires) > (theirs.seen, theirs.expires);
                (merged, knows_more)
            }
            // The one unused for longest makes room, unless that is the new one.
            None if rows.len() >= usize::try_from(SESSIONS).unwrap_or(usize::MAX) => {
                let oldest = rows.iter().min_by_key(|(id, row)| (row.seen, **id));
                let Some(oldest) = oldest.filter(|(_, row)| row.seen < theirs.seen) else {
                    return Ok(false);
                };
                let oldest = *oldest.0;
                rows.remove(&oldest);
                tx.execute("DELETE FROM web_session WHERE id = ?1", [oldest])?;
                (theirs.clone(), false)
            }
            None => (theirs.clone(), false),
        };
        tx.prepare_cached(
            "INSERT OR REPLACE INTO web_session (id, key, created, seen, expires, agent, address)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute((
            id,
            merged.key,
            merged.created,
            merged.seen,
            merged.expires,
            &*merged.agent,
            &*merged.address,
        ))?;
        rows.insert(*id, merged);
        Ok(knows_more)
    }

    /// Takes over what the table has, after a write that failed. When sessions were last used is known to the hour then.
    pub(crate) fn reload(&self, file: &File) {
        match file.read(Self::load) {
            Ok(read) => *self.0.lock() = std::mem::take(&mut read.0.lock()),
            Err(error) => tracing::warn!(%error, "cannot read the sessions again"),
        }
    }
}

/// Until when the end of a session is remembered: longer than any node holds it.
fn remembered(row: &SessionRow) -> i64 {
    row.expires.saturating_add(LONGER)
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
            sessions.end(tx, &hash("30"), 0).unwrap();
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
            assert_eq!(sessions.end_of_key(tx, &[8; 32], 0).unwrap().len(), 1);
            let ended = sessions.end_all(tx, Some(&hash("9001")), 0).unwrap();
            assert_eq!(ended.len(), before - 1);
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
