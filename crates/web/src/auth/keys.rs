//! Keys beside the first one: rows of `web_key`, named, each with a right. Only their hashes are stored.
//!
//! All of them are held in memory, so that a request costs no look into the file. As with sessions, memory is changed by the
//! writes themselves, on the writer's thread, so it follows the table even if whoever asked for a write has hung up. A write
//! that fails is followed by [`Keys::reload`]: then nothing has changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use subtle::ConstantTimeEq;
use weir_store::rusqlite::{self, Connection, Transaction};
use weir_store::sqlite::File;

use super::secrets::{self, Hash};
use crate::{Error, Right};

/// Maximum keys beside the first: each one is compared with what a request sends.
pub(crate) const KEYS: usize = 100;
/// Characters of a name at most.
pub(crate) const NAME: usize = 40;
/// Seconds between two records of a key's use.
const USED_EVERY: i64 = 60;

/// Who sent a key, or opened a session with one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bearer {
    /// Hash of the key.
    pub(crate) print: Hash,
    /// The key's name; `None` for the first one.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) right: Right,
}

/// A key as it is known; the key itself is known to whoever was given it.
#[derive(Debug)]
pub(crate) struct Key {
    /// Never given to another key.
    pub(crate) id: i64,
    pub(crate) name: Arc<str>,
    pub(crate) right: Right,
    print: Hash,
    pub(crate) made: i64,
    /// When it was last sent, in seconds, as exact as [`USED_EVERY`]; 0 for never.
    used: AtomicI64,
}

impl Key {
    /// When it was last sent.
    pub(crate) fn used(&self) -> Option<Timestamp> {
        moment(self.used.load(Ordering::Relaxed))
    }

    fn bearer(&self) -> Bearer {
        Bearer {
            print: self.print,
            name: Some(Arc::clone(&self.name)),
            right: self.right,
        }
    }
}

/// A time that may be none.
pub(super) fn moment(second: i64) -> Option<Timestamp> {
    (second > 0)
        .then(|| Timestamp::from_second(second).ok())
        .flatten()
}

/// Whether a use must be recorded again; true for one caller at a time.
pub(super) fn is_due(used: &AtomicI64, now: i64) -> bool {
    let before = used.load(Ordering::Relaxed);
    // Also if the clock was set back.
    let due = now.saturating_sub(before) >= USED_EVERY || now < before;
    due && used
        .compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed)
        .is_ok()
}

/// Why a key was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotMade {
    /// Another one has the name.
    Taken,
    /// There are as many as there may be.
    Full,
}

/// All keys beside the first; clones are the same ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys(Arc<ArcSwap<Vec<Arc<Key>>>>);

impl Keys {
    /// As the table has them.
    pub(crate) fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let rows = read(connection)?;
        Ok(Self(Arc::new(ArcSwap::from_pointee(rows))))
    }

    /// Takes over what the table has, after a write that failed.
    pub(crate) fn reload(&self, file: &File) {
        match file.read(read) {
            Ok(rows) => self.0.store(Arc::new(rows)),
            Err(error) => tracing::warn!(%error, "cannot read the keys again"),
        }
    }

    /// All of them, by name.
    pub(crate) fn all(&self) -> Arc<Vec<Arc<Key>>> {
        self.0.load_full()
    }

    /// The key whose hash this is. Every key is compared in full, so the time says nothing of any of them.
    pub(crate) fn find(&self, print: &Hash) -> Option<Arc<Key>> {
        let mut found = None;
        for key in self.0.load().iter() {
            if key.print.ct_eq(print).into() {
                found = Some(Arc::clone(key));
            }
        }
        found
    }

    /// Who has the key with this hash.
    pub(crate) fn bearer(&self, print: &Hash) -> Option<Bearer> {
        self.find(print).map(|key| key.bearer())
    }

    /// Adds a key.
    pub(crate) fn insert(
        &self,
        tx: &Transaction<'_>,
        name: &str,
        right: Right,
        print: Hash,
        now: i64,
    ) -> rusqlite::Result<Result<Arc<Key>, NotMade>> {
        let rows = self.0.load_full();
        if rows.iter().any(|key| is_same_name(&key.name, name)) {
            return Ok(Err(NotMade::Taken));
        }
        if rows.len() >= KEYS {
            return Ok(Err(NotMade::Full));
        }
        tx.execute(
            "INSERT INTO web_key (name, allows, print, made, used) VALUES (?1, ?2, ?3, ?4, 0)",
            (name, right.name(), print, now),
        )?;
        let key = Arc::new(Key {
            id: tx.last_insert_rowid(),
            name: name.into(),
            right,
            print,
            made: now,
            used: AtomicI64::new(0),
        });
        let mut rows = (*rows).clone();
        let place = rows.partition_point(|other| order(other) < order(&key));
        rows.insert(place, Arc::clone(&key));
        self.0.store(Arc::new(rows));
        Ok(Ok(key))
    }

    /// Takes a key away, with the hash under which its sessions are; `None` if it is gone already.
    pub(crate) fn remove(&self, tx: &Transaction<'_>, id: i64) -> rusqlite::Result<Option<Hash>> {
        let mut rows = (*self.0.load_full()).clone();
        let Some(place) = rows.iter().position(|key| key.id == id) else {
            return Ok(None);
        };
        tx.execute("DELETE FROM web_key WHERE id = ?1", [id])?;
        let key = rows.remove(place);
        self.0.store(Arc::new(rows));
        Ok(Some(key.print))
    }

    /// Notes that a key was sent; nobody waits for the row.
    pub(crate) fn note_use(&self, key: &Key, file: &File, now: i64) -> Result<(), Error> {
        if !is_due(&key.used, now) {
            return Ok(());
        }
        let id = key.id;
        Ok(file.write_later(move |tx| {
            tx.execute("UPDATE web_key SET used = ?2 WHERE id = ?1", (id, now))?;
            Ok(())
        })?)
    }
}

fn order(key: &Key) -> (String, i64) {
    (key.name.to_lowercase(), key.id)
}

/// Names that people would take for the same are the same.
fn is_same_name(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn read(connection: &Connection) -> rusqlite::Result<Vec<Arc<Key>>> {
    let mut rows = connection.prepare("SELECT id, name, allows, print, made, used FROM web_key")?;
    let rows = rows.query_map([], |row| {
        let (name, right): (String, String) = (row.get(1)?, row.get(2)?);
        Ok(Arc::new(Key {
            id: row.get(0)?,
            name: name.into(),
            // What a later Weir wrote and this one does not know allows as little as possible.
            right: Right::parse(&right).unwrap_or(Right::Read),
            print: row.get(3)?,
            made: row.get(4)?,
            used: AtomicI64::new(row.get(5)?),
        }))
    })?;
    let rows: rusqlite::Result<Vec<Arc<Key>>> = rows.collect();
    let mut rows = rows?;
    rows.sort_by_key(|key| order(key));
    Ok(rows)
}

/// A name on one line, as it may be kept.
pub(crate) fn name(given: &str) -> Result<String, &'static str> {
    // Characters that only turn or hide text would let one name pass for another.
    let is_odd = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let words = given.split(|letter: char| letter.is_whitespace() || is_odd(letter));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let name = words.join(" ");
    match name.chars().count() {
        0 => Err("Give it a name: the program or the person that will use it."),
        1..=NAME => Ok(name),
        _ => Err("A name may have at most 40 characters."),
    }
}

/// A new key and its hash.
pub(super) fn fresh() -> Result<(String, Hash), Error> {
    let key = secrets::token()?;
    let print = secrets::hash(&key);
    Ok((key, print))
}

#[cfg(test)]
mod tests {
    use super::super::secrets::MIGRATIONS;
    use super::*;

    fn file() -> (tempfile::TempDir, File) {
        let directory = tempfile::tempdir().unwrap();
        let file = File::open(directory.path().join("state.db")).unwrap();
        file.migrate(MIGRATIONS).unwrap();
        (directory, file)
    }

    fn insert(file: &File, keys: &Keys, name: &str, print: u8) -> Result<i64, NotMade> {
        let (keys, name) = (keys.clone(), name.to_owned());
        let made = file
            .write_blocking(move |tx| keys.insert(tx, &name, Right::Search, [print; 32], 1_000));
        made.unwrap().map(|key| key.id)
    }

    fn told(keys: &Keys) -> Vec<(i64, String, Right, i64)> {
        let one = |key: &Arc<Key>| {
            let used = key.used.load(Ordering::Relaxed);
            (key.id, key.name.to_string(), key.right, used)
        };
        keys.all().iter().map(one).collect()
    }

    #[test]
    fn memory_holds_what_the_table_does() {
        let (_directory, file) = file();
        let keys = file.read(Keys::load).unwrap();
        let sonarr = insert(&file, &keys, "Sonarr", 1).unwrap();
        let anna = insert(&file, &keys, "anna", 2).unwrap();
        assert_eq!(insert(&file, &keys, "SONARR", 3), Err(NotMade::Taken));
        let key = keys.find(&[1; 32]).unwrap();
        keys.note_use(&key, &file, 5_000).unwrap();
        keys.note_use(&key, &file, 5_059).unwrap();
        file.write_blocking(|_| Ok(())).unwrap();
        let same = |when: &str| {
            let table = file.read(Keys::load).unwrap();
            assert_eq!(told(&keys), told(&table), "{when}");
        };
        same("after a use");
        assert_eq!(
            told(&keys),
            [
                (anna, "anna".to_owned(), Right::Search, 0),
                (sonarr, "Sonarr".to_owned(), Right::Search, 5_000),
            ],
            "by name; a use within a minute costs nothing"
        );
        let changed = keys.clone();
        let gone = file.write_blocking(move |tx| {
            Ok((changed.remove(tx, sonarr)?, changed.remove(tx, sonarr)?))
        });
        assert_eq!(gone.unwrap(), (Some([1; 32]), None));
        same("after a revocation");
        assert!(keys.bearer(&[1; 32]).is_none());
        let again = insert(&file, &keys, "Sonarr", 4).unwrap();
        assert!(again > anna, "an ID is never given twice");
        file.close();
    }

    #[test]
    fn there_are_only_so_many() {
        let (_directory, file) = file();
        let keys = Keys::default();
        for number in 0..KEYS {
            let print = u8::try_from(number).unwrap();
            insert(&file, &keys, &format!("key {number}"), print).unwrap();
        }
        assert_eq!(insert(&file, &keys, "one more", 200), Err(NotMade::Full));
        assert_eq!(keys.all().len(), KEYS);
        file.close();
    }

    #[test]
    fn names_are_one_line_of_what_can_be_seen() {
        assert_eq!(name(" Anna\r\n\u{202e}\u{2}Bell ").unwrap(), "Anna Bell");
        assert_eq!(
            name("<b>&\"'").unwrap(),
            "<b>&\"'",
            "escaped where it is shown"
        );
        assert!(name(" \u{200b}\n").is_err());
        assert!(name(&"ä".repeat(NAME)).is_ok());
        assert!(name(&"ä".repeat(NAME + 1)).is_err());
    }
}
