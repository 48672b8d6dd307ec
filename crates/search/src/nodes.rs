//! What several nodes hold together so that links and numbers mean the same on all of them: the keys that links are made
//! with, and the numbers of indexers.
//!
//! Each node makes a link key at its first start. All nodes open links of all keys, and make new ones with the oldest, which
//! is the same one as soon as they know of each other. A new indexer gets a number that is made of its name, so that nobody
//! has to be asked; numbers from before there were several nodes stay, the older one where two nodes had different ones.

mod numbers;

use std::sync::Arc;

use data_encoding::HEXLOWER;
use futures_util::future::BoxFuture;
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
        };
        let numbers = numbers::HeldNumbers { file, numbers };
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

/// The keys of links.
struct HeldLinks {
    file: File,
    links: Arc<Links>,
}

impl Held for HeldLinks {
    fn is_ours(&self, id: &[u8]) -> bool {
        id.first() == Some(&b'l')
    }

    fn rows(&self) -> Vec<HeldRow> {
        self.links.keys().iter().map(row).collect()
    }

    fn take(&self, rows: Vec<HeldRow>) -> BoxFuture<'_, Result<Taken, weir_store::Error>> {
        let mut taken = Taken::default();
        let mut new = Vec::new();
        for HeldRow { fields, .. } in rows {
            match read(&fields) {
                Some(key) if self.links.has(&key) => {}
                Some(key) => new.push(key),
                None => taken.unread += 1,
            }
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
