//! How far each stream was read and taken in, in which epoch of the store, and the file that notes it beside those of the swarms.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use weir_store::shared::{Epoch, NodeId, Place, Stream};

use crate::sealed::{self, BadFile};

const KIND: &[u8; 8] = b"weirplc1";

/// What a row is about.
const SWARM: u8 = 0;
const FORWARDED: u8 = 1;
const EPOCH: u8 = 2;

/// Streams that are noted at most; more nodes than anybody has.
const MOST: usize = 4096;

/// Places in streams.
#[derive(Debug, Default)]
pub(crate) struct Places {
    all: Mutex<BTreeMap<Stream, Place>>,
    /// What the store was then; 0 if that is not known.
    epoch: AtomicU64,
}

impl Places {
    /// The epoch in which these are places; none if it is 0.
    pub(super) fn epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::Relaxed))
    }

    pub(super) fn set_epoch(&self, epoch: Epoch) {
        self.epoch.store(epoch.0, Ordering::Relaxed);
    }

    /// What was in a stream up to this place is in the swarms.
    pub(crate) fn set(&self, stream: Stream, place: Place) {
        let mut all = self.all.lock();
        if all.len() < MOST || all.contains_key(&stream) {
            all.insert(stream, place);
        }
    }

    pub(crate) fn get(&self, stream: Stream) -> Place {
        self.all
            .lock()
            .get(&stream)
            .copied()
            .unwrap_or(Place::START)
    }

    /// Forgets streams that nobody reads any more.
    pub(super) fn retain(&self, keep: impl Fn(Stream, Place) -> bool) {
        let mut all = self.all.lock();
        all.retain(|stream, place| keep(*stream, *place));
    }

    /// All of them as a file.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut file = KIND.to_vec();
        let mut note = |kind: u8, numbers: [u64; 3]| {
            file.push(kind);
            for number in numbers {
                file.extend_from_slice(&number.to_le_bytes());
            }
        };
        note(EPOCH, [self.epoch().0, 0, 0]);
        for (stream, place) in &*self.all.lock() {
            let (kind, NodeId(node)) = match stream {
                Stream::Swarm(node) => (SWARM, node),
                Stream::Forwarded(node) => (FORWARDED, node),
            };
            note(kind, [*node, place.millis, place.number]);
        }
        sealed::seal(file)
    }
}

/// What a file notes.
pub(crate) fn read(file: &[u8]) -> Result<Places, BadFile> {
    let mut content = sealed::open(file, KIND)?;
    let places = Places::default();
    while !content.0.is_empty() {
        let mut one = || {
            let [kind] = content.take()?;
            let first = u64::from_le_bytes(content.take()?);
            let millis = u64::from_le_bytes(content.take()?);
            let number = u64::from_le_bytes(content.take()?);
            let place = Place { millis, number };
            match kind {
                SWARM => places.set(Stream::Swarm(NodeId(first)), place),
                FORWARDED => places.set(Stream::Forwarded(NodeId(first)), place),
                EPOCH => places.set_epoch(Epoch(first)),
                _ => return None,
            }
            Some(())
        };
        one().ok_or(BadFile::Content)?;
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_back_and_damage_is_noticed() {
        let places = Places::default();
        let place = |millis| Place { millis, number: 7 };
        places.set(Stream::Swarm(NodeId(3)), place(5));
        places.set(Stream::Forwarded(NodeId(3)), place(6));
        places.set(Stream::Swarm(NodeId(3)), place(8));
        places.set(Stream::Swarm(NodeId(4)), place(9));
        places.retain(|stream, at| stream != Stream::Swarm(NodeId(4)) || at != place(9));
        places.set_epoch(Epoch(77));
        let mut file = places.write();
        let again = read(&file).unwrap();
        assert_eq!(again.epoch(), Epoch(77));
        assert_eq!(again.get(Stream::Swarm(NodeId(3))), place(8));
        assert_eq!(again.get(Stream::Forwarded(NodeId(3))), place(6));
        assert_eq!(again.get(Stream::Swarm(NodeId(4))), Place::START);
        file[12] ^= 1;
        assert_eq!(read(&file).err(), Some(BadFile::Checksum));
        let odd = sealed::seal([&KIND[..], &[3; 25]].concat());
        assert_eq!(read(&odd).err(), Some(BadFile::Content));
    }
}
