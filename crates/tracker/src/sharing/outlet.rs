//! Where listener threads leave what others are to hear of: bounded buffers that a task empties five times a second.
//!
//! They are chosen by the shard of a swarm and written under its lock, so that what happened to one peer stays in its
//! order. A buffer is locked for as long as it takes to copy some forty bytes, or to exchange it for an empty one: nobody
//! waits there. A full one drops what comes, and counts it.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use weir_net::is_private;
use weir_tracker_proto::InfoHash;
use weir_tracker_proto::nodes::{CompactPeer, LONGEST_EVENT, PeerDid, PeerEvent};

use crate::clock::{Age, Minute};
use crate::swarm::PeerEndpoint;

/// As many buffers as no number of listener threads makes crowded.
const BUFFERS: usize = 64;
/// Bytes of one buffer. All together hold what a hundred thousand peers do within a fifth of a second.
pub(super) const BUFFER: usize = 60 << 10;

/// An emptied buffer keeps room for so many times as much as was in it, and for a few events at least.
const KEPT: usize = 4;
const KEPT_AT_LEAST: usize = 1 << 10;

/// What is on its way to the other nodes.
#[derive(Debug)]
pub(crate) struct Outlet {
    buffers: Box<[Mutex<Buffer>]>,
    /// Minutes of a third of the age: a peer that says so again is told of in each third once.
    third: u32,
    /// Whether private addresses are told.
    private: bool,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Buffer {
    bytes: Vec<u8>,
    events: u32,
}

/// Events that were taken out, without the head of their batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TakenEvents {
    pub(crate) bytes: Vec<u8>,
    pub(crate) events: u32,
}

/// What a peer is like after it announced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToldPeerState {
    pub(crate) did: PeerDid,
    pub(crate) seeder: bool,
    pub(crate) paused: bool,
    pub(crate) counted: bool,
    /// Downloads of the whole swarm.
    pub(crate) downloads: u32,
}

impl Outlet {
    pub(crate) fn new(age: Age, private: bool) -> Self {
        Self {
            buffers: (0..BUFFERS).map(|_| Mutex::default()).collect(),
            third: (u32::from(age.0) / 3).max(1),
            private,
            dropped: AtomicU64::new(0),
        }
    }

    /// Whether the others are told of a peer that announced so many minutes ago and does again.
    #[inline]
    pub(crate) fn is_new_third(&self, silent: u16, now: Minute) -> bool {
        silent > 0 && now.minus(silent.into()).0 / self.third != now.0 / self.third
    }

    /// Whether addresses of this kind are told and believed.
    pub(crate) fn may_tell(&self, at: &PeerEndpoint) -> bool {
        self.private || !is_private(at.address())
    }

    /// Leaves what happened to a peer of a shard that is locked.
    #[inline(never)]
    pub(crate) fn note(
        &self,
        shard: usize,
        hash: &[u8; 20],
        at: &PeerEndpoint,
        peer: ToldPeerState,
    ) {
        if !self.may_tell(at) {
            return;
        }
        let event = PeerEvent {
            hash: InfoHash(*hash),
            at: compact(at),
            did: peer.did,
            seeder: peer.seeder,
            paused: peer.paused,
            counted: peer.counted,
            downloads: peer.downloads,
            silent: 0,
        };
        let mut buffer = self.buffers[shard % BUFFERS].lock();
        if buffer.bytes.len() + LONGEST_EVENT > BUFFER {
            drop(buffer);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        event.write(&mut buffer.bytes);
        buffer.events += 1;
    }

    /// Takes everything out, in parts of no more than a buffer's length.
    pub(crate) fn take(&self, mut part: impl FnMut(TakenEvents)) {
        let mut taken = TakenEvents::default();
        // What was emptied takes the place of the next one: room that has been written to lately is near, and there is enough of it.
        let mut buffer = Buffer::default();
        for place in &self.buffers {
            let used = buffer.bytes.len();
            buffer.bytes.clear();
            buffer.bytes.shrink_to((KEPT * used).max(KEPT_AT_LEAST));
            buffer.events = 0;
            std::mem::swap(&mut *place.lock(), &mut buffer);
            if taken.bytes.len() + buffer.bytes.len() > BUFFER {
                part(std::mem::take(&mut taken));
            }
            taken.bytes.extend_from_slice(&buffer.bytes);
            taken.events += buffer.events;
        }
        if taken.events > 0 {
            part(taken);
        }
    }

    /// Others were to hear of so many, and do not.
    pub(crate) fn drop_events(&self, events: u32) {
        self.dropped.fetch_add(events.into(), Ordering::Relaxed);
    }

    /// How many events others never heard of.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// An endpoint as nodes tell it.
pub(crate) fn compact(at: &PeerEndpoint) -> CompactPeer {
    match at {
        PeerEndpoint::V4(wire) => CompactPeer::V4(*wire),
        PeerEndpoint::V6(wire) => CompactPeer::V6(*wire),
    }
}

/// An endpoint that a node told; `None` if nobody can be reached there.
pub(crate) fn endpoint(told: &CompactPeer) -> Option<PeerEndpoint> {
    let at = match told {
        CompactPeer::V4(wire) => PeerEndpoint::V4(*wire),
        CompactPeer::V6(wire) => PeerEndpoint::V6(*wire),
    };
    (at.socket().port() != 0).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: ToldPeerState = ToldPeerState {
        did: PeerDid::IsHere,
        seeder: false,
        paused: false,
        counted: false,
        downloads: 0,
    };

    #[test]
    fn a_full_buffer_drops_and_counts_and_is_whole_again_when_it_was_emptied() {
        let outlet = Outlet::new(Age(180), false);
        let at = PeerEndpoint::V4([8, 8, 8, 8, 0, 1]);
        let fits = (BUFFER - LONGEST_EVENT) / 27 + 1;
        for _ in 0..fits + 7 {
            outlet.note(3, &[1; 20], &at, HERE);
        }
        outlet.note(4, &[1; 20], &at, HERE);
        assert_eq!(outlet.dropped(), 7);
        let mut parts = Vec::new();
        outlet.take(|part| parts.push(part));
        let events: u32 = parts.iter().map(|part| part.events).sum();
        assert_eq!(events as usize, fits + 1);
        assert!(parts.iter().all(|part| part.bytes.len() <= BUFFER));
        outlet.note(3, &[1; 20], &at, HERE);
        let mut again = 0;
        outlet.take(|part| again += part.events);
        assert_eq!((again, outlet.dropped()), (1, 7));
    }

    /// Emptied buffers take each other's places.
    #[test]
    fn room_is_kept_for_what_comes_next_and_given_back_when_less_comes() {
        let outlet = Outlet::new(Age(180), false);
        let at = PeerEndpoint::V4([8, 8, 8, 8, 0, 1]);
        let turn = |events: usize| {
            for shard in 0..BUFFERS {
                (0..events).for_each(|_| outlet.note(shard, &[1; 20], &at, HERE));
            }
            let mut taken = 0;
            outlet.take(|part| taken += part.events as usize);
            assert_eq!(taken, events * BUFFERS);
            let room = outlet.buffers.iter().map(|one| one.lock().bytes.capacity());
            room.sum::<usize>()
        };
        let busy = turn(1000);
        assert!(busy >= 1000 * 27 * (BUFFERS - 1), "{busy}");
        let calm = [(); 4].map(|()| turn(10))[3];
        assert!(calm <= KEPT * 10 * 27 * BUFFERS, "{calm}");
        let silent = [(); 4].map(|()| turn(0))[3];
        assert!(silent <= KEPT_AT_LEAST * BUFFERS, "{silent}");
    }

    #[test]
    fn private_addresses_stay_unless_they_are_to_be_told() {
        let private = [
            PeerEndpoint::new([10, 0, 0, 1].into(), 1),
            PeerEndpoint::new([192, 168, 1, 1].into(), 1),
            PeerEndpoint::new([172, 31, 1, 1].into(), 1),
            PeerEndpoint::new([127, 0, 0, 1].into(), 1),
            PeerEndpoint::new([169, 254, 1, 1].into(), 1),
            PeerEndpoint::new("fc00::1".parse().unwrap(), 1),
            PeerEndpoint::new("fe80::1".parse().unwrap(), 1),
            PeerEndpoint::new("::1".parse().unwrap(), 1),
        ];
        for told in [false, true] {
            let outlet = Outlet::new(Age(180), told);
            for at in private {
                outlet.note(0, &[1; 20], &at, HERE);
            }
            let mut events = 0;
            outlet.take(|part| events += part.events);
            assert_eq!(events, if told { 8 } else { 0 });
        }
    }

    #[test]
    fn a_peer_is_told_of_once_in_each_third_of_its_age() {
        let outlet = Outlet::new(Age(180), false);
        let now = Minute(60 * 300 + 5);
        assert!(!outlet.is_new_third(0, now));
        assert!(!outlet.is_new_third(5, now));
        assert!(outlet.is_new_third(6, now));
        assert!(outlet.is_new_third(30, now));
        assert!(!Outlet::new(Age(1), false).is_new_third(0, now));
        assert!(Outlet::new(Age(1), false).is_new_third(1, now));
    }
}
