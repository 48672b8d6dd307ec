//! One swarm in 64 bytes: what is known of an info hash, and its first three peers in place.
//!
//! Swarms of more peers, up to [`SCAN`] and IPv4 alone, have one block of exactly their peers beside the record. The
//! rest (large ones, and those with IPv6) have a list per family.

use super::Seed;
use super::entry::{self, EntryTail, PeerEndpoint, PeerEntry, V4, V6};
use super::forward::ForwardFlags;
use super::list::{PeerList, capacity_for};
use super::peers::{Cut, PeerSlice, SCAN, addresses};
use super::pick::PickWish;
use super::sketch::Sketch;
use crate::clock::{Age, Minute};

/// Peers within the record.
const INLINE: usize = 3;

/// What is known of one info hash.
#[derive(Debug)]
pub(super) struct Record {
    body: PeerForm,
    hash: [u8; 20],
    completed: u32,
    /// The minute in which small swarms were last looked through for stale peers.
    checked: u16,
    /// The minute in which this swarm began.
    born: u16,
    /// The minute from which it is to be forwarded again, if it ever was.
    pub(super) due: u16,
    /// What other trackers have to do with it.
    pub(super) flags: ForwardFlags,
}

#[derive(Debug)]
enum PeerForm {
    Inline {
        len: u8,
        seeders: u8,
        peers: [PeerEntry<V4>; INLINE],
    },
    Small {
        len: u8,
        seeders: u8,
        /// Different addresses among seeders and among leechers.
        addresses: [u8; 2],
        peers: Box<[PeerEntry<V4>]>,
    },
    Large(Box<Large>),
}

/// Both families, of any length.
#[derive(Debug, Default)]
pub(super) struct Large {
    v4: PeerList<V4>,
    v6: PeerList<V6>,
    /// Stale peers are looked for in IPv6 now.
    sweeps_v6: bool,
}

impl Large {
    /// Looks through the next part; `true` when it came to the end of both lists.
    fn sweep(&mut self, sweep: &mut Sweep<'_>, seed: &Seed) -> bool {
        if !self.sweeps_v6 {
            if !self.v4.sweep(sweep, seed) {
                return false;
            }
            self.sweeps_v6 = true;
        }
        self.sweeps_v6 = !self.v6.sweep(sweep, seed);
        !self.sweeps_v6
    }
}

/// How many take part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwarmCounts {
    /// Peers that have all of it.
    pub seeders: u32,
    /// Peers that do not.
    pub leechers: u32,
    /// How often somebody finished it.
    pub completed: u32,
}

/// What came of a peer's announce.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// Where it stands now.
    pub(super) position: usize,
    /// It was not here before.
    pub(super) new: bool,
    /// It finished with this announce, and was not known to have finished before.
    pub(super) finished: bool,
    /// What was known of it before, and whether it was a seeder; nothing of a new one.
    pub(super) before: (EntryTail, bool),
}

/// How a peer describes itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerStanding {
    /// It has all of it.
    pub(super) seeder: bool,
    /// It has just finished.
    pub(super) completed: bool,
    /// It wants no more (BEP 21).
    pub(super) paused: bool,
    pub(super) now: Minute,
}

/// How peers are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerCounting {
    /// Each address once, in swarms up to this many peers.
    Address(u32),
    /// Each address and port.
    Endpoint,
}

impl Record {
    pub(super) fn new(hash: [u8; 20], now: Minute) -> Self {
        Self {
            body: PeerForm::EMPTY,
            hash,
            completed: 0,
            checked: now.short(),
            born: now.short(),
            due: 0,
            flags: ForwardFlags::default(),
        }
    }

    #[inline]
    pub(super) fn hash(&self) -> &[u8; 20] {
        &self.hash
    }

    /// Peers of both families.
    pub(super) fn len(&self) -> u32 {
        let (v4, v6) = self.cuts();
        v4.len + v6.len
    }

    #[inline]
    pub(super) fn counts(&self, by: PeerCounting) -> SwarmCounts {
        let (v4, v6) = self.cuts();
        let endpoints = [v4.seeders + v6.seeders, v4.leechers() + v6.leechers()];
        let [seeders, leechers] = match by {
            PeerCounting::Address(most) if v4.len + v6.len <= most => self.addresses(),
            _ => endpoints,
        };
        SwarmCounts {
            seeders,
            leechers,
            completed: self.completed,
        }
    }

    /// Minutes since the swarm began.
    pub(super) fn age(&self, now: Minute) -> u16 {
        now.short().wrapping_sub(self.born)
    }

    /// Where a peer stands in the list of its family, if it is here.
    #[inline]
    pub(super) fn find(&mut self, at: &PeerEndpoint, seed: &Seed) -> Option<usize> {
        let any = Minute::START; // is not looked at
        match (at, &mut self.body) {
            (PeerEndpoint::V4(wire), body) => body.find_v4(&entry::v4(*wire, any), seed),
            (PeerEndpoint::V6(wire), PeerForm::Large(large)) => {
                large.v6.peers(seed).find(&entry::v6(*wire, any))
            }
            (PeerEndpoint::V6(_), _) => None,
        }
    }

    /// Reads where the peers of a small swarm begin and end, so that they are near when they are needed. What it gives means
    /// nothing.
    pub(super) fn look_at_peers(&self) -> u32 {
        match &self.body {
            PeerForm::Small { len, peers, .. } => {
                let taken = &peers[..usize::from(*len)];
                let ends = [taken.first(), taken.last()].into_iter().flatten();
                ends.fold(0, |read, peer| read ^ u32::from(peer.bytes()[0]))
            }
            PeerForm::Inline { len, .. } => (*len).into(),
            PeerForm::Large(large) => large.v4.cut().len,
        }
    }

    /// What is known of the peer that was found there, and whether it is a seeder.
    #[inline]
    pub(super) fn known(&self, at: &PeerEndpoint, position: usize) -> (EntryTail, bool) {
        let (v4, v6) = self.cuts();
        let (tail, cut) = match at {
            PeerEndpoint::V4(_) => (self.slots_v4()[position].entry_tail(), v4),
            PeerEndpoint::V6(_) => (self.slots_v6()[position].entry_tail(), v6),
        };
        (tail, position < cut.seeders as usize)
    }

    /// Stores what a peer said of itself, which was found there or is new.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        at: &PeerEndpoint,
        found: Option<usize>,
        how: PeerStanding,
        seed: &Seed,
    ) -> Arrived {
        if let Some(position) = found {
            let (tail, seeder) = self.known(at, position);
            let same = seeder == how.seeder && tail.is_paused() == how.paused;
            if same && (!how.completed || tail.is_counted()) {
                // Nearly all announces: it is still there, and what it was.
                self.stamp(at, position, how.now);
                return Arrived {
                    position,
                    new: false,
                    finished: false,
                    before: (tail, seeder),
                };
            }
        }
        match at {
            PeerEndpoint::V4(wire) => {
                if found.is_none() {
                    self.make_room_v4(seed);
                }
                let entry = entry::v4(*wire, how.now);
                self.with_v4(seed, |peers| arrive(peers, entry, found, how))
            }
            PeerEndpoint::V6(wire) => {
                let list = &mut self.grow_large(seed).v6;
                if found.is_none() {
                    list.make_room(seed);
                }
                let entry = entry::v6(*wire, how.now);
                list.with(seed, |peers| arrive(peers, entry, found, how))
            }
        }
    }

    /// The peer that was found there announced, and is what it was.
    #[inline]
    fn stamp(&mut self, at: &PeerEndpoint, position: usize, now: Minute) {
        match (at, &mut self.body) {
            (PeerEndpoint::V4(_), PeerForm::Inline { peers, .. }) => peers[position].stamp(now),
            (PeerEndpoint::V4(_), PeerForm::Small { peers, .. }) => peers[position].stamp(now),
            (PeerEndpoint::V4(_), PeerForm::Large(large)) => large.v4.stamp(position, now),
            (PeerEndpoint::V6(_), PeerForm::Large(large)) => large.v6.stamp(position, now),
            (PeerEndpoint::V6(_), _) => {}
        }
    }

    /// Takes out a peer that was found there.
    pub(super) fn leave(&mut self, at: &PeerEndpoint, position: usize, seed: &Seed) {
        match (at, &mut self.body) {
            (PeerEndpoint::V6(_), PeerForm::Large(large)) => {
                large.v6.with(seed, |peers| peers.remove(position));
            }
            _ => self.with_v4(seed, |peers| peers.remove(position)),
        }
        self.shrink(seed);
    }

    /// Gives peers of IPv4.
    #[inline]
    pub(super) fn pick_v4(
        &self,
        wish: &PickWish,
        random: &mut fastrand::Rng,
        out: &mut Vec<u8>,
    ) -> usize {
        wish.pick(self.slots_v4(), self.cuts().0, random, out)
    }

    /// Gives peers of IPv6.
    pub(super) fn pick_v6(
        &self,
        wish: &PickWish,
        random: &mut fastrand::Rng,
        out: &mut Vec<u8>,
    ) -> usize {
        match &self.body {
            PeerForm::Large(large) => wish.pick(large.v6.slots(), large.v6.cut(), random, out),
            _ => 0,
        }
    }

    /// Takes stale peers out of a small swarm or out of the next part of a large one, once a minute.
    #[inline]
    pub(super) fn freshen(&mut self, sweep: &mut Sweep<'_>, seed: &Seed) {
        if self.checked != sweep.now.short() {
            self.checked = sweep.now.short();
            self.sweep(sweep, seed);
        }
    }

    /// Looks through part of the swarm for stale peers; goes on there next time. Says whether it
    /// came to the end.
    pub(super) fn sweep(&mut self, sweep: &mut Sweep<'_>, seed: &Seed) -> bool {
        let before = self.len();
        let done = match &mut self.body {
            PeerForm::Large(large) => large.sweep(sweep, seed),
            _ => self.with_v4(seed, |peers| {
                let all = peers.cut.len as usize;
                peers.expire(0, all, sweep);
                sweep.left = sweep.left.saturating_sub(all.max(1));
                true
            }),
        };
        if self.len() != before {
            self.shrink(seed);
        }
        done
    }

    #[inline]
    pub(super) fn cuts(&self) -> (Cut, Cut) {
        match &self.body {
            PeerForm::Inline { len, seeders, .. } | PeerForm::Small { len, seeders, .. } => {
                let cut = Cut {
                    len: (*len).into(),
                    seeders: (*seeders).into(),
                };
                (cut, Cut::default())
            }
            PeerForm::Large(large) => (large.v4.cut(), large.v6.cut()),
        }
    }

    /// The peers of IPv4, with slots that are not taken behind them.
    #[inline]
    pub(super) fn slots_v4(&self) -> &[PeerEntry<V4>] {
        match &self.body {
            PeerForm::Inline { peers, .. } => peers,
            PeerForm::Small { peers, .. } => peers,
            PeerForm::Large(large) => large.v4.slots(),
        }
    }

    /// The peers of IPv6, likewise.
    pub(super) fn slots_v6(&self) -> &[PeerEntry<V6>] {
        match &self.body {
            PeerForm::Large(large) => large.v6.slots(),
            _ => &[],
        }
    }

    pub(super) fn completed(&self) -> u32 {
        self.completed
    }

    /// Another node knows of so many downloads.
    pub(super) fn hear_downloads(&mut self, downloads: u32) {
        self.completed = self.completed.max(downloads);
    }

    /// One more finished it.
    pub(super) fn count_download(&mut self) {
        self.completed = self.completed.saturating_add(1);
    }

    /// A swarm as it was stored, all of its peers different.
    pub(super) fn restored(
        hash: [u8; 20],
        completed: u32,
        (v4, seeders_v4): (Vec<PeerEntry<V4>>, u32),
        (v6, seeders_v6): (Vec<PeerEntry<V6>>, u32),
        (now, born): (Minute, Minute),
        seed: &Seed,
    ) -> Self {
        let mut record = Self {
            completed,
            born: born.short(),
            ..Self::new(hash, now)
        };
        record.body = PeerForm::Large(Box::new(Large {
            v4: PeerList::of(v4, seeders_v4, seed),
            v6: PeerList::of(v6, seeders_v6, seed),
            sweeps_v6: false,
        }));
        record.shrink(seed);
        record
    }

    /// Runs `act` on the peers of IPv4 and keeps the counts up to date.
    #[inline]
    fn with_v4<R>(&mut self, seed: &Seed, act: impl FnOnce(&mut PeerSlice<'_, V4>) -> R) -> R {
        let (len, seeders, slots, kept) = match &mut self.body {
            PeerForm::Large(large) => return large.v4.with(seed, act),
            PeerForm::Inline {
                len,
                seeders,
                peers,
            } => (len, seeders, &mut peers[..], None),
            PeerForm::Small {
                len,
                seeders,
                addresses,
                peers,
            } => (len, seeders, &mut peers[..], Some(addresses)),
        };
        let before = Cut {
            len: (*len).into(),
            seeders: (*seeders).into(),
        };
        let mut peers = PeerSlice {
            slots,
            cut: before,
            addresses: kept.as_deref().copied(),
            index: None,
            seed,
        };
        let result = act(&mut peers);
        if peers.cut != before {
            *len = peers.cut.len as u8;
            *seeders = peers.cut.seeders as u8;
            if let (Some(kept), Some(addresses)) = (kept, peers.addresses) {
                debug_assert_eq!(addresses, distinct(peers.slots, peers.cut));
                *kept = addresses;
            }
        }
        result
    }

    fn addresses(&self) -> [u32; 2] {
        match &self.body {
            PeerForm::Large(large) => {
                let (v4, v6) = (large.v4.addresses(), large.v6.addresses());
                [0, 1].map(|side| u32::from(v4[side]) + u32::from(v6[side]))
            }
            _ => self.addresses_v4().map(u32::from),
        }
    }

    fn addresses_v4(&self) -> [u8; 2] {
        match &self.body {
            PeerForm::Inline { peers, .. } => distinct(peers, self.cuts().0),
            PeerForm::Small { addresses, .. } => *addresses,
            PeerForm::Large(large) => large.v4.addresses(),
        }
    }

    /// Makes sure that one more peer of IPv4 has a slot.
    fn make_room_v4(&mut self, seed: &Seed) {
        let (cut, _) = self.cuts();
        let len = cut.len as usize;
        if let PeerForm::Large(large) = &mut self.body {
            return large.v4.make_room(seed);
        }
        let slots = self.slots_v4();
        if len < slots.len() {
            return;
        }
        if len >= SCAN {
            self.grow_large(seed).v4.make_room(seed);
            return;
        }
        let mut peers = vec![PeerEntry::EMPTY; capacity_for(len + 1)].into_boxed_slice();
        peers[..len].copy_from_slice(&slots[..len]);
        self.body = small(peers, cut, self.addresses_v4());
    }

    /// Turns the swarm into one of any size.
    fn grow_large(&mut self, seed: &Seed) -> &mut Large {
        if !matches!(self.body, PeerForm::Large(_)) {
            let (cut, _) = self.cuts();
            let peers = self.slots_v4()[..cut.len as usize].to_vec();
            self.body = PeerForm::Large(Box::new(Large {
                v4: PeerList::of(peers, cut.seeders, seed),
                ..Large::default()
            }));
        }
        match &mut self.body {
            PeerForm::Large(large) => large,
            _ => unreachable!("it was made large above"),
        }
    }

    /// Goes back to the smallest form, with some room before it must grow again.
    fn shrink(&mut self, seed: &Seed) {
        let (cut, v6) = self.cuts();
        let len = cut.len as usize;
        if v6.len > 0 || len > SCAN * 3 / 4 {
            if let PeerForm::Large(large) = &mut self.body {
                large.v4.shrink(seed);
                large.v6.shrink(seed);
            }
            return;
        }
        let slots = self.slots_v4();
        let is_large = matches!(self.body, PeerForm::Large(_));
        if len <= INLINE && !matches!(self.body, PeerForm::Inline { .. }) {
            let mut peers = [PeerEntry::EMPTY; INLINE];
            peers[..len].copy_from_slice(&slots[..len]);
            self.body = PeerForm::Inline {
                len: len as u8,
                seeders: cut.seeders as u8,
                peers,
            };
        } else if slots.len() > 2 * capacity_for(len) || is_large {
            let mut peers = vec![PeerEntry::EMPTY; capacity_for(len)].into_boxed_slice();
            peers[..len].copy_from_slice(&slots[..len]);
            self.body = small(peers, cut, self.addresses_v4());
        }
    }
}

impl PeerForm {
    const EMPTY: Self = Self::Inline {
        len: 0,
        seeders: 0,
        peers: [PeerEntry::EMPTY; INLINE],
    };

    fn find_v4(&mut self, entry: &PeerEntry<V4>, seed: &Seed) -> Option<usize> {
        match self {
            Self::Inline { len, peers, .. } => {
                let taken = &peers[..usize::from(*len)];
                taken.iter().position(|peer| peer.is_at(entry))
            }
            Self::Small { len, peers, .. } => {
                let taken = &peers[..usize::from(*len)];
                taken.iter().position(|peer| peer.is_at(entry))
            }
            Self::Large(large) => large.v4.peers(seed).find(entry),
        }
    }
}

/// How far looking for stale peers may go at one time.
#[derive(Debug)]
pub(super) struct Sweep<'a> {
    /// So many peers may still be looked at.
    pub(super) left: usize,
    pub(super) now: Minute,
    pub(super) age: Age,
    /// Who goes is taken out here too.
    pub(super) sketch: &'a Sketch,
}

fn small(peers: Box<[PeerEntry<V4>]>, cut: Cut, addresses: [u8; 2]) -> PeerForm {
    debug_assert_eq!(addresses, distinct(&peers, cut));
    PeerForm::Small {
        len: cut.len as u8,
        seeders: cut.seeders as u8,
        addresses,
        peers,
    }
}

/// Different addresses among seeders and among leechers, of no more than [`SCAN`].
pub(super) fn distinct<const N: usize>(slots: &[PeerEntry<N>], cut: Cut) -> [u8; 2] {
    let (seeders, leechers) = slots[..cut.len as usize].split_at(cut.seeders as usize);
    [addresses(seeders), addresses(leechers)]
}

/// Stores what a peer said of itself.
#[inline]
fn arrive<const N: usize>(
    peers: &mut PeerSlice<'_, N>,
    mut entry: PeerEntry<N>,
    found: Option<usize>,
    how: PeerStanding,
) -> Arrived {
    let Some(position) = found else {
        entry.set_paused(how.paused);
        let finished = how.completed && entry.count();
        let position = peers.insert(entry, how.seeder);
        return Arrived {
            position,
            new: true,
            finished,
            before: (EntryTail::default(), false),
        };
    };
    // Not only of those who lacked something before: Transmission may announce that nothing is left a second before it
    // sends the event. What is repeated counts once.
    let was_seeder = peers.is_seeder(position);
    let kept = &mut peers.slots[position];
    let before = (kept.entry_tail(), was_seeder);
    kept.stamp(how.now);
    kept.set_paused(how.paused);
    let finished = how.completed && kept.count();
    Arrived {
        position: peers.set_seeder(position, how.seeder),
        new: false,
        finished,
        before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_fills_one_line_of_the_cache() {
        assert_eq!(size_of::<Record>(), 64);
    }
}
