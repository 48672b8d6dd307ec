//! Sign-in links where there are several nodes: each signs in at every node, and once.
//!
//! A node tells the others which link is in force in its own file, whoever wrote it there (`weir sign-in` is another process),
//! and that it no longer is: used or replaced. Whoever is sent a link of another node claims it in
//! the store first, so that no two nodes take it. A node that the store does not answer takes its own link alone.
//!
//! Links of others are held in memory: to use one takes the store, which has its row. Ends are kept in the file.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use weir_store::rusqlite::{self, Transaction};
use weir_store::shared::NodeId;

use super::gone::{Gone, LONGER};
use super::link;
use super::secrets::Hash;

/// How often a node looks whether another process has made a link.
pub(crate) const WATCH: Duration = Duration::from_millis(250);
/// When it is looked once more for a link that nobody knows, after the first look: `weir sign-in` may have printed it a
/// moment ago, and the node that it was made for has yet to find it.
pub(crate) const AGAIN: [Duration; 2] = [Duration::from_millis(400), Duration::from_millis(800)];
/// How long a claim lasts: longer than the link.
pub(crate) const CLAIMED: Duration = Duration::from_secs(3 * 60 * 60);

/// Ages in seconds at which a link of another node signs in: as for its own, but clocks differ.
const VALID: Range<i64> = -900..3600;
/// Ages at which it is held: who comes too late is told so.
const HELD: Range<i64> = -900..24 * 60 * 60;
/// Links that are held.
const LINKS: usize = 1000;

/// A link that is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkRow {
    /// When it was made, by the clock of its node.
    pub(crate) made: i64,
    /// In whose file it is.
    pub(crate) node: NodeId,
}

/// What a node knows of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkNews {
    /// It holds, or did when this was written.
    Holds(LinkRow),
    /// It was used or replaced, and that is remembered until this second.
    Ended(i64),
}

/// Links of all nodes, and those that have ended; clones are the same ones. Memory is changed on the writer's thread, but for
/// what [`Links::in_file`] finds.
#[derive(Debug, Clone)]
pub(crate) struct Links {
    all: Arc<Mutex<HashMap<Hash, LinkRow>>>,
    gone: Gone,
}

impl Links {
    pub(crate) fn new(gone: Gone) -> Self {
        Self {
            all: Arc::default(),
            gone,
        }
    }

    /// A link of any node that has not ended.
    pub(crate) fn find(&self, id: &Hash) -> Option<LinkRow> {
        let found = self.all.lock().get(id).copied();
        // The file may still have had it when it was looked at, a moment before it ended.
        found.filter(|_| !self.gone.has(id))
    }

    pub(crate) fn is_ended(&self, id: &Hash) -> bool {
        self.gone.has(id)
    }

    /// What is known of one.
    pub(crate) fn news(&self, id: &Hash) -> Option<LinkNews> {
        let ended = self.gone.until(id).map(LinkNews::Ended);
        ended.or_else(|| self.find(id).map(LinkNews::Holds))
    }

    /// What is known of all of them.
    pub(crate) fn all_news(&self) -> Vec<(Hash, LinkNews)> {
        let ended = self.gone.all().into_iter();
        let mut all: Vec<_> = ended
            .map(|(id, until)| (id, LinkNews::Ended(until)))
            .collect();
        let held = self.all.lock();
        all.extend(held.iter().map(|(id, row)| (*id, LinkNews::Holds(*row))));
        all
    }

    /// Takes note of the link that is in this node's file, if there is one: whether it is new, and which of its earlier ones
    /// it has replaced.
    pub(crate) fn in_file(&self, own: NodeId, found: Option<(Hash, i64)>) -> (bool, Vec<Hash>) {
        let found = found.filter(|(id, _)| !self.gone.has(id));
        let mut all = self.all.lock();
        let is_over = |id: &Hash, row: &LinkRow| {
            row.node == own && found.is_none_or(|(other, _)| other != *id)
        };
        let over = all.iter().filter(|(id, row)| is_over(id, row));
        let over: Vec<Hash> = over.map(|(id, _)| *id).collect();
        let is_new = match found {
            Some((id, made)) => all.insert(id, LinkRow { made, node: own }).is_none(),
            None => false,
        };
        (is_new, over)
    }

    /// Ends a link, here and in the file; false if it had ended before.
    pub(crate) fn end(&self, tx: &Transaction<'_>, id: &Hash, now: i64) -> rusqlite::Result<bool> {
        let had_ended = self.gone.has(id);
        self.end_until(tx, id, now.saturating_add(HELD.end + LONGER), now)?;
        Ok(!had_ended)
    }

    fn end_until(
        &self,
        tx: &Transaction<'_>,
        id: &Hash,
        until: i64,
        now: i64,
    ) -> rusqlite::Result<()> {
        self.gone.put(tx, &[(*id, until)], now)?;
        self.all.lock().remove(id);
        link::take(tx, id)?;
        Ok(())
    }

    /// Takes over what another node knows; whether this node (`own`) knows more of it. An end is final.
    pub(crate) fn merge(
        &self,
        tx: &Transaction<'_>,
        id: &Hash,
        news: LinkNews,
        (own, now): (NodeId, i64),
    ) -> rusqlite::Result<bool> {
        let row = match news {
            LinkNews::Ended(until) => {
                if until > now {
                    self.end_until(tx, id, until, now)?;
                }
                return Ok(false);
            }
            LinkNews::Holds(_) if self.gone.has(id) => return Ok(true),
            LinkNews::Holds(row) => row,
        };
        if row.node == own {
            // Which link of its own is in force stands in its file, whatever was made while it did not run.
            return match link::made(tx, id)? {
                Some(_) => Ok(false),
                None => self.end(tx, id, now),
            };
        }
        let mut all = self.all.lock();
        let is_held = |made: i64| HELD.contains(&now.saturating_sub(made));
        all.retain(|_, row| row.node == own || is_held(row.made));
        if is_held(row.made) && all.len() < LINKS {
            all.insert(*id, row);
        }
        Ok(false)
    }
}

/// Whether a link that another node made at this time may still be in force.
pub(crate) fn is_valid_elsewhere(made: i64, now: i64) -> bool {
    VALID.contains(&now.saturating_sub(made))
}

/// By what a link is claimed in the store: says nothing of the link.
pub(crate) fn claim_key(id: &Hash) -> [u8; 16] {
    let key = blake3::derive_key("weir 2026-11 sign-in link claimed", id);
    let mut short = [0; 16];
    short.copy_from_slice(&key[..16]);
    short
}
