//! The programs of clients as small numbers, which jobs and their records carry.
//!
//! Clients write their ids themselves, so there is room for so many programs, and for fewer that nobody knows: whoever
//! makes up names takes no place from a real one.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use weir_engine::dispatch::Asker;
use weir_tracker_proto::PeerId;

/// Names that have a number, and those of them that are not known. The engine has room for somewhat more.
const NAMES: usize = 4000;
const UNKNOWN: usize = 1024;
/// Beginnings of ids, so that no name is put together for a program that was heard from before.
const IDS: usize = 4096;

/// All programs that were heard from.
#[derive(Debug, Default)]
pub(crate) struct Programs(Mutex<Interned>);

#[derive(Debug, Default)]
struct Interned {
    by_name: HashMap<Arc<str>, Asker>,
    /// By `-qB4650-`, which says it all.
    by_id: HashMap<[u8; 8], Asker>,
    unknown: usize,
}

impl Programs {
    /// The number of a peer's program; the default one, which stands for nobody in particular, if its id says nothing or
    /// there are too many.
    /// `number` gives a name its number in the records.
    pub(crate) fn asker(&self, id: &PeerId, number: impl FnOnce(&str) -> Asker) -> Asker {
        let mut interned = self.0.lock();
        let key = id.0.first_chunk::<8>().filter(|key| {
            let [first, .., last] = **key;
            [first, last] == *b"--"
        });
        if let Some(asker) = key.and_then(|key| interned.by_id.get(key)) {
            return *asker;
        }
        let asker = interned.name(id, number);
        if let Some(key) = key
            && interned.by_id.len() < IDS
        {
            interned.by_id.insert(*key, asker);
        }
        asker
    }
}

impl Interned {
    fn name(&mut self, id: &PeerId, number: impl FnOnce(&str) -> Asker) -> Asker {
        let known = id.known_program();
        let is_known = known.is_some();
        let Some(name) = known.or_else(|| id.program()) else {
            return Asker::default();
        };
        if let Some(asker) = self.by_name.get(&*name) {
            return *asker;
        }
        let full = self.by_name.len() >= NAMES || !is_known && self.unknown >= UNKNOWN;
        if full {
            return Asker::default();
        }
        self.unknown += usize::from(!is_known);
        let asker = number(&name);
        self.by_name.insert(name.into(), asker);
        asker
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> PeerId {
        let mut id = [b'x'; 20];
        id[..text.len()].copy_from_slice(text.as_bytes());
        PeerId(id)
    }

    /// The name that a peer's program is given, and its number, which is the length of that.
    fn numbered(programs: &Programs, text: &str) -> (Option<String>, Asker) {
        let mut given = None;
        let asker = programs.asker(&id(text), |name| {
            given = Some(name.to_owned());
            Asker(u32::try_from(name.len()).expect("it is short"))
        });
        (given, asker)
    }

    fn name(programs: &Programs, text: &str) -> Option<String> {
        numbered(programs, text).0
    }

    #[test]
    fn a_program_is_named_once() {
        let programs = Programs::default();
        let (first, number) = numbered(&programs, "-qB4650-abc");
        assert_eq!(first.as_deref(), Some("qBittorrent 4.6.5"));
        assert_eq!(numbered(&programs, "-qB4650-xyz"), (None, number));
        for (id, expected) in [
            ("-qB4640-abc", "qBittorrent 4.6.4"),
            ("A2-1-36-0-", "aria2 1.36.0"),
            ("A2-1-37-0-", "aria2 1.37.0"),
        ] {
            assert_eq!(name(&programs, id).as_deref(), Some(expected));
        }
        let nobody = programs.asker(&PeerId([0xff; 20]), |_| Asker(7));
        assert_eq!(nobody, Asker::NOBODY);
    }

    #[test]
    fn made_up_names_take_no_place_from_real_ones() {
        let programs = Programs::default();
        for number in 0..20_000 {
            name(&programs, &format!("-{number:06}-"));
            name(&programs, &format!("{number:08}"));
        }
        assert_eq!(name(&programs, "-999999-"), None, "too many");
        assert_eq!(
            name(&programs, "-TR4060-").as_deref(),
            Some("Transmission 4.0.6")
        );
        let interned = programs.0.lock();
        assert_eq!(interned.by_name.len(), UNKNOWN + 1);
        assert!(interned.by_id.len() <= IDS);
    }
}
