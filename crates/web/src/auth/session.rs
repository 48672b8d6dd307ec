//! Sessions: rows of `web_session`, found by the hash of what the cookie holds.

use std::time::Duration;

use jiff::Timestamp;
use weir_store::rusqlite::{self, Connection, OptionalExtension, Transaction};

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

/// What a new session is made of.
pub(crate) struct NewSession {
    pub(crate) token: String,
    pub(crate) key: Hash,
    pub(crate) agent: String,
    pub(crate) now: Timestamp,
    pub(crate) lifetime: Duration,
}

impl NewSession {
    pub(crate) fn insert(&self, tx: &Transaction<'_>) -> rusqlite::Result<()> {
        let now = self.now.as_second();
        tx.execute("DELETE FROM web_session WHERE expires <= ?1", [now])?;
        tx.execute(
            "DELETE FROM web_session WHERE id IN
             (SELECT id FROM web_session ORDER BY seen DESC LIMIT -1 OFFSET ?1)",
            [SESSIONS - 1],
        )?;
        let agent: String = self.agent.chars().take(AGENT).collect();
        tx.execute(
            "INSERT INTO web_session (id, key, created, seen, expires, agent) VALUES (?1, ?2, ?3, ?3, ?4, ?5)",
            (hash(&self.token), self.key, now, until(self.now, self.lifetime), agent),
        )?;
        Ok(())
    }
}

/// The session of a cookie, if it is valid.
pub(crate) fn find(
    connection: &Connection,
    token: &str,
    key: &Hash,
    now: Timestamp,
) -> rusqlite::Result<Option<Session>> {
    let id = hash(token);
    let now = now.as_second();
    connection
        .prepare_cached("SELECT seen FROM web_session WHERE id = ?1 AND key = ?2 AND expires > ?3")?
        .query_row((id, key, now), |row| {
            let seen: i64 = row.get(0)?;
            Ok(Session {
                id,
                stale: now - seen >= SEEN_EVERY,
            })
        })
        .optional()
}

/// Records that a session was used.
pub(crate) fn seen(
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

pub(crate) fn end(tx: &Transaction<'_>, id: &Hash) -> rusqlite::Result<()> {
    tx.execute("DELETE FROM web_session WHERE id = ?1", [id])?;
    Ok(())
}

fn until(now: Timestamp, lifetime: Duration) -> i64 {
    now.as_second()
        .saturating_add(i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX))
}
