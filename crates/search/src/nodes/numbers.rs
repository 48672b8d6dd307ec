//! The numbers of indexers, which programs keep: the same name has the same number on all nodes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;
use weir_store::sqlite::File;
use weir_web::nodes::{Fields, Held, HeldRow, Taken};

use super::OtherFields;

/// Names whose numbers are held: nobody has so many indexers.
const NAMES: usize = 10_000;
/// Characters of a name.
const LONGEST: usize = 200;
/// Numbers that are made of names: far from those that are counted, and few enough for programs that have 31 bits.
const FIRST: u32 = 1_000_000;
const MADE: u32 = 1_000_000_000;

/// An indexer's number. It changes only when nodes meet that had given different ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct IndexerNumber(Arc<AtomicU32>);

impl IndexerNumber {
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl From<u32> for IndexerNumber {
    fn from(number: u32) -> Self {
        Self(Arc::new(AtomicU32::new(number)))
    }
}

/// The number that an indexer of this name gets where several nodes might give one.
pub(crate) fn given(name: &str) -> u32 {
    let hash = blake3::hash(format!("weir indexer {name}").as_bytes());
    let bytes = hash.as_bytes();
    let number = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    FIRST + number % MADE
}

/// Who was given which number, and when, in seconds since 1970; 0 for those from before there were several nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GivenNumber {
    pub(crate) made: i64,
    pub(crate) number: u32,
}

/// All of them.
#[derive(Default)]
pub(crate) struct NumberBook(Mutex<Book>);

#[derive(Default)]
struct Book {
    rows: BTreeMap<String, GivenNumber>,
    /// What indexers have, by name.
    numbers: HashMap<String, IndexerNumber>,
}

impl NumberBook {
    pub(crate) fn new(rows: impl IntoIterator<Item = (String, GivenNumber)>) -> Self {
        let book = Self::default();
        book.0.lock().rows.extend(rows);
        book.assign();
        book
    }

    /// The number of a name; whether it was given just now.
    pub(crate) fn number(&self, name: &str, now: i64) -> (IndexerNumber, Option<GivenNumber>) {
        let mut book = self.0.lock();
        let new = (!book.rows.contains_key(name)).then(|| GivenNumber {
            made: now,
            number: given(name),
        });
        if let Some(new) = new {
            book.rows.insert(name.to_owned(), new);
        }
        let number = book.numbers.entry(name.to_owned()).or_default().clone();
        drop(book);
        self.assign();
        (number, new)
    }

    /// Takes over a number that another node has given; true if it changes what is known here, and what is known otherwise.
    fn merge(&self, name: &str, given: GivenNumber) -> Result<bool, GivenNumber> {
        let mut book = self.0.lock();
        match book.rows.get(name).copied() {
            Some(ours) if ours == given => Ok(false),
            Some(ours) if ours < given => Err(ours),
            None if book.rows.len() >= NAMES => Ok(false),
            _ => {
                book.rows.insert(name.to_owned(), given);
                Ok(true)
            }
        }
    }

    /// Gives every name its number: the oldest first, and one that is taken becomes another. It is the same on all nodes
    /// that know the same rows.
    fn assign(&self) {
        let mut book = self.0.lock();
        let book = &mut *book;
        let mut rows: Vec<(GivenNumber, &String)> =
            book.rows.iter().map(|(name, row)| (*row, name)).collect();
        rows.sort_unstable();
        let mut taken = BTreeSet::new();
        for (row, name) in rows {
            let mut number = row.number;
            if taken.contains(&number) {
                number = given(name);
            }
            while !taken.insert(number) {
                number = FIRST + (number - FIRST + 1) % MADE;
            }
            let held = book.numbers.entry(name.clone()).or_default();
            held.0.store(number, Ordering::Relaxed);
        }
    }

    fn rows(&self) -> Vec<(String, GivenNumber)> {
        let book = self.0.lock();
        book.rows
            .iter()
            .map(|(name, row)| (name.clone(), *row))
            .collect()
    }
}

/// The numbers as rows that all nodes hold.
pub(super) struct HeldNumbers {
    pub(super) file: File,
    pub(super) numbers: Arc<NumberBook>,
    pub(super) others: OtherFields,
}

impl Held for HeldNumbers {
    fn is_ours(&self, _id: &[u8]) -> bool {
        true
    }

    fn rows(&self) -> Vec<HeldRow> {
        let rows = self.numbers.rows().into_iter();
        rows.map(|(name, given)| self.others.with(row(&name, given)))
            .collect()
    }

    fn take(&self, rows: Vec<HeldRow>) -> BoxFuture<'_, Result<Taken, weir_store::Error>> {
        let (mut taken, mut new) = (Taken::default(), Vec::new());
        for theirs in rows {
            let Some((name, given)) = read(&theirs.fields) else {
                taken.unread += 1;
                continue;
            };
            self.others.note(&theirs, &["name", "number", "made"]);
            match self.numbers.merge(&name, given) {
                Ok(true) => new.push((name, given)),
                Ok(false) => {}
                Err(ours) => taken.back.push(self.others.with(row(&name, ours))),
            }
        }
        self.numbers.assign();
        Box::pin(async move {
            if !new.is_empty() {
                self.file.write(move |tx| keep(tx, &new)).await?;
            }
            Ok(taken)
        })
    }
}

/// Keeps numbers over a restart.
pub(crate) fn keep(
    transaction: &rusqlite::Transaction<'_>,
    rows: &[(String, GivenNumber)],
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO search_number (name, number, made) VALUES (?1, ?2, ?3)";
    let mut insert = transaction.prepare_cached(sql)?;
    for (name, given) in rows {
        insert.execute((name, given.number, given.made))?;
    }
    Ok(())
}

pub(crate) fn row(name: &str, given: GivenNumber) -> HeldRow {
    let mut fields = Fields::new();
    fields.insert("name".to_owned(), json!(name));
    fields.insert("number".to_owned(), json!(given.number));
    fields.insert("made".to_owned(), json!(given.made));
    HeldRow {
        // Names are no secrets, and whose they are is sealed with them.
        id: blake3::hash(name.as_bytes()).as_bytes()[..16].to_vec(),
        fields,
    }
}

fn read(fields: &Fields) -> Option<(String, GivenNumber)> {
    let name = fields.get("name")?.as_str()?;
    let number = u32::try_from(fields.get("number")?.as_u64()?).ok()?;
    let made = fields.get("made")?.as_i64()?;
    let fits = name.chars().count() <= LONGEST && number < FIRST + MADE;
    fits.then(|| (name.to_owned(), GivenNumber { made, number }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(rows: &[(&str, i64, u32)]) -> NumberBook {
        let rows = rows.iter().map(|&(name, made, number)| {
            let given = GivenNumber { made, number };
            (name.to_owned(), given)
        });
        NumberBook::new(rows)
    }

    fn number(book: &NumberBook, name: &str) -> u32 {
        book.number(name, 100).0.get()
    }

    #[tokio::test]
    async fn what_a_newer_node_wrote_into_a_row_goes_back_with_it() {
        let home = tempfile::tempdir().unwrap();
        let held = HeldNumbers {
            file: File::open(home.path().join("state.db")).unwrap(),
            numbers: Arc::new(book(&[("x", 0, 1)])),
            others: OtherFields::default(),
        };
        // It gave another number later, so ours counts.
        let later = GivenNumber { made: 5, number: 9 };
        let mut theirs = row("x", later);
        theirs.fields.insert("colour".to_owned(), json!("green"));
        let taken = held.take(vec![theirs]).await.unwrap();
        for row in [&taken.back[0], &held.rows()[0]] {
            assert_eq!(row.fields["number"], json!(1));
            assert_eq!(row.fields["colour"], json!("green"));
        }
    }

    #[test]
    fn two_nodes_give_a_new_indexer_the_same_number_without_asking() {
        let (a, b) = (book(&[("old", 0, 1)]), book(&[]));
        assert_eq!(number(&a, "new"), number(&b, "new"));
        assert!(number(&a, "new") >= FIRST);
        assert_eq!(number(&a, "old"), 1);
    }

    #[test]
    fn nodes_that_meet_agree_on_every_number_and_none_means_two_indexers() {
        let a = book(&[("x", 0, 1), ("y", 0, 2), ("z", 0, 3)]);
        let b = book(&[("y", 0, 1), ("x", 0, 2), ("w", 0, 3)]);
        let held = number(&b, "y");
        assert_eq!(held, 1);
        let kept = b.number("y", 100).0;
        for (from, to) in [(&a, &b), (&b, &a), (&a, &b)] {
            for (name, given) in from.rows() {
                let _ = to.merge(&name, given);
            }
            to.assign();
        }
        let mut all = BTreeSet::new();
        for name in ["x", "y", "z", "w"] {
            assert_eq!(number(&a, name), number(&b, name), "{name}");
            assert!(all.insert(number(&a, name)), "{name}");
        }
        assert_eq!(kept.get(), number(&a, "y"), "indexers have the new one");
        assert_eq!(number(&a, "x"), 1, "the lower one where both are as old");
    }
}
