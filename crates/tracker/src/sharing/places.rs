//! How far each stream was read and taken in, and the file that notes it beside those of the swarms.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use weir_store::shared::{NodeId, Place, Stream};

use crate::sealed::{self, BadFile};

const KIND: &[u8; 8] = b"weirplc1";

/// Streams that are noted at most; more nodes than anybody has.
const MOST: usize = 4096;

/// Places in streams.
#[derive(Debug, Default)]
pub(crate) struct Places(Mutex<BTreeMap<Stream, Place>>);

impl Places {
    pub(crate) fn new(all: BTreeMap<Stream, Place>) -> Self {
        Self(Mutex::new(all))
    }

    /// What was in a stream up to this place is in the swarms.
    pub(crate) fn set(&self, stream: Stream, place: Place) {
        let mut all = self.0.lock();
        if all.len() < MOST || all.contains_key(&stream) {
            all.insert(stream, place);
        }
    }

    pub(super) fn get(&self, stream: Stream) -> Place {
        self.0.lock().get(&stream).copied().unwrap_or(Place::START)
    }

    /// Forgets streams that nobody reads any more.
    pub(super) fn retain(&self, keep: impl Fn(Stream) -> bool) {
        self.0.lock().retain(|stream, _| keep(*stream));
    }

    /// All of them as a file.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut file = KIND.to_vec();
        for (stream, place) in &*self.0.lock() {
            let (kind, NodeId(node)) = match stream {
                Stream::Swarm(node) => (0, node),
                Stream::Forwarded(node) => (1, node),
            };
            file.push(kind);
            for number in [*node, place.millis, place.number] {
                file.extend_from_slice(&number.to_le_bytes());
            }
        }
        sealed::seal(file)
    }
}

/// What a file notes.
pub(crate) fn read(file: &[u8]) -> Result<BTreeMap<Stream, Place>, BadFile> {
    let mut content = sealed::open(file, KIND)?;
    let mut all = BTreeMap::new();
    while !content.0.is_empty() {
        let mut one = || {
            let [kind] = content.take()?;
            let node = NodeId(u64::from_le_bytes(content.take()?));
            let millis = u64::from_le_bytes(content.take()?);
            let number = u64::from_le_bytes(content.take()?);
            let stream = match kind {
                0 => Stream::Swarm(node),
                1 => Stream::Forwarded(node),
                _ => return None,
            };
            Some((stream, Place { millis, number }))
        };
        let (stream, place) = one().ok_or(BadFile::Content)?;
        all.insert(stream, place);
    }
    Ok(all)
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
        places.retain(|stream| stream != Stream::Swarm(NodeId(4)));
        let mut file = places.write();
        let all = read(&file).unwrap();
        assert_eq!(all.len(), 2);
        let again = Places::new(all);
        assert_eq!(again.get(Stream::Swarm(NodeId(3))), place(8));
        assert_eq!(again.get(Stream::Forwarded(NodeId(3))), place(6));
        assert_eq!(again.get(Stream::Swarm(NodeId(4))), Place::START);
        file[12] ^= 1;
        assert_eq!(read(&file), Err(BadFile::Checksum));
        let odd = sealed::seal([&KIND[..], &[2; 25]].concat());
        assert_eq!(read(&odd), Err(BadFile::Content));
    }
}
