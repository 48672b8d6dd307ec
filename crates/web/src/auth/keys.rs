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

use super::gone::{Gone, GoneKind};
use super::secrets::{self, Hash};
use crate::{Error, Right};

/// Maximum keys beside the first: each one is compared with what a request sends.
pub(crate) const KEYS: usize = 100;
/// Characters of a name at most.
pub(crate) const NAME: usize = 40;
/// Maximum keys that are taken over from other nodes, beside whatever they were made for: several nodes may each have made
/// as many as they may before they met.
const TAKEN_KEYS: usize = 1000;
/// Seconds between two records of a key's use.
const USED_EVERY: i64 = 60;
/// How long the end of a key is remembered: a node may come back after years with a key that was revoked meanwhile.
const REMEMBERED: i64 = 10 * 366 * 24 * 60 * 60;

/// Who sent a key, or opened a session with one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bearer {
    /// Hash of the key.
    pub(crate) print: Hash,
    /// The key's name; `None` for the first one, of this node or another.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) right: Right,
    /// Weir made the key itself, from 160 random bits.
    pub(crate) strong: bool,
}

/// A key as it is known; the key itself is known to whoever was given it.
#[derive(Debug)]
pub(crate) struct Key {
    /// Never given to another key. Among several nodes it is made of the hash, so that it means the same on all of them.
    pub(crate) id: i64,
    pub(crate) name: Arc<str>,
    pub(crate) right: Right,
    pub(crate) print: Hash,
    pub(crate) made: i64,
    /// When it was last sent, in seconds, as exact as [`USED_EVERY`]; 0 for never.
    used: AtomicI64,
}

impl Key {
    /// When it was last sent.
    pub(crate) fn used(&self) -> Option<Timestamp> {
        moment(self.used.load(Ordering::Relaxed))
    }

    fn news(&self) -> KeyNews {
        KeyNews::Holds {
            name: self.name.to_string(),
            right: self.right,
            made: self.made,
            used: self.used.load(Ordering::Relaxed),
        }
    }

    fn bearer(&self) -> Bearer {
        Bearer {
            print: self.print,
            name: Some(Arc::clone(&self.name)),
            right: self.right,
            strong: true,
        }
    }
}

/// What came of another node's news of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergedKey {
    /// Both know the same now.
    Same,
    /// This node knows more.
    KnowsMore,
    /// It was revoked just now: its sessions end.
    Revoked,
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

/// What another node knows of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyNews {
    /// It holds, or did when this was written.
    Holds {
        name: String,
        right: Right,
        made: i64,
        used: i64,
    },
    /// It was revoked, and that is remembered until this second.
    Revoked(i64),
}

/// All keys beside the first, and those that were revoked; clones are the same ones.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    rows: Arc<ArcSwap<Vec<Arc<Key>>>>,
    gone: Gone,
    /// Whether other nodes have the same keys.
    shared: bool,
}

impl Keys {
    /// As the table has them.
    pub(crate) fn load(connection: &Connection, shared: bool) -> rusqlite::Result<Self> {
        let rows = read(connection, shared)?;
        Ok(Self {
            rows: Arc::new(ArcSwap::from_pointee(rows)),
            gone: Gone::load(connection, GoneKind::Key)?,
            shared,
        })
    }

    /// Takes over what the table has, after a write that failed.
    pub(crate) fn reload(&self, file: &File) {
        match file.read(|connection| read(connection, self.shared)) {
            Ok(rows) => self.rows.store(Arc::new(rows)),
            Err(error) => tracing::warn!(%error, "cannot read the keys again"),
        }
    }

    /// All of them, by name.
    pub(crate) fn all(&self) -> Arc<Vec<Arc<Key>>> {
        self.rows.load_full()
    }

    /// The key whose hash this is. Every key is compared in full, so the time says nothing of any of them.
    pub(crate) fn find(&self, print: &Hash) -> Option<Arc<Key>> {
        let mut found = None;
        for key in self.rows.load().iter() {
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
        let rows = self.rows.load_full();
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
            id: id(tx.last_insert_rowid(), &print, self.shared),
            name: name.into(),
            right,
            print,
            made: now,
            used: AtomicI64::new(0),
        });
        self.add(&key);
        Ok(Ok(key))
    }

    fn add(&self, key: &Arc<Key>) {
        let mut rows = (*self.rows.load_full()).clone();
        let place = rows.partition_point(|other| order(other) < order(key));
        rows.insert(place, Arc::clone(key));
        self.rows.store(Arc::new(rows));
    }

    /// Takes a key away, with the hash under which its sessions are; `None` if it is gone already.
    pub(crate) fn remove(
        &self,
        tx: &Transaction<'_>,
        id: i64,
        now: i64,
    ) -> rusqlite::Result<Option<Hash>> {
        let rows = self.rows.load_full();
        let Some(key) = rows.iter().find(|key| key.id == id) else {
            return Ok(None);
        };
        self.revoke(tx, &key.print, now.saturating_add(REMEMBERED), now)?;
        Ok(Some(key.print))
    }

    /// Takes the key with this hash away if there is one, and remembers that.
    fn revoke(
        &self,
        tx: &Transaction<'_>,
        print: &Hash,
        until: i64,
        now: i64,
    ) -> rusqlite::Result<()> {
        tx.execute("DELETE FROM web_key WHERE print = ?1", [print])?;
        self.gone.put(tx, &[(*print, until)], now)?;
        let mut rows = (*self.rows.load_full()).clone();
        rows.retain(|key| key.print != *print);
        self.rows.store(Arc::new(rows));
        Ok(())
    }

    /// Whether a key with this hash was revoked, here or elsewhere.
    pub(crate) fn is_revoked(&self, print: &Hash) -> bool {
        self.gone.has(print)
    }

    /// What is known of one.
    pub(crate) fn news(&self, print: &Hash) -> Option<KeyNews> {
        let revoked = self.gone.until(print).map(KeyNews::Revoked);
        revoked.or_else(|| self.find(print).map(|key| key.news()))
    }

    /// What is known of all of them.
    pub(crate) fn all_news(&self) -> Vec<(Hash, KeyNews)> {
        let revoked = self.gone.all().into_iter();
        let revoked = revoked.map(|(print, until)| (print, KeyNews::Revoked(until)));
        let held = self.all();
        let held = held.iter().map(|key| (key.print, key.news()));
        revoked.chain(held).collect()
    }

    /// Takes over what another node knows; whether this node knows more of it. That a key was revoked is final. Names may
    /// occur twice, since two nodes may give them at once.
    pub(crate) fn merge(
        &self,
        tx: &Transaction<'_>,
        print: &Hash,
        news: &KeyNews,
        now: i64,
    ) -> rusqlite::Result<MergedKey> {
        let (name, right, made, used) = match news {
            KeyNews::Revoked(_) if self.gone.has(print) => return Ok(MergedKey::Same),
            KeyNews::Revoked(until) => {
                self.revoke(tx, print, *until, now)?;
                return Ok(MergedKey::Revoked);
            }
            KeyNews::Holds { .. } if self.gone.has(print) => return Ok(MergedKey::KnowsMore),
            KeyNews::Holds {
                name,
                right,
                made,
                used,
            } => (name, *right, *made, *used),
        };
        if let Some(key) = self.find(print) {
            let ours = key.used.fetch_max(used, Ordering::Relaxed);
            if ours < used {
                tx.prepare_cached("UPDATE web_key SET used = max(used, ?2) WHERE print = ?1")?
                    .execute((print, used))?;
            }
            return Ok(match ours > used {
                true => MergedKey::KnowsMore,
                false => MergedKey::Same,
            });
        }
        if self.rows.load().len() >= TAKEN_KEYS {
            return Ok(MergedKey::Same);
        }
        tx.execute(
            "INSERT INTO web_key (name, allows, print, made, used) VALUES (?1, ?2, ?3, ?4, ?5)",
            (name, right.name(), print, made, used),
        )?;
        self.add(&Arc::new(Key {
            id: id(tx.last_insert_rowid(), print, self.shared),
            name: name.as_str().into(),
            right,
            print: *print,
            made,
            used: AtomicI64::new(used),
        }));
        Ok(MergedKey::Same)
    }

    /// Notes that a key was sent; nobody waits for the row. False if that was noted a moment ago.
    pub(crate) fn note_use(&self, key: &Key, file: &File, now: i64) -> Result<bool, Error> {
        if !is_due(&key.used, now) {
            return Ok(false);
        }
        let print = key.print;
        file.write_later(move |tx| {
            let sql = "UPDATE web_key SET used = ?2 WHERE print = ?1";
            tx.execute(sql, (print, now))?;
            Ok(())
        })?;
        Ok(true)
    }
}

/// The number by which people and programs name a key.
fn id(row: i64, print: &Hash, shared: bool) -> i64 {
    match shared {
        // 48 bits: programs read numbers of JSON exactly up to 53.
        true => print[..6]
            .iter()
            .fold(0, |id, byte| (id << 8) | i64::from(*byte)),
        false => row,
    }
}

fn order(key: &Key) -> (String, i64) {
    (key.name.to_lowercase(), key.id)
}

/// Names that people would take for the same are the same.
fn is_same_name(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn read(connection: &Connection, shared: bool) -> rusqlite::Result<Vec<Arc<Key>>> {
    let mut rows = connection.prepare("SELECT id, name, allows, print, made, used FROM web_key")?;
    let rows = rows.query_map([], |row| {
        let (name, right): (String, String) = (row.get(1)?, row.get(2)?);
        let print = row.get(3)?;
        Ok(Arc::new(Key {
            id: id(row.get(0)?, &print, shared),
            name: name.into(),
            // What a later Weir wrote and this one does not know allows as little as possible.
            right: Right::parse(&right).unwrap_or(Right::Read),
            print,
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
        let keys = file
            .read(|connection| Keys::load(connection, false))
            .unwrap();
        let sonarr = insert(&file, &keys, "Sonarr", 1).unwrap();
        let anna = insert(&file, &keys, "anna", 2).unwrap();
        assert_eq!(insert(&file, &keys, "SONARR", 3), Err(NotMade::Taken));
        let key = keys.find(&[1; 32]).unwrap();
        keys.note_use(&key, &file, 5_000).unwrap();
        keys.note_use(&key, &file, 5_059).unwrap();
        file.write_blocking(|_| Ok(())).unwrap();
        let same = |when: &str| {
            let table = file
                .read(|connection| Keys::load(connection, false))
                .unwrap();
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
            Ok((
                changed.remove(tx, sonarr, 0)?,
                changed.remove(tx, sonarr, 0)?,
            ))
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
        let keys = file
            .read(|connection| Keys::load(connection, false))
            .unwrap();
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
