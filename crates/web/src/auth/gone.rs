//! What has ended and must not come back from another node that has not heard of it: sessions, keys and sign-in links, by
//! their hashes.
//!
//! An end is final, so it wins over whatever others still hold, whichever was written later. It is remembered until nobody
//! can hold what it ended any more.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use weir_store::rusqlite::{self, Connection, Transaction};

use super::secrets::Hash;

/// Ends that are remembered of each kind. Of more, those that would be forgotten first go.
const GONE: i64 = 10_000;
/// Seconds that an end is remembered longer than what it ended would have lasted: clocks differ.
pub(crate) const LONGER: i64 = 24 * 60 * 60;

/// What ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GoneKind {
    Session,
    Key,
    Link,
}

impl GoneKind {
    fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Key => "key",
            Self::Link => "link",
        }
    }
}

/// All ends of one kind, each with the second until which it is remembered; clones are the same ones. As with sessions,
/// memory is changed on the writer's thread.
#[derive(Debug, Clone)]
pub(crate) struct Gone {
    kind: GoneKind,
    all: Arc<Mutex<HashMap<Hash, i64>>>,
}

impl Gone {
    pub(crate) fn new(kind: GoneKind) -> Self {
        Self {
            kind,
            all: Arc::default(),
        }
    }

    /// As the table has them.
    pub(crate) fn load(connection: &Connection, kind: GoneKind) -> rusqlite::Result<Self> {
        let mut rows = connection.prepare("SELECT id, until FROM web_gone WHERE kind = ?1")?;
        let rows = rows.query_map([kind.word()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let all: rusqlite::Result<HashMap<Hash, i64>> = rows.collect();
        Ok(Self {
            kind,
            all: Arc::new(Mutex::new(all?)),
        })
    }

    pub(crate) fn has(&self, id: &Hash) -> bool {
        self.all.lock().contains_key(id)
    }

    /// Until when an end is remembered.
    pub(crate) fn until(&self, id: &Hash) -> Option<i64> {
        self.all.lock().get(id).copied()
    }

    pub(crate) fn all(&self) -> Vec<(Hash, i64)> {
        self.all
            .lock()
            .iter()
            .map(|(id, until)| (*id, *until))
            .collect()
    }

    /// Remembers ends; those whose time is over are forgotten.
    pub(crate) fn put(
        &self,
        tx: &Transaction<'_>,
        ends: &[(Hash, i64)],
        now: i64,
    ) -> rusqlite::Result<()> {
        let kind = self.kind.word();
        let mut put = tx.prepare_cached(
            "INSERT INTO web_gone (kind, id, until) VALUES (?1, ?2, ?3)
             ON CONFLICT (kind, id) DO UPDATE SET until = max(until, excluded.until)",
        )?;
        for (id, until) in ends {
            put.execute((kind, id, until))?;
        }
        let mut forgotten = tx.prepare_cached(
            "DELETE FROM web_gone WHERE kind = ?1 AND (until <= ?2 OR id IN
             (SELECT id FROM web_gone WHERE kind = ?1 ORDER BY until DESC LIMIT -1 OFFSET ?3)) RETURNING id",
        )?;
        let forgotten = forgotten.query_map((kind, now, GONE), |row| row.get(0))?;
        let forgotten: rusqlite::Result<Vec<Hash>> = forgotten.collect();
        let mut all = self.all.lock();
        for (id, until) in ends {
            let known = all.entry(*id).or_insert(*until);
            *known = (*known).max(*until);
        }
        for id in forgotten? {
            all.remove(&id);
        }
        Ok(())
    }
}
