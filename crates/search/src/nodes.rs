//! What several nodes hold together so that links and numbers mean the same on all of them: the keys that links are made
//! with, and the numbers of indexers.
//!
//! Each node makes a link key at its first start. All nodes open links of all keys, and make new ones with the oldest, which
//! is the same one as soon as they know of each other. A new indexer gets a number that is made of its name, so that nobody
//! has to be asked; numbers from before there were several nodes stay, the older one where two nodes had different ones.

mod numbers;

use std::collections::BTreeMap;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use weir_engine::{Lifetime, Node};
use weir_store::shared::Table;
use weir_store::sqlite::File;
use weir_web::nodes::{Fields, Held, HeldRow, Replica, Taken};

pub(crate) use self::numbers::{
    GivenNumber, IndexerNumber, NumberBook, given, keep, row as number_row,
};
use crate::links::{LinkKey, Links};

/// Rows of which more is known than this Weir writes.
const MOST_ROWS: usize = 10_000;

/// What is held together with other nodes.
pub(crate) struct Together {
    pub(crate) links: Replica,
    pub(crate) numbers: Replica,
}

impl Together {
    pub(crate) fn new(
        node: &Node,
        file: &File,
        links: &Arc<Links>,
        numbers: &Arc<NumberBook>,
    ) -> Self {
        let (file, links, numbers) = (file.clone(), links.clone(), numbers.clone());
        let held = HeldLinks {
            file: file.clone(),
            links,
            others: OtherFields::default(),
        };
        let numbers = numbers::HeldNumbers {
            file,
            numbers,
            others: OtherFields::default(),
        };
        Self {
            links: Replica::new(node.clone(), Table::Keys, held),
            numbers: Replica::new(node.clone(), Table::Indexers, numbers),
        }
    }

    /// Keeps both in step as long as the front lives.
    pub(crate) fn run(&self, lifetime: &Lifetime) {
        let stop = CancellationToken::new();
        for held in [&self.links, &self.numbers] {
            let (held, stop) = (held.clone(), stop.clone());
            lifetime.spawn(async move { held.run(stop).await });
        }
        let closing = lifetime.clone();
        lifetime.spawn(async move {
            closing.closing().await;
            stop.cancel();
        });
    }
}

/// What newer nodes wrote into rows and this one does not know: it goes back with a row that is written again.
#[derive(Default)]
struct OtherFields(Mutex<BTreeMap<Vec<u8>, Fields>>);

impl OtherFields {
    /// Notes what a row has beyond these fields.
    fn note(&self, row: &HeldRow, known: &[&str]) {
        let mut others = row.fields.clone();
        others.retain(|name, _| !known.contains(&name.as_str()));
        let mut rows = self.0.lock();
        if others.is_empty() {
            rows.remove(&row.id);
        } else if rows.len() < MOST_ROWS || rows.contains_key(&row.id) {
            rows.insert(row.id.clone(), others);
        }
    }

    /// The row with what was noted.
    fn with(&self, mut row: HeldRow) -> HeldRow {
        if let Some(others) = self.0.lock().get(&row.id) {
            row.fields.extend(others.clone());
        }
        row
    }
}

/// The keys of links.
struct HeldLinks {
    file: File,
    links: Arc<Links>,
    others: OtherFields,
}

impl Held for HeldLinks {
    fn is_ours(&self, id: &[u8]) -> bool {
        id.first() == Some(&b'l')
    }

    fn rows(&self) -> Vec<HeldRow> {
        let keys = self.links.keys();
        keys.iter().map(|key| self.others.with(row(key))).collect()
    }

    fn take(&self, rows: Vec<HeldRow>) -> BoxFuture<'_, Result<Taken, weir_store::Error>> {
        let mut taken = Taken::default();
        let mut new = Vec::new();
        for row in rows {
            match read(&row.fields) {
                Some(key) if self.links.has(&key) => {}
                Some(key) => new.push(key),
                None => {
                    taken.unread += 1;
                    continue;
                }
            }
            self.others.note(&row, &["key", "made"]);
        }
        Box::pin(async move {
            if new.is_empty() {
                return Ok(taken);
            }
            let links = self.links.clone();
            let write = self.file.write(move |transaction| {
                for (made, key) in new {
                    if !links.add(LinkKey::new(made, key)) {
                        continue;
                    }
                    let sql = "INSERT OR IGNORE INTO search_link (key, made) VALUES (?1, ?2)";
                    transaction.execute(sql, (key, made))?;
                }
                Ok(())
            });
            write.await?;
            Ok(taken)
        })
    }
}

fn row(key: &LinkKey) -> HeldRow {
    // The key is random: its hash says nothing of it.
    let name = blake3::hash(&key.key);
    let mut fields = Fields::new();
    fields.insert("key".to_owned(), json!(HEXLOWER.encode(&key.key)));
    fields.insert("made".to_owned(), json!(key.made));
    HeldRow {
        id: [&b"l"[..], &name.as_bytes()[..16]].concat(),
        fields,
    }
}

fn read(fields: &Fields) -> Option<(i64, [u8; 32])> {
    let key = HEXLOWER.decode(fields.get("key")?.as_str()?.as_bytes());
    let key = <[u8; 32]>::try_from(key.ok()?.as_slice()).ok()?;
    Some((fields.get("made")?.as_i64()?, key))
}
