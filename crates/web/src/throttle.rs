//! How often a household may do something: send a wrong key, download a file.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::Household;

/// Maximum households remembered; beyond that, those quiet for longest are forgotten.
const HOUSEHOLDS: usize = 10_000;
/// How many are forgotten at once, so that a full table is seldom searched: otherwise whoever has many addresses could
/// make each try cost a walk through all of it.
const FORGOTTEN: usize = HOUSEHOLDS / 10;
/// Times of one household that are kept separately. Further ones join the last, which then counts for longer: nobody gets
/// more than the pace allows, and a household costs the same memory whatever the pace.
const APART: usize = 32;
/// A pace of more times than that is counted in slices of its window, so that a time that joins others counts for at most
/// a sixteenth longer: whoever stays well below the pace is never turned away.
const SLICES: i32 = 16;

/// Who did it how often and when, in memory only: a restart forgets.
#[derive(Debug, Default)]
pub struct Throttle(Mutex<Households>);

/// What is allowed: this many times in any window of this length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How often, at least once.
    pub times: u32,
    /// The length of the window.
    pub window: Duration,
}

/// Some times close to each other.
#[derive(Debug, Clone, Copy)]
struct Occasions {
    first: Timestamp,
    last: Timestamp,
    count: u32,
}

type Households = HashMap<Household, VecDeque<Occasions>>;

impl Throttle {
    /// Counts one more time, if the household at this address is allowed one.
    ///
    /// # Errors
    /// The time from which it is allowed again.
    pub fn take(&self, address: IpAddr, now: Timestamp, pace: Pace) -> Result<(), Timestamp> {
        // One is never more than a pace allows.
        let taken = self.take_several(address, 1, now, pace);
        taken.map_err(|until| until.unwrap_or(now))
    }

    /// Counts several more times at once, if the household at this address is allowed all of them.
    ///
    /// # Errors
    /// The time from which it is allowed so many; `None` if the pace never allows them.
    pub fn take_several(
        &self,
        address: IpAddr,
        times: u32,
        now: Timestamp,
        pace: Pace,
    ) -> Result<(), Option<Timestamp>> {
        if times > pace.most() {
            return Err(None);
        }
        let mut table = self.0.lock();
        let household = Household::of(address);
        match blocked(&mut table, household, times, now, pace) {
            Some(until) => Err(Some(until)),
            None => {
                count(&mut table, household, times, now, pace);
                Ok(())
            }
        }
    }

    /// The time from which the household is allowed again, if it is blocked now.
    pub fn blocked(&self, address: IpAddr, now: Timestamp, pace: Pace) -> Option<Timestamp> {
        blocked(&mut self.0.lock(), Household::of(address), 1, now, pace)
    }

    /// Counts one more time.
    pub fn count(&self, address: IpAddr, now: Timestamp, pace: Pace) {
        count(&mut self.0.lock(), Household::of(address), 1, now, pace);
    }
}

/// When so many more times are allowed, unless they are now.
fn blocked(
    table: &mut Households,
    who: Household,
    more: u32,
    now: Timestamp,
    pace: Pace,
) -> Option<Timestamp> {
    let all = table.get_mut(&who)?;
    all.retain(|times| now < pace.end(*times));
    let room = u64::from(pace.most().saturating_sub(more));
    let mut left: u64 = all.iter().map(|times| u64::from(times.count)).sum();
    // The first one whose end leaves enough room.
    all.iter().find_map(|times| {
        let full = left > room;
        left -= u64::from(times.count);
        (full && left <= room).then(|| pace.end(*times))
    })
}

fn count(table: &mut Households, who: Household, more: u32, now: Timestamp, pace: Pace) {
    if table.len() >= HOUSEHOLDS && !table.contains_key(&who) {
        forget(table, now, pace);
    }
    let all = table.entry(who).or_default();
    let full = all.len() >= APART;
    match all.back_mut() {
        Some(times) if full || now.duration_since(times.first) < pace.slice() => {
            times.last = now;
            times.count = times.count.saturating_add(more);
        }
        _ => all.push_back(Occasions {
            first: now,
            last: now,
            count: more,
        }),
    }
}

impl Pace {
    /// This many times a minute.
    pub fn per_minute(times: u32) -> Self {
        let window = Duration::from_secs(60);
        Self { times, window }
    }

    fn most(self) -> u32 {
        self.times.max(1)
    }

    fn window(self) -> SignedDuration {
        SignedDuration::try_from(self.window).unwrap_or(SignedDuration::MAX)
    }

    /// Times closer to each other than this are counted together.
    fn slice(self) -> SignedDuration {
        match self.times as usize <= APART {
            true => SignedDuration::ZERO,
            false => self.window() / SLICES,
        }
    }

    /// When these times no longer count.
    fn end(self, times: Occasions) -> Timestamp {
        let end = times.last.saturating_add(self.window());
        end.unwrap_or(Timestamp::MAX)
    }
}

fn forget(table: &mut Households, now: Timestamp, pace: Pace) {
    table.retain(|_, all| all.back().is_some_and(|last| now < pace.end(*last)));
    if table.len() < HOUSEHOLDS {
        return;
    }
    let last = |all: &VecDeque<Occasions>| all.back().map(|times| times.last);
    let mut quiet: Vec<_> = table.iter().map(|(who, all)| (last(all), *who)).collect();
    quiet.select_nth_unstable(FORGOTTEN);
    for (_, household) in &quiet[..FORGOTTEN] {
        table.remove(household);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace {
        times: 5,
        window: Duration::from_secs(60),
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn five_in_a_minute_block_until_the_first_is_a_minute_old() {
        let throttle = Throttle::default();
        for second in 0..5 {
            assert_eq!(throttle.blocked(ip("192.0.2.1"), at(second), PACE), None);
            throttle.count(ip("192.0.2.1"), at(second), PACE);
        }
        assert_eq!(
            throttle.blocked(ip("192.0.2.1"), at(10), PACE),
            Some(at(60))
        );
        assert_eq!(throttle.blocked(ip("192.0.2.2"), at(10), PACE), None);
        assert_eq!(throttle.blocked(ip("192.0.2.1"), at(60), PACE), None);
        throttle.count(ip("192.0.2.1"), at(60), PACE);
        assert_eq!(
            throttle.blocked(ip("192.0.2.1"), at(60), PACE),
            Some(at(61))
        );
    }

    #[test]
    fn several_at_once_need_room_for_all_of_them() {
        let throttle = Throttle::default();
        let several =
            |times, second| throttle.take_several(ip("192.0.2.1"), times, at(second), PACE);
        assert_eq!(several(6, 0), Err(None), "more than it ever allows");
        assert_eq!(several(0, 0), Ok(()));
        assert_eq!(several(2, 0), Ok(()));
        assert_eq!(several(2, 10), Ok(()));
        assert_eq!(several(2, 20), Err(Some(at(60))));
        assert_eq!(
            several(4, 20),
            Err(Some(at(70))),
            "when the second two are over"
        );
        assert_eq!(several(1, 20), Ok(()));
        assert_eq!(throttle.take(ip("192.0.2.1"), at(30), PACE), Err(at(60)));
        assert_eq!(several(2, 60), Ok(()));
    }

    #[test]
    fn an_ipv6_network_counts_as_one_address() {
        let throttle = Throttle::default();
        for n in 0..5 {
            throttle.count(ip(&format!("2001:db8::{n}")), at(0), PACE);
        }
        assert!(
            throttle
                .blocked(ip("2001:db8::ffff"), at(1), PACE)
                .is_some()
        );
        assert!(
            throttle
                .blocked(ip("2001:db8:0:1::1"), at(1), PACE)
                .is_none()
        );
        for _ in 0..5 {
            throttle.count(ip("::ffff:192.0.2.9"), at(0), PACE);
        }
        assert!(throttle.blocked(ip("192.0.2.9"), at(1), PACE).is_some());
    }

    #[test]
    fn memory_is_bounded_and_the_busy_stay() {
        let throttle = Throttle::default();
        for n in 0..HOUSEHOLDS as u32 + 50 {
            throttle.count(IpAddr::from(n.to_be_bytes()), at(i64::from(n % 3)), PACE);
            throttle.count(ip("203.0.113.1"), at(5), PACE);
        }
        let left = throttle.0.lock().len();
        assert!(
            (HOUSEHOLDS - FORGOTTEN..=HOUSEHOLDS).contains(&left),
            "{left}"
        );
        assert!(throttle.0.lock().values().all(|times| times.len() <= APART));
        assert!(throttle.blocked(ip("203.0.113.1"), at(6), PACE).is_some());
    }

    #[test]
    fn whoever_keeps_below_the_pace_is_never_turned_away() {
        let throttle = Throttle::default();
        let pace = Pace::per_minute(120);
        for index in 0..1000 {
            let now = Timestamp::from_millisecond(1_000_000_000 + 600 * index).unwrap();
            let taken = throttle.take(ip("192.0.2.1"), now, pace);
            assert_eq!(taken, Ok(()), "try {index}, at 100 a minute");
        }
        assert!(throttle.0.lock().values().all(|times| times.len() < APART));
    }

    #[test]
    fn a_pace_holds_in_every_window_however_many_times_it_allows() {
        let pace = Pace::per_minute(120);
        let throttle = Throttle::default();
        let mut taken = Vec::new();
        // Unevenly: some seconds three tries, some none.
        for second in 0..600_i64 {
            for _ in 0..(second * 7) % 10 / 3 * 2 {
                if throttle.take(ip("192.0.2.1"), at(second), pace).is_ok() {
                    taken.push(second);
                }
            }
        }
        for (index, from) in taken.iter().enumerate() {
            let within = taken[index..].iter().take_while(|at| **at < from + 60);
            assert!(within.count() <= 120, "from second {from}");
        }
        assert!(taken.len() > 1_000, "{} of about 1,200", taken.len());
        assert_eq!(throttle.take(ip("192.0.2.2"), at(600), pace), Ok(()));
        let until = throttle.take(ip("192.0.2.1"), at(599), Pace::per_minute(1));
        assert_eq!(until, Err(at(taken[taken.len() - 1] + 60)));
    }
}
