//! All swarms: who announced which info hash, from where, and when.
//!
//! Both listeners write here from their own threads, through [`Swarms::announce`] and
//! [`Swarms::local`]. Swarms are spread over shards with a plain lock each, held for less than a
//! microsecond by an announce and for a bounded slice by everything else.

mod again;
mod browse;
mod census;
mod counts;
mod entry;
mod forward;
mod hear;
mod index;
mod list;
mod peers;
mod pick;
mod record;
pub(crate) mod seed;
mod shard;
mod sketch;
pub(crate) mod snapshot;

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use weir_tracker_proto::nodes::PeerDid;

use self::census::Census;
use self::pick::PickWish;
use self::record::{Arrived, PeerStanding, Record, Sweep};
pub(crate) use self::seed::Seed;
use self::shard::Shard;
use self::sketch::Sketch;
use crate::sharing::{Outlet, ToldPeerState};

pub(crate) use self::again::ToldUpTo;
pub use self::browse::{Close, Peer, SeenSwarm, Walk};
pub use self::census::Totals;
pub use self::counts::{LocalPeers, OtherPeers};
pub use self::entry::PeerEndpoint;
pub use self::forward::{Forward, ForwardFlags, Mirrored};
pub(crate) use self::hear::{TOGETHER, ToldHere, ToldPeer};
pub use self::record::{PeerCounting, SwarmCounts};
pub use crate::clock::{Age, Minute};

/// Swarms are spread over so many shards: with a lock for each, listener threads hardly ever meet.
pub const SHARDS: usize = 1024;

/// Above half of a total cap, an address that has this fraction of the places left, or more, adds nothing. It is for who
/// comes late: one that filled the first half alone is far above, and who has a few peers far below until the very end.
/// Tens of thousands of peers behind one address (a NAT, a proxy that does not tell) still fit with the default caps.
const SHARE: u32 = 32;

/// Peers that are looked at under one lock, when nobody waits for the answer: an announce that comes meanwhile waits no
/// longer than that takes.
const SLICE: usize = 64;

/// The swarms of all info hashes. Shared by all threads; every function takes the lock of one shard at a
/// time, but `hear`, which has several and waits for none while it has one.
pub struct Swarms {
    shards: Box<[Mutex<Shard>]>,
    seed: Seed,
    rules: SwarmRules,
    census: Census,
    sketch: Sketch,
    /// Where changes are left for the other nodes, if there are any.
    outlet: Option<Arc<Outlet>>,
}

/// What swarms may hold, and how they count.
#[derive(Clone, Copy, Debug)]
pub struct SwarmRules {
    /// A peer that is silent for longer is forgotten.
    pub age: Age,
    /// How peers are counted.
    pub count_by: PeerCounting,
    /// Swarms at most; above half of them one address begins no more than its share of the rest.
    pub max_swarms: u32,
    /// Peers at most, in all swarms; above half of them one address adds no more than its share of the rest.
    pub max_peers: u32,
    /// Peers of one address at most (of one /64 in IPv6).
    pub max_peers_per_ip: Option<u32>,
    /// Announces are sent on to other trackers.
    pub forwards: bool,
}

/// One announce, as swarms see it.
#[derive(Clone, Copy, Debug)]
pub struct SwarmAnnounce {
    /// Which swarm.
    pub hash: [u8; 20],
    /// Where the peer is reached.
    pub at: PeerEndpoint,
    /// Where it is reached in the other family, if it said so and is believed.
    pub also: Option<PeerEndpoint>,
    /// What it is doing there.
    pub doing: Doing,
    /// What it wants to know.
    pub want: Want,
}

/// What a peer does in a swarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It leaves.
    Leaves,
    /// It takes part.
    TakesPart {
        /// It has all of it.
        seeder: bool,
        /// It has just finished.
        completed: bool,
        /// It wants no more of what it lacks (BEP 21).
        paused: bool,
    },
}

/// Which peers a client can use, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Those of IPv4.
    V4(usize),
    /// Those of IPv6.
    V6(usize),
    /// Those of its family, and of the other if there are too few.
    OwnFirst(usize),
    /// As many of one family as of the other.
    Both(usize),
}

/// What is known of a swarm after an announce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfterAnnounce {
    /// Who takes part.
    pub counts: SwarmCounts,
    /// The peer was not here before.
    pub new: bool,
    /// Whether the announce is to be sent on.
    pub forward: Forward,
    /// What other trackers have to do with the swarm.
    pub flags: ForwardFlags,
    /// Minutes since the swarm began.
    pub age: u16,
    /// Nobody takes part any more.
    pub last: bool,
    /// The peer took part until now.
    pub left: bool,
}

/// What is asked about an announce while its swarm is locked. The answer must not wait for anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// The peer finished, for the first time as far as is known: does its address have an event left to tell others?
    Completed,
    /// The swarm was never forwarded: is it from now on?
    Forward,
}

/// Why a new peer was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// There are as many swarms or peers as there may be.
    Tracker,
    /// Its address has as many peers as it may have, by its own limit or as a share of the places that are left.
    Address,
}

impl Swarms {
    /// No swarms yet. `key` is secret; with the same one, swarms are in the same shards.
    pub fn new(rules: SwarmRules, key: [u8; seed::KEY]) -> Self {
        let seed = Seed::new(key);
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            sketch: match rules.max_peers_per_ip {
                Some(_) => Sketch::fine(seed.clone(), rules.max_peers),
                None => Sketch::coarse(seed.clone()),
            },
            seed,
            rules,
            census: Census::default(),
            outlet: None,
        }
    }

    /// The same swarms, with what changes there told to other nodes.
    pub(crate) fn shared(mut self, outlet: Option<Arc<Outlet>>) -> Self {
        self.outlet = outlet;
        self
    }

    /// The keyed hash of what clients send.
    pub(crate) fn seed(&self) -> &Seed {
        &self.seed
    }

    /// How many swarms and peers there are.
    pub fn totals(&self) -> Totals {
        self.census.totals()
    }

    /// Takes note of an announce and appends peers in their wire form to `out`, IPv4 and IPv6. What follows from it is
    /// asked of `may`, under the lock of the swarm.
    ///
    /// # Errors
    /// When a new peer finds no room; nothing has changed then.
    #[inline]
    pub fn announce(
        &self,
        arrival: &SwarmAnnounce,
        (now, may): (Minute, impl FnMut(Consent) -> bool),
        random: &mut fastrand::Rng,
        out: [&mut Vec<u8>; 2],
    ) -> Result<AfterAnnounce, Full> {
        let hashed = self.hash(&arrival.hash);
        let mut shard = self.shard(hashed);
        match arrival.doing {
            Doing::Leaves => Ok(self.leave(&mut shard, hashed, arrival)),
            Doing::TakesPart {
                seeder,
                completed,
                paused,
            } => {
                let how = PeerStanding {
                    seeder,
                    completed,
                    paused,
                    now,
                };
                self.arrive(&mut shard, hashed, arrival, (how, may), random, out)
            }
        }
    }

    /// The first announce of a swarm did not go on after all: the next is the first.
    pub fn not_forwarded(&self, hash: &[u8; 20]) {
        self.at(hash, |record, changed| {
            record.not_forwarded();
            *changed = true;
        });
    }

    /// Takes over what the ledger of other trackers says of a swarm, if there is one.
    pub fn mirror(&self, hash: &[u8; 20], mirrored: Mirrored, now: Minute) {
        self.at(hash, |record, changed| {
            *changed |= record.mirror(mirrored, now);
        });
    }

    /// What other trackers have to do with a swarm.
    pub fn flags(&self, hash: &[u8; 20]) -> ForwardFlags {
        let flags = self.at(hash, |record, _| record.flags());
        flags.unwrap_or_default()
    }

    /// Whether a peer takes part in a swarm.
    pub fn has_peer(&self, hash: &[u8; 20], at: &PeerEndpoint) -> bool {
        let found = self.at(hash, |record, _| record.find(at, &self.seed));
        found.flatten().is_some()
    }

    /// Looks at the record of a swarm, or changes it, under the lock of its shard; the flag says that the shard is to be
    /// written again. `None` if there is no such swarm.
    fn at<R>(&self, hash: &[u8; 20], act: impl FnOnce(&mut Record, &mut bool) -> R) -> Option<R> {
        let hashed = self.hash(hash);
        let mut shard = self.shard(hashed);
        let found = shard.find(hashed, hash)?;
        let mut changed = false;
        let result = act(shard.at_mut(found)?, &mut changed);
        shard.changed |= changed;
        Some(result)
    }

    /// Looks through one shard for peers that are silent for too long, a slice under each lock.
    pub fn sweep(&self, shard: usize, now: Minute) {
        while !self.sweep_slice(&mut self.shards[shard].lock(), now) {}
    }

    #[inline]
    fn arrive(
        &self,
        shard: &mut Shard,
        hashed: u64,
        arrival: &SwarmAnnounce,
        (how, mut may): (PeerStanding, impl FnMut(Consent) -> bool),
        random: &mut fastrand::Rng,
        out: [&mut Vec<u8>; 2],
    ) -> Result<AfterAnnounce, Full> {
        let found = shard.find(hashed, &arrival.hash);
        self.admit(shard, found, &arrival.at)?;
        // Its other address has no place of its own right.
        let also = arrival.also;
        let also = also.filter(|also| self.admit(shard, found, also).is_ok());
        let position = found.unwrap_or_else(|| {
            self.census.swarm_came();
            let record = Record::new(arrival.hash, how.now);
            shard.insert(hashed, record, |hash| self.hash(hash))
        });
        shard.changed = true;
        let record = shard.at_mut(position).expect("it was found or put in");
        let before = record.cuts();
        record.freshen(&mut self.sweeping(SLICE, how.now), &self.seed);
        let take_in = |record: &mut Record, at: &PeerEndpoint, how| {
            let found = record.find(at, &self.seed);
            self.take_in(record, (at, found), how)
        };
        let arrived = take_in(record, &arrival.at, how);
        // One client, so one download.
        let again = PeerStanding {
            completed: false,
            ..how
        };
        let second = also.map(|also| take_in(record, &also, again));
        let places = [Some(arrived.position), second.map(|second| second.position)];
        // Who comes, completes and goes in turn is no longer known here each time: it counts as often as others hear of it.
        let counts = arrived.finished && (may(Consent::Completed) || !arrived.new);
        if counts {
            record.count_download();
        }
        if let Some(outlet) = &self.outlet {
            let shard = shard_of(hashed);
            tell(outlet, shard, record, (&arrival.at, &arrived), how, counts);
            if let (Some(also), Some(second)) = (&also, &second) {
                tell(outlet, shard, record, (also, second), again, false);
            }
        }
        self.census.changed(before, record.cuts());
        self.give(record, arrival, how, places, random, out);
        Ok(AfterAnnounce {
            counts: record.counts(self.rules.count_by),
            new: arrived.new,
            forward: match self.rules.forwards {
                true => record.forward(how.now, || may(Consent::Forward)),
                false => Forward::NotDue,
            },
            flags: record.flags(),
            age: record.age(how.now),
            last: false,
            left: false,
        })
    }

    /// Whether there is room, should the peer be new. Who is here already may stay. Below half of the caps nobody is counted.
    #[inline]
    fn admit(&self, shard: &mut Shard, found: Option<u32>, at: &PeerEndpoint) -> Result<(), Full> {
        let half_full = self.census.peers() >= self.rules.max_peers / 2
            || found.is_none() && self.census.swarms() >= self.rules.max_swarms / 2;
        if half_full || self.rules.max_peers_per_ip.is_some() {
            return self.admit_if_few(shard, found, at);
        }
        Ok(())
    }

    #[inline(never)]
    fn admit_if_few(
        &self,
        shard: &mut Shard,
        found: Option<u32>,
        at: &PeerEndpoint,
    ) -> Result<(), Full> {
        let record = found.and_then(|position| shard.at_mut(position));
        if record.is_some_and(|record| record.find(at, &self.seed).is_some()) {
            return Ok(());
        }
        let peers = self.census.peers();
        // An address is in no more swarms than it has peers, so these are counted for both.
        let swarms = (self.census.swarms(), self.rules.max_swarms);
        let caps = [
            Some((peers, self.rules.max_peers)),
            found.is_none().then_some(swarms),
        ];
        let mut most = self.rules.max_peers_per_ip.unwrap_or(u32::MAX);
        for (taken, all) in caps.into_iter().flatten() {
            if taken >= all {
                return Err(Full::Tracker);
            }
            if taken >= all / 2 {
                most = most.min(((all - taken) / SHARE).max(self.sketch.doubt(peers)));
            }
        }
        if self.sketch.count(at) >= most {
            return Err(Full::Address);
        }
        Ok(())
    }

    #[inline]
    fn take_in(
        &self,
        record: &mut Record,
        (at, found): (&PeerEndpoint, Option<usize>),
        how: PeerStanding,
    ) -> Arrived {
        let arrived = record.arrive(at, found, how, &self.seed);
        if arrived.new {
            self.sketch.add(at.wire());
        }
        arrived
    }

    /// Takes a peer out that was found there.
    fn take_out(&self, record: &mut Record, at: &PeerEndpoint, position: usize) {
        record.leave(at, position, &self.seed);
        self.sketch.remove(at.wire());
    }

    #[inline]
    fn give(
        &self,
        record: &Record,
        arrival: &SwarmAnnounce,
        how: PeerStanding,
        [own, other]: [Option<usize>; 2],
        random: &mut fastrand::Rng,
        [v4, v6]: [&mut Vec<u8>; 2],
    ) {
        let is_v4 = matches!(arrival.at, PeerEndpoint::V4(_));
        let others = || {
            let (cut_v4, cut_v6) = record.cuts();
            if is_v4 { cut_v6.len } else { cut_v4.len }
        };
        let mut pick = |of_v4: bool, number: usize| {
            let wish = PickWish {
                number,
                asker: if of_v4 == is_v4 { own } else { other },
                seeds: how.seeder || how.paused,
                now: how.now,
                age: self.rules.age,
            };
            if of_v4 {
                record.pick_v4(&wish, random, v4)
            } else {
                record.pick_v6(&wish, random, v6)
            }
        };
        match arrival.want {
            Want::V4(number) => {
                pick(true, number);
            }
            Want::V6(number) => {
                pick(false, number);
            }
            Want::OwnFirst(number) => {
                let given = pick(is_v4, number);
                if others() > 0 {
                    pick(!is_v4, number - given);
                }
            }
            Want::Both(number) => {
                let own = number
                    .div_ceil(2)
                    .max(number.saturating_sub(others() as usize));
                let given = pick(is_v4, own);
                pick(!is_v4, number - given);
            }
        }
    }

    fn leave(&self, shard: &mut Shard, hashed: u64, arrival: &SwarmAnnounce) -> AfterAnnounce {
        let nobody = AfterAnnounce {
            counts: SwarmCounts::default(),
            new: false,
            forward: Forward::NotDue,
            flags: ForwardFlags::default(),
            age: 0,
            last: false,
            left: false,
        };
        let leaves = [Some(arrival.at), arrival.also].into_iter().flatten();
        // Also of a peer that is not known here: it may have come to another node that could not tell of it yet.
        let tell = |at: &PeerEndpoint, downloads| {
            if let Some(outlet) = &self.outlet {
                let peer = ToldPeerState {
                    did: PeerDid::Left,
                    seeder: false,
                    paused: false,
                    counted: false,
                    downloads,
                };
                outlet.note(shard_of(hashed), &arrival.hash, at, peer);
            }
        };
        let Some(position) = shard.find(hashed, &arrival.hash) else {
            leaves.for_each(|at| tell(&at, 0));
            return nobody;
        };
        shard.changed = true;
        let Some(record) = shard.at_mut(position) else {
            return nobody;
        };
        let (before, mut any) = (record.cuts(), false);
        for at in leaves {
            if let Some(found) = record.find(&at, &self.seed) {
                any = true;
                self.take_out(record, &at, found);
            }
            tell(&at, record.completed());
        }
        self.census.changed(before, record.cuts());
        let known = AfterAnnounce {
            counts: record.counts(self.rules.count_by),
            flags: record.flags(),
            last: record.len() == 0,
            left: any,
            ..nobody
        };
        if known.last {
            shard.remove(hashed, position);
            self.census.swarm_went();
        }
        known
    }

    /// Looks through the next slice of a shard; `true` at its end.
    fn sweep_slice(&self, shard: &mut Shard, now: Minute) -> bool {
        let mut sweep = self.sweeping(SLICE, now);
        while sweep.left > 0 {
            if shard.swept >= shard.end() {
                shard.swept = 0;
                return true;
            }
            let position = shard.swept;
            let Some(record) = shard.at_mut(position) else {
                sweep.left -= 1;
                shard.swept += 1;
                continue;
            };
            let before = record.cuts();
            let done = record.sweep(&mut sweep, &self.seed);
            let after = record.cuts();
            let hash = *record.hash();
            let empty = record.len() == 0;
            shard.changed |= before != after;
            self.census.changed(before, after);
            if empty {
                shard.remove(self.hash(&hash), position);
                self.census.swarm_went();
            }
            if done {
                shard.swept += 1;
            }
        }
        false
    }

    fn sweeping(&self, left: usize, now: Minute) -> Sweep<'_> {
        Sweep {
            left,
            now,
            age: self.rules.age,
            sketch: &self.sketch,
        }
    }

    #[inline]
    fn hash(&self, hash: &[u8; 20]) -> u64 {
        self.seed.hash(hash)
    }

    #[inline]
    fn shard(&self, hashed: u64) -> MutexGuard<'_, Shard> {
        self.shards[shard_of(hashed)].lock()
    }
}

/// Tells other nodes of a peer that announced here, if it is new, is not what it was, or was last told of in another third
/// of its age.
#[inline]
fn tell(
    outlet: &Outlet,
    shard: usize,
    record: &Record,
    (at, arrived): (&PeerEndpoint, &Arrived),
    how: PeerStanding,
    counts: bool,
) {
    let (before, was_seeder) = arrived.before;
    let is_news = arrived.new
        || counts
        || was_seeder != how.seeder
        || before.is_paused() != how.paused
        || outlet.is_new_third(before.silent_for(how.now), how.now);
    if is_news {
        let peer = ToldPeerState {
            did: match counts {
                true => PeerDid::Completed,
                false => PeerDid::IsHere,
            },
            seeder: how.seeder,
            paused: how.paused,
            counted: arrived.finished || before.is_counted(),
            downloads: record.completed(),
        };
        outlet.note(shard, record.hash(), at, peer);
    }
}

/// The shard of a hash, by bits that the tables within do not look at first.
#[inline]
pub(crate) fn shard_of(hashed: u64) -> usize {
    (hashed >> 40) as usize % SHARDS
}

/// How long locks are held, for the bench of pauses.
#[cfg(feature = "bench")]
impl Swarms {
    /// Sweeps everything and copies everything, and notes how long each lock was held for it.
    #[expect(clippy::disallowed_methods, reason = "it measures")]
    pub fn time_locks(&self, now: Minute, mut note: impl FnMut(&'static str, std::time::Duration)) {
        for shard in &self.shards {
            loop {
                let mut shard = shard.lock();
                let began = std::time::Instant::now();
                let done = self.sweep_slice(&mut shard, now);
                note("sweep", began.elapsed());
                if done {
                    break;
                }
            }
            let (mut place, mut file) = (snapshot::CopyPlace::default(), Vec::new());
            loop {
                file.reserve(snapshot::SLICE_ROOM);
                let shard = shard.lock();
                let began = std::time::Instant::now();
                let more = snapshot::copy_slice(&shard, &mut place, now, &mut file);
                note("snapshot", began.elapsed());
                if !more {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
