//! How many events of one client are sent on to other trackers.
//!
//! An event costs a call to every tracker, whatever is due there, so one client could make any number of calls by
//! completing and stopping again and again, from new ports and for new info hashes. Each [`Household`] therefore has a
//! bucket of events: a minute's worth at most, filled evenly.
//!
//! The table has a fixed size. Each address has a place in one small set, chosen by a keyed hash, so nobody can choose
//! whom to share a set with. In a full set the bucket that is nearest to full is forgotten, which costs its owner
//! nothing; whoever has so many addresses that others are forgotten has as many buckets anyway.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;
use weir_engine::dispatch::Moment;
use weir_web::Household;

/// Sets of addresses, and addresses in each: 16,384 in all, in less than a megabyte.
const SETS: usize = 2048;
const WAYS: usize = 8;
const MINUTE: u64 = 60_000_000_000;

/// Events left, by address.
#[derive(Debug)]
pub(crate) struct Allowances {
    /// 0 sets no limit; written by reloads.
    per_minute: AtomicU32,
    sets: Box<[Mutex<[Account; WAYS]>]>,
    hasher: RandomState,
    /// By [`HeldBack::ALL`], since the start.
    totals: [AtomicU64; HeldBack::ALL.len()],
    /// Those of addresses that were forgotten before they were noted.
    forgotten: [AtomicU64; HeldBack::ALL.len()],
    /// Something was held back since [`Allowances::take_noted`].
    any: AtomicBool,
}

/// Why an event did not go on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldBack {
    /// The peer had completed before: an announce like any other.
    Repeated,
    /// A `completed` beyond the allowance of its address: an announce like any other.
    Throttled,
    /// A `stopped` beyond it: sent on later.
    Delayed,
}

/// How many were held back, by [`HeldBack::ALL`].
pub(crate) type HeldBackCounts = [u64; HeldBack::ALL.len()];

#[derive(Clone, Copy, Debug, Default)]
struct Account {
    who: Option<Household>,
    /// When its bucket will be full again (GCRA).
    full_at: u64,
    /// Not noted yet, by [`HeldBack::ALL`].
    held: [u32; HeldBack::ALL.len()],
}

impl HeldBack {
    pub(crate) const ALL: [Self; 3] = [Self::Repeated, Self::Throttled, Self::Delayed];

    /// Event and reason, as in metrics.
    pub(crate) fn labels(self) -> (&'static str, &'static str) {
        match self {
            Self::Repeated => ("completed", "repeated"),
            Self::Throttled => ("completed", "throttled"),
            Self::Delayed => ("stopped", "delayed"),
        }
    }
}

impl Allowances {
    pub(crate) fn new(per_minute: u32) -> Self {
        let set = || Mutex::new([Account::default(); WAYS]);
        Self {
            per_minute: AtomicU32::new(per_minute),
            sets: (0..SETS).map(|_| set()).collect(),
            hasher: RandomState::new(),
            totals: Default::default(),
            forgotten: Default::default(),
            any: AtomicBool::new(false),
        }
    }

    pub(crate) fn per_minute(&self) -> u32 {
        self.per_minute.load(Ordering::Relaxed)
    }

    pub(crate) fn set_per_minute(&self, per_minute: u32) {
        self.per_minute.store(per_minute, Ordering::Relaxed);
    }

    /// Takes one event, if the address has one left. Waits for nothing but the few others of its set, so a swarm may be
    /// locked meanwhile.
    pub(crate) fn take(&self, who: Household, now: Moment) -> bool {
        let Some(interval) = MINUTE.checked_div(self.per_minute().into()) else {
            return true;
        };
        self.with(who, |account| {
            let full_at = account.full_at.max(now.0).saturating_add(interval.max(1));
            let left = full_at.saturating_sub(now.0) <= MINUTE;
            if left {
                account.full_at = full_at;
            }
            left
        })
    }

    /// Counts an event that does not go on at once, and remembers whose it was until it is noted.
    pub(crate) fn hold(&self, who: Household, why: HeldBack) {
        self.totals[why as usize].fetch_add(1, Ordering::Relaxed);
        self.with(who, |account| {
            let held = &mut account.held[why as usize];
            *held = held.saturating_add(1);
        });
        self.any.store(true, Ordering::Release);
    }

    /// How many were held back since the start.
    pub(crate) fn total(&self, why: HeldBack) -> u64 {
        self.totals[why as usize].load(Ordering::Relaxed)
    }

    /// What was held back since this was last asked: by address for `most` of them, then all others together.
    pub(crate) fn take_noted(
        &self,
        most: usize,
    ) -> (Vec<(Household, HeldBackCounts)>, HeldBackCounts) {
        let mut noted = Vec::new();
        let mut others = HeldBackCounts::default();
        if !self.any.swap(false, Ordering::Acquire) {
            return (noted, others);
        }
        for set in &self.sets {
            for account in set.lock().iter_mut().filter(|account| account.holds()) {
                let held = std::mem::take(&mut account.held).map(u64::from);
                match account.who {
                    Some(who) if noted.len() < most => noted.push((who, held)),
                    _ => add(&mut others, held),
                }
            }
        }
        let forgotten = self.forgotten.each_ref();
        add(
            &mut others,
            forgotten.map(|count| count.swap(0, Ordering::Relaxed)),
        );
        (noted, others)
    }

    fn with<R>(&self, who: Household, act: impl FnOnce(&mut Account) -> R) -> R {
        let hashed = self.hasher.hash_one(who);
        let mut set = self.sets[hashed as usize % SETS].lock();
        let found = set.iter().position(|account| account.who == Some(who));
        let position = found.unwrap_or_else(|| {
            let rank = |position: &usize| (set[*position].who.is_some(), set[*position].full_at);
            let nearest = (0..WAYS).min_by_key(rank).expect("a set has places");
            let before = std::mem::replace(
                &mut set[nearest],
                Account {
                    who: Some(who),
                    ..Account::default()
                },
            );
            for (forgotten, held) in self.forgotten.iter().zip(before.held) {
                forgotten.fetch_add(held.into(), Ordering::Relaxed);
            }
            nearest
        });
        act(&mut set[position])
    }
}

impl Account {
    fn holds(&self) -> bool {
        self.held.iter().any(|held| *held > 0)
    }
}

fn add(sum: &mut HeldBackCounts, counts: HeldBackCounts) {
    for (sum, count) in sum.iter_mut().zip(counts) {
        *sum += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn household(text: &str) -> Household {
        Household::of(text.parse().expect("an address"))
    }

    fn taken(all: &Allowances, who: Household, now: u64, per_minute: u32) -> usize {
        all.set_per_minute(per_minute);
        let takes = (0..1000).map(|_| all.take(who, Moment(now)));
        takes.filter(|taken| *taken).count()
    }

    #[test]
    fn an_address_has_a_minutes_worth_and_gets_it_back_evenly() {
        let (all, who) = (Allowances::new(60), household("203.0.113.7"));
        let now = 1000 * SECOND;
        assert_eq!(taken(&all, who, now, 60), 60);
        assert_eq!(taken(&all, who, now + SECOND - 1, 60), 0);
        assert_eq!(taken(&all, who, now + SECOND, 60), 1);
        assert_eq!(taken(&all, who, now + 31 * SECOND, 60), 30);
        assert_eq!(taken(&all, who, now + 3600 * SECOND, 60), 60, "never more");
        assert_eq!(taken(&all, household("203.0.113.8"), now, 60), 60);
        assert_eq!(taken(&all, who, now + 3600 * SECOND, 0), 1000, "no limit");
        assert_eq!(taken(&all, household("203.0.113.9"), now, 7), 7);
        let early = household("203.0.113.10");
        assert_eq!(taken(&all, early, now, 60), 60);
        assert_eq!(
            taken(&all, early, now - SECOND, 60),
            0,
            "a clock that lags behind"
        );
    }

    #[test]
    fn what_is_held_back_is_noted_once_for_each_address() {
        let all = Allowances::new(60);
        let (one, two) = (household("203.0.113.7"), household("2001:db8::1"));
        for _ in 0..3 {
            all.hold(one, HeldBack::Repeated);
        }
        all.hold(one, HeldBack::Delayed);
        all.hold(two, HeldBack::Throttled);
        let (mut noted, others) = all.take_noted(10);
        noted.sort_by_key(|(who, _)| *who != one);
        assert_eq!(noted, [(one, [3, 0, 1]), (two, [0, 1, 0])]);
        assert_eq!(others, [0; 3]);
        assert_eq!(all.take_noted(10), (Vec::new(), [0; 3]));
        all.hold(one, HeldBack::Repeated);
        assert_eq!(all.take_noted(0), (Vec::new(), [1, 0, 0]), "one too many");
        assert_eq!(HeldBack::ALL.map(|why| all.total(why)), [4, 1, 1]);
    }

    #[test]
    fn the_table_stays_as_it_is_and_no_count_is_lost() {
        let all = Allowances::new(60);
        let busy = household("203.0.113.7");
        for number in 0..100_000_u32 {
            let who = Household::V4(number.to_be_bytes());
            // A bucket that is far from full is not the one that is forgotten.
            all.take(busy, Moment(SECOND));
            assert!(all.take(who, Moment(0)));
            all.hold(who, HeldBack::Throttled);
        }
        assert_eq!(taken(&all, busy, SECOND, 60), 0);
        let (noted, others) = all.take_noted(usize::MAX);
        assert!(noted.len() <= SETS * WAYS);
        let sum: u64 = noted.iter().map(|(_, held)| held[1]).sum();
        assert_eq!(sum + others[1], 100_000);
    }
}
