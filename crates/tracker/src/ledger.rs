//! What is known at other trackers of all info hashes.
//!
//! Calls write here from the runtime, announces read here from listener threads, but only where the swarm's record says
//! that there is something to read. Swarms and sheets have locks of their own; nobody holds one of each.

mod give;
mod nevers;
pub(crate) mod sheet;
pub(crate) mod snapshot;
mod table;
pub(crate) mod told;
pub(crate) mod view;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use weir_tracker_proto::Announce;

pub(crate) use self::give::ForeignWish;
use self::nevers::Nevers;
use self::sheet::{News, Sheet, Slot};
use self::table::{SheetTable, Spot};
use self::told::ToldPeer;
use crate::clock::minute;
use crate::swarm::snapshot::GROUPS;
use crate::swarm::{PeerEndpoint, SHARDS, Seed, seed, shard_of};

/// Sheets are spread over so many locks, so that calls and announces of different hashes seldom wait for each other. Each
/// belongs to one group of files.
const LOCKS: usize = 4 * GROUPS;

/// Sheets that are looked at under one lock, when nobody waits for the answer: an announce that comes meanwhile waits no
/// longer than that takes.
const SLICE: usize = 64;

/// What other trackers said, a sheet for each info hash that was ever sent on. No more sheets and peers than
/// [`LedgerLimits`] say: what finds no room is not asked about, and peers beyond are not kept.
#[derive(Debug)]
pub(crate) struct Ledger {
    tables: Box<[Mutex<SheetTable>]>,
    seed: Seed,
    limits: LedgerLimits,
    sheets: AtomicUsize,
    peers: AtomicUsize,
    /// Groups in which something changed since they were last written.
    changed: Box<[AtomicBool]>,
    /// Who told us never to ask again, and about what.
    nevers: Nevers,
    /// Names of forwarders by their slot, also of those that are gone. Locked before a table, where both are.
    names: Mutex<Vec<String>>,
}

/// How much is kept.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LedgerLimits {
    /// Info hashes.
    pub(crate) sheets: usize,
    /// Peers of other trackers, of all info hashes.
    pub(crate) peers: usize,
    /// The same of one.
    pub(crate) peers_of_one: usize,
}

/// What is known of one hash, as far as its swarm's record mirrors it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HashState {
    /// Calls about it are queued, under way or scheduled.
    pub(crate) pending: bool,
    /// Peers of other trackers are known.
    pub(crate) peers: bool,
    /// The second from which each of the trackers that were asked for may be asked: 0 if it never was, a far one while
    /// it is being asked.
    pub(crate) dues: Vec<u32>,
}

impl Ledger {
    /// An empty one; `key` is that of the swarms.
    pub(crate) fn new(limits: LedgerLimits, key: [u8; seed::KEY]) -> Self {
        Self {
            tables: (0..LOCKS).map(|_| Mutex::default()).collect(),
            seed: Seed::new(key),
            limits,
            sheets: AtomicUsize::new(0),
            peers: AtomicUsize::new(0),
            changed: (0..GROUPS).map(|_| AtomicBool::new(false)).collect(),
            nevers: Nevers::default(),
            names: Mutex::default(),
        }
    }

    /// Info hashes and peers that are kept.
    pub(crate) fn totals(&self) -> (usize, usize) {
        let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        (count(&self.sheets), count(&self.peers))
    }

    /// How many peers of other trackers are known.
    #[cfg(test)]
    pub(crate) fn peers(&self, hash: &[u8; 20]) -> usize {
        self.look(hash, Sheet::peers).unwrap_or(0)
    }

    /// What is known of a hash, and when the trackers in these slots may be asked about it.
    pub(crate) fn state(&self, hash: &[u8; 20], slots: impl Iterator<Item = Slot>) -> HashState {
        let spot = self.spot(hash);
        let table = self.tables[lock_of(spot)].lock();
        let sheet = table.get(spot);
        let due = |slot| match sheet {
            None => 0,
            Some(sheet) if sheet.is_asked(slot) => u32::MAX,
            Some(sheet) => sheet.line(slot).due,
        };
        HashState {
            pending: sheet.is_some_and(|sheet| sheet.pending > 0),
            peers: sheet.is_some_and(|sheet| sheet.peers() > 0),
            dues: slots.map(due).collect(),
        }
    }

    /// One more call about a hash, a regular one to the tracker `regular`; `false` if that is being asked already, or if
    /// there is no room for another hash.
    pub(crate) fn begin(&self, hash: &[u8; 20], regular: Option<Slot>) -> bool {
        let begun = self.at_new(hash, |sheet| {
            let begins = regular.is_none_or(|slot| sheet.ask(slot));
            sheet.pending = sheet.pending.saturating_add(begins.into());
            begins
        });
        begun.unwrap_or(false)
    }

    /// One call fewer.
    pub(crate) fn end(&self, hash: &[u8; 20], regular: Option<Slot>) {
        self.at(hash, |sheet| {
            if let Some(slot) = regular {
                sheet.asked(slot);
            }
            sheet.pending = sheet.pending.saturating_sub(1);
        });
    }

    /// A tracker hears of a peer now; gives what it wants to hear with that, and whether it is for the first time.
    pub(crate) fn tell(
        &self,
        slot: Slot,
        at: PeerEndpoint,
        announce: &Announce,
    ) -> (Option<Box<[u8]>>, bool) {
        let told = ToldPeer::new(at, announce);
        let told = self.at(&announce.info_hash.0, |sheet| {
            let first = sheet.tell(slot, told);
            (sheet.tracker_id(slot).map(Into::into), first)
        });
        told.unwrap_or((None, true))
    }

    /// What a tracker wants to hear with an announce.
    pub(crate) fn tracker_id(&self, hash: &[u8; 20], slot: Slot) -> Option<Box<[u8]>> {
        let id = self.look(hash, |sheet| sheet.tracker_id(slot).map(Into::into));
        id.flatten()
    }

    /// A peer goes: who was told of it.
    pub(crate) fn untell(&self, hash: &[u8; 20], at: &PeerEndpoint) -> Option<ToldPeer> {
        self.at(hash, |sheet| sheet.untell(at)).flatten()
    }

    /// One tracker does not know of a peer, or hears now that it goes.
    pub(crate) fn untell_one(&self, hash: &[u8; 20], at: &PeerEndpoint, slot: Slot) {
        self.at(hash, |sheet| sheet.untell_one(at, slot));
    }

    /// Whether a tracker was told of a peer, and not yet that it is gone.
    pub(crate) fn is_told(&self, hash: &[u8; 20], at: &PeerEndpoint) -> bool {
        let told = self.look(hash, |sheet| sheet.told().iter().any(|told| told.at == *at));
        told.unwrap_or(false)
    }

    /// A peer goes, and trackers hear of it later: what it said last is kept for them.
    pub(crate) fn leaves(&self, announce: &Announce, at: &PeerEndpoint) {
        self.at(&announce.info_hash.0, |sheet| sheet.leaves(at, announce));
    }

    /// Ports of our peers that trackers were told of.
    pub(crate) fn told_ports(&self, hash: &[u8; 20]) -> Vec<u16> {
        let ports = self.look(hash, |sheet| {
            sheet.told().iter().map(|told| told.port).collect()
        });
        ports.unwrap_or_default()
    }

    /// A tracker gave a good answer.
    pub(crate) fn absorb(&self, hash: &[u8; 20], slot: Slot, news: &News<'_>) {
        let room = self.limits.peers.saturating_sub(self.totals().1);
        let most = news.most.min(self.limits.peers_of_one);
        self.at(hash, |sheet| {
            let most = most.min(sheet.peers() + room);
            sheet.absorb(slot, &News { most, ..*news });
        });
    }

    /// Another node was told by a tracker when it may be asked again, and maybe peers. A later time that is known stays.
    pub(crate) fn hear(&self, hash: &[u8; 20], slot: Slot, due: u32, news: Option<&News<'_>>) {
        let room = self.limits.peers.saturating_sub(self.totals().1);
        self.at_new(hash, |sheet| {
            let due = due.max(sheet.line(slot).due).max(1);
            if let Some(news) = news {
                let most = news.most.min(self.limits.peers_of_one);
                let most = most.min(sheet.peers() + room);
                sheet.absorb(slot, &News { due, most, ..*news });
            }
            sheet.set_due(slot, due);
        });
    }

    /// The second from which a tracker may be asked about a hash; 0 if it never was.
    pub(crate) fn due(&self, hash: &[u8; 20], slot: Slot) -> u32 {
        self.look(hash, |sheet| sheet.line(slot).due).unwrap_or(0)
    }

    /// A tracker is not to be asked about a hash before this second.
    pub(crate) fn set_due(&self, hash: &[u8; 20], slot: Slot, due: u32) {
        self.at(hash, |sheet| sheet.set_due(slot, due.max(1)));
    }

    /// A tracker told us never to ask about a hash again: it is not asked before this second. Says whether it has now said
    /// so about `limit` hashes, with no other answer between.
    pub(crate) fn never(&self, hash: &[u8; 20], slot: Slot, due: u32, limit: usize) -> bool {
        self.set_due(hash, slot, due);
        self.nevers.add(slot, *hash, limit)
    }

    /// A tracker gave an answer of another kind: what it never wanted to be asked about was not about us.
    pub(crate) fn answered(&self, slot: Slot) {
        for hash in self.nevers.clear(slot) {
            self.not_written(group_of(lock_of(self.spot(&hash))));
        }
    }

    /// Nobody here takes part in a swarm any more.
    pub(crate) fn forget(&self, hash: &[u8; 20], now: u32) {
        self.at(hash, Sheet::forget_peers);
        self.drop_if(hash, |sheet| sheet.is_over(now));
    }

    /// The slot of a forwarder: the one it always had, else that of a name which is not in use any more and of which
    /// nothing is kept then, else a new one.
    pub(crate) fn slot_of(&self, name: &str, in_use: impl Fn(&str) -> bool) -> Slot {
        let mut names = self.names.lock();
        let slot = names.iter().position(|other| other == name);
        let slot = slot.unwrap_or_else(|| match names.iter().position(|other| !in_use(other)) {
            Some(free) => {
                self.forget_tracker(free as Slot);
                names[free] = name.to_owned();
                free
            }
            None => {
                names.push(name.to_owned());
                names.len() - 1
            }
        });
        Slot::try_from(slot).unwrap_or(Slot::MAX)
    }

    /// The forwarder in a slot is called this from now on, also in every file.
    pub(crate) fn rename(&self, slot: Slot, name: &str) {
        let mut names = self.names.lock();
        let slot = usize::from(slot);
        if names.get(slot).is_none_or(|now| now == name) {
            return;
        }
        // A name has one slot: whoever had it before gets the other one.
        match names.iter().position(|other| other == name) {
            Some(other) => names.swap(slot, other),
            None => names[slot] = name.to_owned(),
        }
        (0..GROUPS).for_each(|group| self.not_written(group));
    }

    /// Nothing of a tracker is kept any more.
    pub(crate) fn forget_tracker(&self, slot: Slot) {
        self.answered(slot);
        for lock in 0..LOCKS {
            let mut table = self.tables[lock].lock();
            for sheet in table.sheets_mut() {
                self.counted(sheet, |sheet| sheet.forget_tracker(slot));
            }
        }
    }

    /// Goes through all hashes; no lock is held meanwhile.
    pub(crate) fn hashes(&self, mut see: impl FnMut(&[u8; 20])) {
        for table in &self.tables {
            let hashes: Vec<[u8; 20]> = table.lock().hashes();
            hashes.iter().for_each(&mut see);
        }
    }

    /// Looks through a part of the ledger: `1/steps` of it in each step. Forgets what is over, and says of which
    /// hashes nothing is known any more and which peers trackers were told of.
    pub(crate) fn sweep(
        &self,
        step: usize,
        steps: usize,
        now: u32,
        mut see: impl FnMut(SweptSheet),
    ) {
        let first = step * LOCKS / steps;
        let short = minute(now).short();
        for table in &self.tables[first..(step + 1) * LOCKS / steps] {
            let hashes: Vec<[u8; 20]> = table.lock().hashes();
            for slice in hashes.chunks(SLICE) {
                let mut table = table.lock();
                for hash in slice {
                    let Some(sheet) = table.get_mut(self.spot(hash)) else {
                        continue;
                    };
                    let had = sheet.peers() > 0;
                    self.counted(sheet, |sheet| sheet.expire(short));
                    see(SweptSheet {
                        hash: *hash,
                        emptied: had && sheet.peers() == 0,
                        over: sheet.is_over(now),
                        pending: sheet.pending > 0,
                        told: sheet.told().iter().map(|told| told.at).collect(),
                    });
                }
            }
        }
    }

    /// What could not be written is to be written again.
    pub(crate) fn not_written(&self, group: usize) {
        self.changed[group].store(true, Ordering::Relaxed);
    }

    /// Whether something changed in a group since this was last asked.
    fn take_changed(&self, group: usize) -> bool {
        self.changed[group].swap(false, Ordering::Relaxed)
    }

    fn tables_of(&self, group: usize) -> &[Mutex<SheetTable>] {
        let locks = LOCKS / GROUPS;
        &self.tables[group * locks..][..locks]
    }

    /// Puts in a sheet as it was kept. A hash that is in two files keeps what both say.
    fn put(&self, hash: [u8; 20], sheet: Sheet) {
        let spot = self.spot(&hash);
        let mut table = self.table_of(spot);
        if let Some(there) = table.get_mut(spot) {
            self.counted(there, |there| {
                *there = std::mem::take(there).united(sheet);
            });
            return;
        }
        self.peers.fetch_add(sheet.peers(), Ordering::Relaxed);
        self.sheets.fetch_add(1, Ordering::Relaxed);
        table.insert(spot, sheet, &self.seed);
    }

    fn look<R>(&self, hash: &[u8; 20], look: impl FnOnce(&Sheet) -> R) -> Option<R> {
        let spot = self.spot(hash);
        self.tables[lock_of(spot)].lock().get(spot).map(look)
    }

    fn at<R>(&self, hash: &[u8; 20], act: impl FnOnce(&mut Sheet) -> R) -> Option<R> {
        let spot = self.spot(hash);
        let mut table = self.table_of(spot);
        let sheet = table.get_mut(spot)?;
        Some(self.counted(sheet, act))
    }

    /// Like [`Ledger::at`], with a new sheet where there is none; `None` if there is no room for one. Two threads may find
    /// the last room at the same time: the limit is passed by as many sheets as there are threads, and no more.
    fn at_new<R>(&self, hash: &[u8; 20], act: impl FnOnce(&mut Sheet) -> R) -> Option<R> {
        let spot = self.spot(hash);
        let mut table = self.table_of(spot);
        if let Some(sheet) = table.get_mut(spot) {
            return Some(self.counted(sheet, act));
        }
        if self.sheets.load(Ordering::Relaxed) >= self.limits.sheets {
            return None;
        }
        self.sheets.fetch_add(1, Ordering::Relaxed);
        let mut sheet = Sheet::default();
        let result = self.counted(&mut sheet, act);
        table.insert(spot, sheet, &self.seed);
        Some(result)
    }

    fn drop_if(&self, hash: &[u8; 20], over: impl FnOnce(&Sheet) -> bool) {
        let spot = self.spot(hash);
        let mut table = self.table_of(spot);
        let Some(sheet) = table.get(spot).filter(|sheet| over(sheet)) else {
            return;
        };
        self.peers.fetch_sub(sheet.peers(), Ordering::Relaxed);
        self.sheets.fetch_sub(1, Ordering::Relaxed);
        table.remove(spot);
    }

    /// Changes a sheet, and the count of all peers with it.
    fn counted<R>(&self, sheet: &mut Sheet, act: impl FnOnce(&mut Sheet) -> R) -> R {
        let before = sheet.peers();
        let result = act(sheet);
        let after = sheet.peers();
        if after > before {
            self.peers.fetch_add(after - before, Ordering::Relaxed);
        } else {
            self.peers.fetch_sub(before - after, Ordering::Relaxed);
        }
        result
    }

    /// The table of a hash, to change something there.
    fn table_of(&self, spot: Spot<'_>) -> MutexGuard<'_, SheetTable> {
        let lock = lock_of(spot);
        let changed = &self.changed[group_of(lock)];
        if !changed.load(Ordering::Relaxed) {
            changed.store(true, Ordering::Relaxed);
        }
        self.tables[lock].lock()
    }

    fn spot<'a>(&self, hash: &'a [u8; 20]) -> Spot<'a> {
        let hashed = self.seed.hash(hash);
        Spot { hash, hashed }
    }
}

/// As swarms are spread over shards, so that both are in files of the same group.
fn lock_of(spot: Spot<'_>) -> usize {
    shard_of(spot.hashed) * LOCKS / SHARDS
}

/// The group of files that a lock belongs to.
fn group_of(lock: usize) -> usize {
    lock / (LOCKS / GROUPS)
}

/// What a sweep saw of a hash.
pub(crate) struct SweptSheet {
    pub(crate) hash: [u8; 20],
    /// Its last peer of other trackers went now.
    pub(crate) emptied: bool,
    /// No time of it lies ahead.
    pub(crate) over: bool,
    /// Calls about it are queued, under way or scheduled.
    pub(crate) pending: bool,
    /// Our peers that trackers were told of.
    pub(crate) told: Vec<PeerEndpoint>,
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const HASH: [u8; 20] = [7; 20];
    const LIMITS: LedgerLimits = LedgerLimits {
        sheets: 2,
        peers: 100,
        peers_of_one: 60,
    };

    pub(super) fn v4(last: u8) -> PeerEndpoint {
        PeerEndpoint::V4([10, 0, 0, last, 0, 1])
    }

    fn absorb(ledger: &Ledger, slot: Slot, peers: &[PeerEndpoint]) {
        let news = News {
            due: 1800,
            expires: 100,
            peers,
            tracker_id: None,
            most: usize::MAX,
        };
        ledger.absorb(&HASH, slot, &news);
    }

    pub(super) fn ledger(peers: &[PeerEndpoint]) -> Ledger {
        let ledger = Ledger::new(LIMITS, [1; 16]);
        assert!(ledger.begin(&HASH, None));
        absorb(&ledger, 0, peers);
        ledger
    }

    #[test]
    fn what_is_kept_has_its_limits_and_its_counts() {
        let many: Vec<PeerEndpoint> = (0..250).map(v4).collect();
        let ledger = ledger(&many);
        assert_eq!(ledger.totals(), (1, 60));
        assert!(ledger.begin(&[8; 20], None));
        assert!(!ledger.begin(&[9; 20], None), "two hashes at most");
        let news = News {
            due: 5,
            expires: 100,
            peers: &many,
            tracker_id: None,
            most: usize::MAX,
        };
        ledger.absorb(&[8; 20], 3, &news);
        assert_eq!(ledger.totals(), (2, 100), "a hundred of all");
        ledger.forget_tracker(3);
        assert_eq!(ledger.totals(), (2, 60));
        for hash in [HASH, [8; 20]] {
            assert!(ledger.state(&hash, [].into_iter()).pending);
            ledger.end(&hash, None);
            assert!(!ledger.state(&hash, [].into_iter()).pending);
        }
        ledger.forget(&HASH, 10);
        assert_eq!(ledger.totals(), (2, 0), "it may not be asked yet");
        ledger.forget(&HASH, 1800);
        ledger.forget(&[8; 20], 10);
        assert_eq!(ledger.totals(), (0, 0));
    }

    #[test]
    fn a_tracker_is_asked_about_a_hash_once_at_a_time() {
        let ledger = Ledger::new(LIMITS, [1; 16]);
        let dues = || ledger.state(&HASH, [0, 1].into_iter()).dues;
        assert!(ledger.begin(&HASH, Some(1)));
        assert!(!ledger.begin(&HASH, Some(1)), "by whomever");
        assert!(ledger.begin(&HASH, None), "events go in any case");
        assert_eq!(dues(), [0, u32::MAX]);
        ledger.forget(&HASH, 0);
        assert_eq!(dues(), [0, u32::MAX], "also when nobody is here any more");
        ledger.set_due(&HASH, 1, 60);
        ledger.end(&HASH, Some(1));
        assert!(ledger.state(&HASH, [].into_iter()).pending, "the event");
        assert_eq!(dues(), [0, 60]);
        assert!(ledger.begin(&HASH, Some(1)));
    }
}
