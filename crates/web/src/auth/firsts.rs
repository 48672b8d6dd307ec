//! The first keys of all nodes: each opens every node. Only hashes travel, and only sealed, for an operator may have chosen a
//! key that could be guessed.
//!
//! Each row is written by its own node, which counts its changes; so the row with the higher count is the later one,
//! whatever clocks say. Another node only writes that the key of a node that is gone no longer holds.

use std::sync::Arc;

use arc_swap::ArcSwap;
use subtle::ConstantTimeEq;
use weir_store::rusqlite::{self, Connection, Transaction};
use weir_store::shared::NodeId;

use super::keys::Bearer;
use super::secrets::Hash;
use crate::Right;

/// Nodes whose keys are held: each is compared with what a request sends.
const NODES: usize = 256;

/// The first key of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FirstKey {
    pub(crate) node: NodeId,
    /// The node's name.
    pub(crate) name: Arc<str>,
    pub(crate) print: Hash,
    /// That node made it itself, from 160 random bits.
    pub(crate) strong: bool,
    /// How often the row was changed.
    pub(crate) changes: i64,
    /// It no longer holds.
    pub(crate) revoked: bool,
}

/// The first keys of all nodes, this one among them; clones are the same ones. Memory is changed on the writer's thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct FirstKeys(Arc<ArcSwap<Vec<FirstKey>>>);

impl FirstKeys {
    /// As the table has them.
    pub(crate) fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let sql = "SELECT node, name, print, strong, changes, revoked FROM web_first";
        let mut rows = connection.prepare(sql)?;
        let rows = rows.query_map([], |row| {
            let (node, name): (i64, String) = (row.get(0)?, row.get(1)?);
            Ok(FirstKey {
                node: NodeId(node.cast_unsigned()),
                name: name.into(),
                print: row.get(2)?,
                strong: row.get(3)?,
                changes: row.get(4)?,
                revoked: row.get(5)?,
            })
        })?;
        let rows: rusqlite::Result<Vec<_>> = rows.collect();
        Ok(Self(Arc::new(ArcSwap::from_pointee(rows?))))
    }

    pub(crate) fn all(&self) -> Arc<Vec<FirstKey>> {
        self.0.load_full()
    }

    pub(crate) fn of(&self, node: NodeId) -> Option<FirstKey> {
        let all = self.0.load();
        all.iter().find(|first| first.node == node).cloned()
    }

    /// Who has the first key of another node than `but`, if this is its hash. Every key is compared in full.
    pub(crate) fn bearer(&self, print: &Hash, but: NodeId) -> Option<Bearer> {
        let mut found = None;
        let all = self.0.load();
        for first in all.iter().filter(|one| !one.revoked && one.node != but) {
            if first.print.ct_eq(print).into() {
                // A key that two nodes have is as weak as whoever chose it thought.
                let strong = found.as_ref().is_none_or(|one: &Bearer| one.strong);
                found = Some(Bearer {
                    print: first.print,
                    name: None,
                    right: Right::Everything,
                    strong: strong && first.strong,
                });
            }
        }
        found
    }

    /// Keeps a row if it is later than the one that is known; whether the known one is the later one.
    pub(crate) fn merge(&self, tx: &Transaction<'_>, first: &FirstKey) -> rusqlite::Result<bool> {
        let mut all = (*self.0.load_full()).clone();
        match all.iter().position(|one| one.node == first.node) {
            // Equal counts with different rows: a node was set back to an older state. The greater one wins on all nodes.
            Some(at) if order(&all[at]) >= order(first) => {
                return Ok(order(&all[at]) > order(first));
            }
            Some(at) => all[at] = first.clone(),
            None if all.len() >= NODES => return Ok(false),
            None => all.push(first.clone()),
        }
        tx.prepare_cached(
            "INSERT OR REPLACE INTO web_first (node, name, print, strong, changes, revoked)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((
            first.node.0.cast_signed(),
            &*first.name,
            first.print,
            first.strong,
            first.changes,
            first.revoked,
        ))?;
        self.0.store(Arc::new(all));
        Ok(false)
    }
}

fn order(first: &FirstKey) -> (i64, bool, &Hash, bool, &str) {
    (
        first.changes,
        first.revoked,
        &first.print,
        first.strong,
        &first.name,
    )
}
