//! Keeps what this node holds of a table in step with what the others wrote there.
//!
//! Nothing here decides who is right: rows are merged by their owner ([`Held`]), so that it does not matter in which order,
//! how often or how late they arrive, and a store that lost everything gets it back from any node. What changes here is told
//! at once and as often as it takes; what others changed is read with each beat, and once more before something unknown is
//! refused ([`Replica::look`]).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weir_engine::{BEAT, Node};
use weir_store::shared::{Lost, Table, Version};

use super::sealed;

/// How long a request waits for a look at the store before it is refused.
pub const LOOK: Duration = Duration::from_millis(300);
/// Time between two looks at the least, however many strangers come with keys that nobody knows.
const LOOK_GAP: Duration = Duration::from_millis(50);
/// Rows that are told at once.
const BATCH: usize = 200;
/// Rows that wait to be told. More are found missing by the next comparison.
const UNTOLD: usize = 20_000;
/// Rows that are read at once; the store holds fewer, unless somebody else writes to it.
const READ: usize = 50_000;
/// How often everything is compared, not only what has changed.
const COMPARE: Duration = Duration::from_secs(60 * 60);
/// How long the store keeps a row. Each comparison begins anew with rows that it has forgotten.
const KEEP: Duration = Duration::from_secs(40 * 24 * 60 * 60);

/// The fields of a row, by name. Those that this Weir does not know are kept.
pub type Fields = Map<String, Value>;

/// One row: its name in the table, and its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldRow {
    /// Its name, which everybody who reads the store sees.
    pub id: Vec<u8>,
    /// What only nodes read.
    pub fields: Fields,
}

/// What became of rows that others wrote.
#[derive(Debug, Default)]
pub struct Taken {
    /// Rows of which this node knows more than was read: the others are told.
    pub back: Vec<HeldRow>,
    /// Rows that mean nothing.
    pub unread: u64,
}

/// Who holds rows, in memory and in `state.db`, and knows how to merge them.
///
/// Merging must give the same whatever the order: each row is merged alone, and what is merged twice is merged once.
pub trait Held: Send + Sync + 'static {
    /// Whether a row of this name is one of these.
    fn is_ours(&self, id: &[u8]) -> bool;

    /// Everything that is held, for a store that has lost it.
    fn rows(&self) -> Vec<HeldRow>;

    /// Takes over what others wrote.
    fn take(&self, rows: Vec<HeldRow>) -> BoxFuture<'_, Result<Taken, weir_store::Error>>;
}

/// One table, or the part of it that one holder has. A cheap handle: clones share everything.
#[derive(Clone)]
pub struct Replica(Arc<Inner>);

struct Inner {
    node: Node,
    table: Table,
    held: Box<dyn Held>,
    /// Rows to be told, each with the number of its last change.
    untold: Mutex<BTreeMap<Vec<u8>, (u64, Fields)>>,
    changes: AtomicU64,
    /// How many exchanges have begun.
    begun: AtomicU64,
    place: tokio::sync::Mutex<Place>,
    wake: Notify,
    ignored: AtomicU64,
}

/// How far the table was read. Whoever has it talks to the store.
struct Place {
    version: Version,
    /// The number of times this node was alone when that was read: the store may have lost something meanwhile.
    returns: u64,
    compared: Option<Instant>,
    looked: Option<Instant>,
}

impl Replica {
    /// Holds a table together with the other nodes.
    pub fn new(node: Node, table: Table, held: impl Held) -> Self {
        Self(Arc::new(Inner {
            node,
            table,
            held: Box::new(held),
            untold: Mutex::default(),
            changes: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            place: tokio::sync::Mutex::new(Place {
                version: Version::NONE,
                returns: 0,
                compared: None,
                looked: None,
            }),
            wake: Notify::new(),
            ignored: AtomicU64::new(0),
        }))
    }

    /// A row was changed here: the others are told as soon as the store answers.
    pub fn tell(&self, row: HeldRow) {
        self.note(row);
        self.0.wake.notify_one();
    }

    /// Reads what others wrote and tells what is untold, unless that was just done; returns after at most [`LOOK`], and at
    /// once while this node is alone.
    ///
    /// # Cancel safety
    /// What was not finished is done again.
    pub async fn look(&self) {
        if self.0.node.is_alone() {
            return;
        }
        let before = self.0.begun.load(Ordering::SeqCst);
        let look = async {
            let mut place = self.0.place.lock().await;
            // One that began after this was asked for has ended meanwhile.
            if self.0.begun.load(Ordering::SeqCst) > before {
                return;
            }
            if let Some(looked) = place.looked {
                tokio::time::sleep_until(looked + LOOK_GAP).await;
            }
            place.looked = Some(Instant::now());
            // Who is lost is alone now, which the node says.
            let _ = self.exchange_at(&mut place).await;
        };
        let _ = tokio::time::timeout(LOOK, look).await;
    }

    /// Reads what others wrote and tells what is untold, now.
    ///
    /// # Errors
    /// If the store does not answer.
    pub async fn exchange(&self) -> Result<(), Lost> {
        let mut place = self.0.place.lock().await;
        self.exchange_at(&mut place).await
    }

    /// Keeps the table in step until it is told to stop.
    pub async fn run(&self, stop: CancellationToken) {
        let mut view = self.0.node.watch();
        loop {
            let alone = self.0.node.is_alone();
            if !alone {
                // Without an answer this node is alone, which the node says.
                let _ = self.exchange().await;
            }
            let is_news = async {
                // Alone, only the node knows when the store is back.
                match alone {
                    true => drop(view.changed().await),
                    false => self.0.wake.notified().await,
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = is_news => {}
                () = tokio::time::sleep(BEAT) => {}
            }
        }
    }

    /// Rows that were read and mean nothing: sealed with another secret, damaged, or not for this table.
    pub fn ignored(&self) -> u64 {
        self.0.ignored.load(Ordering::Relaxed)
    }

    /// Rows that the others have yet to be told.
    pub fn untold(&self) -> usize {
        self.0.untold.lock().len()
    }

    fn note(&self, row: HeldRow) {
        let number = self.0.changes.fetch_add(1, Ordering::Relaxed);
        let mut untold = self.0.untold.lock();
        if untold.len() < UNTOLD || untold.contains_key(&row.id) {
            untold.insert(row.id, (number, row.fields));
        }
    }

    async fn exchange_at(&self, place: &mut Place) -> Result<(), Lost> {
        self.0.begun.fetch_add(1, Ordering::SeqCst);
        let view = self.0.node.view();
        let old = place.compared.is_none_or(|at| at.elapsed() >= COMPARE);
        let since = match old || place.returns != view.returns {
            true => Version::NONE,
            false => place.version,
        };
        self.put().await?;
        let table = self.0.table;
        let changes = self.0.node.call(|store| store.changes(table, since));
        let changes = changes.await?;
        let (rows, ids) = self.open(changes.entries);
        let taken = match rows.is_empty() {
            true => Ok(Taken::default()),
            false => self.0.held.take(rows).await,
        };
        let taken = match taken {
            Ok(taken) => taken,
            Err(error) => {
                // The place stays, so they are read again.
                tracing::warn!(%error, ?table, "what other nodes wrote cannot be kept");
                return Ok(());
            }
        };
        self.count_ignored(taken.unread);
        taken.back.into_iter().for_each(|row| self.note(row));
        if changes.whole {
            let held = self.0.held.rows().into_iter();
            let lacking = held.filter(|row| !ids.contains(&row.id));
            lacking.for_each(|row| self.note(row));
        }
        place.version = changes.version;
        place.returns = view.returns;
        if since == Version::NONE {
            place.compared = Some(Instant::now());
        }
        self.put().await
    }

    /// Tells what is untold.
    async fn put(&self) -> Result<(), Lost> {
        loop {
            let batch: Vec<(Vec<u8>, u64, Fields)> = {
                let untold = self.0.untold.lock();
                let batch = untold.iter().take(BATCH);
                batch
                    .map(|(id, (number, fields))| (id.clone(), *number, fields.clone()))
                    .collect()
            };
            if batch.is_empty() {
                return Ok(());
            }
            let table = self.0.table;
            let seal = self.0.node.seal();
            let entries = batch.iter().map(|(id, _, fields)| {
                let body = sealed::write(seal, table, id, fields);
                (id.clone(), Some(body))
            });
            let entries = entries.collect();
            let put = self.0.node.call(|store| store.put(table, entries, KEEP));
            put.await?;
            let mut untold = self.0.untold.lock();
            for (id, number, _) in batch {
                // Unless it has changed again meanwhile.
                if untold.get(&id).is_some_and(|(last, _)| *last == number) {
                    untold.remove(&id);
                }
            }
        }
    }

    /// The rows that are for this holder, and the names of all that can be read.
    fn open(&self, entries: Vec<weir_store::shared::Entry>) -> (Vec<HeldRow>, HashSet<Vec<u8>>) {
        let (mut rows, mut ids, mut bad) = (Vec::new(), HashSet::new(), 0);
        for (id, body) in entries.into_iter().take(READ) {
            if !self.0.held.is_ours(&id) {
                continue;
            }
            // Ends are rows of their own kind here: what the store has forgotten is not over.
            let Some(body) = body else { continue };
            match sealed::read(self.0.node.seal(), self.0.table, &id, &body) {
                Some(fields) => {
                    ids.insert(id.clone());
                    rows.push(HeldRow { id, fields });
                }
                // Not among those that can be read, so that a row of ours takes its place.
                None => bad += 1,
            }
        }
        self.count_ignored(bad);
        (rows, ids)
    }

    fn count_ignored(&self, count: u64) {
        if count == 0 {
            return;
        }
        let before = self.0.ignored.fetch_add(count, Ordering::Relaxed);
        if before == 0 {
            let table = self.0.table;
            tracing::warn!(
                count,
                ?table,
                "rows in the shared store cannot be read: do all nodes have the same store.secret?"
            );
        }
    }
}
