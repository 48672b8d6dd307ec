//! Swarms as bytes: what a file of some shards holds, written in slices and read back at start.
//!
//! A file is a head, the swarms one after another, and a checksum over all of it. Times are ages at the minute in the
//! head; the wall clock beside it tells how long nobody ran. Shards are copied a slice at a time, so announces go on
//! meanwhile. Of swarms so large that they take several slices, peers that change places between two of them can be
//! missed or be there twice; reading takes each once, and who was missed is back with its next announce.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::entry::{PeerEntry, V4, V6};
use super::peers::Cut;
use super::record::Record;
use super::shard::Shard;
use super::sketch::Sketch;
use super::{SHARDS, Seed, Swarms};
use crate::clock::FileTime;
use crate::clock::Minute;
use crate::sealed::{self, BadFile, Bytes};

/// Shards are kept in so many files.
pub(crate) const GROUPS: usize = 64;
const SHARDS_IN_GROUP: usize = SHARDS / GROUPS;

/// Bytes copied under one lock.
const SLICE_BYTES: usize = 64 << 10;
/// The same, with what may go beyond it.
pub(super) const SLICE_ROOM: usize = SLICE_BYTES + 4096;
/// Records looked at under one lock.
const SLICE_RECORDS: u32 = 128;

/// In place of the minutes until a swarm is forwarded again: it never was.
const NEVER: u16 = u16::MAX;

const MAGIC: &[u8; 8] = b"weirswm1";

impl Swarms {
    /// The bytes of one group of shards, if anything changed there since this was last asked.
    pub(crate) fn capture(&self, group: usize, now: FileTime) -> Option<Vec<u8>> {
        let shards = &self.shards[group * SHARDS_IN_GROUP..][..SHARDS_IN_GROUP];
        let mut changed = false;
        for shard in shards {
            changed |= std::mem::take(&mut shard.lock().changed);
        }
        if !changed {
            return None;
        }
        let mut file = MAGIC.to_vec();
        file.extend_from_slice(&now.wall.to_le_bytes());
        file.extend_from_slice(&now.minute().0.to_le_bytes());
        for shard in shards {
            let mut place = CopyPlace::default();
            // Room is made before the lock is taken.
            file.reserve(SLICE_ROOM);
            while copy_slice(&shard.lock(), &mut place, now.minute(), &mut file) {
                file.reserve(SLICE_ROOM);
            }
        }
        Some(sealed::seal(file))
    }

    /// What could not be written is to be written again.
    pub(crate) fn not_written(&self, group: usize) {
        self.shards[group * SHARDS_IN_GROUP].lock().changed = true;
    }

    /// Takes in what a file holds, without those who have been silent for too long by now; says how many peers.
    pub(crate) fn restore(&self, file: &[u8], now: FileTime) -> Result<usize, BadFile> {
        let mut content = sealed::open(file, MAGIC)?;
        let head = || {
            let wall = content.take().map(u64::from_le_bytes)?;
            let minute = content.take().map(u32::from_le_bytes)?;
            Some((wall, Minute(minute)))
        };
        let (wall, minute) = { head }().ok_or(BadFile::Content)?;
        let away = Duration::from_secs(now.wall.saturating_sub(wall)).as_secs() / 60;
        let clock = Moved {
            then: minute,
            now: now.minute(),
            away: u32::try_from(away).unwrap_or(u32::MAX),
        };
        let mut peers = 0;
        while !content.0.is_empty() {
            peers += self
                .restore_one(&mut content, clock)
                .ok_or(BadFile::Content)?;
        }
        Ok(peers)
    }

    fn restore_one(&self, content: &mut Bytes<'_>, clock: Moved) -> Option<usize> {
        let hash = content.take::<20>()?;
        let completed = content.take().map(u32::from_le_bytes)?;
        let born = content.take().map(u16::from_le_bytes)?;
        let due = content.take().map(u16::from_le_bytes)?;
        let [v4, seeders_v4, v6, seeders_v6] = [(); 4].map(|()| content.take());
        let v4 = take_peers::<V4>(content, v4?, seeders_v4?)?;
        let v6 = take_peers::<V6>(content, v6?, seeders_v6?)?;
        let mut stored = Stored {
            completed,
            age: clock.away.saturating_add(born.into()),
            due: (due != NEVER).then(|| u32::from(due).saturating_sub(clock.away)),
            v4: self.still_here(v4, clock),
            v6: self.still_here(v6, clock),
        };
        if stored.v4.0.is_empty() && stored.v6.0.is_empty() {
            return Some(0);
        }
        let hashed = self.hash(&hash);
        let mut shard = self.shard(hashed);
        let found = shard.find(hashed, &hash);
        let there = found.and_then(|position| shard.at_mut(position));
        let mut before = (Cut::default(), Cut::default());
        if let Some(there) = &there {
            before = there.cuts();
            stored.take_over(there, clock.now);
            self.each_address(there, Sketch::remove);
        }
        let record = stored.record(hash, clock.now, &self.seed);
        self.census.changed(before, record.cuts());
        self.each_address(&record, Sketch::add);
        let count = record.len() - (before.0.len + before.1.len);
        match there {
            Some(there) => *there = record,
            None => {
                self.census.swarm_came();
                shard.insert(hashed, record, |hash| self.hash(hash));
            }
        }
        shard.changed = true;
        Some(count as usize)
    }

    /// Counts the address of each peer in or out.
    fn each_address(&self, record: &Record, note: impl Fn(&Sketch, &[u8])) {
        let sketch = &self.sketch;
        let (v4, v6) = record.cuts();
        let v4 = record.slots_v4()[..v4.len as usize].iter();
        v4.for_each(|peer| note(sketch, peer.wire()));
        let v6 = record.slots_v6()[..v6.len as usize].iter();
        v6.for_each(|peer| note(sketch, peer.wire()));
    }

    /// Those who are not silent for too long, each once, seeders first, and how many of these there are.
    fn still_here<const N: usize>(
        &self,
        (stored, seeders): (&[[u8; N]], usize),
        clock: Moved,
    ) -> ReadPeers<N> {
        let mut seen = HashSet::new();
        let mut kept = Vec::with_capacity(stored.len());
        let mut kept_seeders = 0;
        for (place, bytes) in stored.iter().enumerate() {
            let mut entry = PeerEntry::from_bytes(*bytes);
            let silent = u32::from(entry.silent_for(clock.then)).saturating_add(clock.away);
            let nobody = entry.wire().ends_with(&[0, 0]);
            if nobody || silent > self.rules.age.0.into() || !seen.insert(entry.place()) {
                continue;
            }
            entry.stamp(clock.now.minus(silent));
            kept.push(entry);
            kept_seeders += u32::from(place < seeders);
        }
        (kept, kept_seeders)
    }
}

/// Peers, seeders first, and how many of these there are.
type ReadPeers<const N: usize> = (Vec<PeerEntry<N>>, u32);

/// A swarm of a file, in our time.
struct Stored {
    completed: u32,
    /// Minutes since it began.
    age: u32,
    /// Minutes until it is forwarded again.
    due: Option<u32>,
    v4: ReadPeers<V4>,
    v6: ReadPeers<V6>,
}

impl Stored {
    /// A swarm is in two files where the key was lost, or another version wrote in between. Nobody of either is lost: of a
    /// peer in both, what was heard last counts.
    fn take_over(&mut self, there: &Record, now: Minute) {
        let (v4, v6) = there.cuts();
        unite(&mut self.v4, (there.slots_v4(), v4), now);
        unite(&mut self.v6, (there.slots_v6(), v6), now);
        self.completed = self.completed.max(there.completed());
        self.age = self.age.max(there.age(now).into());
        let due = there.due_in(now).map(u32::from);
        self.due = [self.due, due].into_iter().flatten().min();
    }

    fn record(self, hash: [u8; 20], now: Minute, seed: &Seed) -> Record {
        let born = now.minus(self.age);
        let (v4, v6) = (self.v4, self.v6);
        let mut record = Record::restored(hash, self.completed, v4, v6, (now, born), seed);
        if let Some(left) = self.due {
            record.restore_due(now.plus(left));
        }
        record
    }
}

/// Adds peers of another list; of one that is in both, the entry heard from last stays.
fn unite<const N: usize>(
    listed: &mut ReadPeers<N>,
    (slots, cut): (&[PeerEntry<N>], Cut),
    now: Minute,
) {
    let here = listed
        .0
        .iter()
        .zip(0..)
        .map(|(peer, at)| (peer, at < listed.1));
    let there = slots[..cut.len as usize].iter().zip(0..);
    let there = there.map(|(peer, at)| (peer, at < cut.seeders));
    let mut all: HashMap<[u8; N], (PeerEntry<N>, bool)> = HashMap::new();
    for (peer, seeder) in here.chain(there) {
        let known = all.entry(peer.place()).or_insert((*peer, seeder));
        if peer.silent_for(now) < known.0.silent_for(now) {
            *known = (*peer, seeder);
        }
    }
    let (seeders, leechers): (Vec<_>, Vec<_>) = all.into_values().partition(|(_, seeder)| *seeder);
    let count = seeders.len() as u32;
    let peers = seeders.into_iter().chain(leechers);
    *listed = (peers.map(|(peer, _)| peer).collect(), count);
}

/// How the time of a file becomes ours.
#[derive(Clone, Copy)]
struct Moved {
    then: Minute,
    now: Minute,
    /// Minutes in which nobody ran.
    away: u32,
}

/// Where copying a shard goes on.
#[derive(Default)]
pub(super) struct CopyPlace {
    record: u32,
    /// Within a large swarm: its hash, and how many bytes of its peers were copied.
    within: Option<Within>,
}

struct Within {
    hash: [u8; 20],
    v4: (usize, usize),
    v6: (usize, usize),
}

/// Copies the next part of a shard; `false` when it is done.
pub(super) fn copy_slice(
    shard: &Shard,
    place: &mut CopyPlace,
    now: Minute,
    file: &mut Vec<u8>,
) -> bool {
    let limit = file.len() + SLICE_BYTES;
    for _ in 0..SLICE_RECORDS {
        if file.len() >= limit {
            return true;
        }
        if place.record >= shard.end() {
            // The whole shard may be gone since its last slice.
            if let Some(within) = place.within.take() {
                fill(&within, file);
            }
            return false;
        }
        let Some(record) = shard.at(place.record) else {
            if let Some(within) = place.within.take() {
                fill(&within, file);
            }
            place.record += 1;
            continue;
        };
        let within = match place.within.take() {
            Some(within) if within.hash == *record.hash() => within,
            stale => {
                // The swarm went while it was copied; what was announced of it in its head must follow all the same.
                if let Some(within) = stale {
                    fill(&within, file);
                    place.record += 1;
                    continue;
                }
                head(record, now, file)
            }
        };
        match copy_peers(record, within, limit, file) {
            Some(more) => place.within = Some(more),
            None => place.record += 1,
        }
    }
    true
}

fn head(record: &Record, now: Minute, file: &mut Vec<u8>) -> Within {
    let (v4, v6) = record.cuts();
    file.extend_from_slice(record.hash());
    file.extend_from_slice(&record.completed().to_le_bytes());
    file.extend_from_slice(&record.age(now).to_le_bytes());
    let due = record.due_in(now).unwrap_or(NEVER);
    file.extend_from_slice(&due.to_le_bytes());
    for count in [v4.len, v4.seeders, v6.len, v6.seeders] {
        file.extend_from_slice(&count.to_le_bytes());
    }
    Within {
        hash: *record.hash(),
        v4: (0, v4.len as usize),
        v6: (0, v6.len as usize),
    }
}

/// Copies peers until `limit`; says what is left.
fn copy_peers(
    record: &Record,
    mut within: Within,
    limit: usize,
    file: &mut Vec<u8>,
) -> Option<Within> {
    let (v4, v6) = record.cuts();
    copy_list(
        &record.slots_v4()[..v4.len as usize],
        &mut within.v4,
        limit,
        file,
    );
    if within.v4.0 == within.v4.1 {
        copy_list(
            &record.slots_v6()[..v6.len as usize],
            &mut within.v6,
            limit,
            file,
        );
    }
    let done = within.v4.0 == within.v4.1 && within.v6.0 == within.v6.1;
    (!done).then_some(within)
}

fn copy_list<const N: usize>(
    peers: &[PeerEntry<N>],
    (done, all): &mut (usize, usize),
    limit: usize,
    file: &mut Vec<u8>,
) {
    let room = limit.saturating_sub(file.len()).div_ceil(N).max(1);
    let until = (*done + room).min(*all);
    for place in *done..until {
        // A list that has become shorter is filled up with peers that reading drops.
        let peer = peers.get(place).or_else(|| peers.first());
        file.extend_from_slice(peer.unwrap_or(&PeerEntry::EMPTY).bytes());
    }
    *done = until;
}

/// Ends a swarm that is gone: its head said how many peers follow.
fn fill(within: &Within, file: &mut Vec<u8>) {
    let bytes = (within.v4.1 - within.v4.0) * V4 + (within.v6.1 - within.v6.0) * V6;
    file.resize(file.len() + bytes, 0);
}

/// The next peers of a file, and how many of them are seeders.
fn take_peers<'a, const N: usize>(
    content: &mut Bytes<'a>,
    count: [u8; 4],
    seeders: [u8; 4],
) -> Option<(&'a [[u8; N]], usize)> {
    let count = u32::from_le_bytes(count) as usize;
    let taken = content.some(count.checked_mul(N)?)?;
    let seeders = u32::from_le_bytes(seeders) as usize;
    (seeders <= count).then_some((taken.as_chunks().0, seeders))
}
