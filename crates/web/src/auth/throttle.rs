//! How often an address may be wrong about the key.

use std::{
    collections::{HashMap, VecDeque},
    net::{IpAddr, Ipv6Addr},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

/// Addresses remembered at most; beyond it those longest quiet are forgotten.
const ADDRESSES: usize = 10_000;
/// How many are forgotten at once, so that a full table is seldom looked through: whoever has many addresses could
/// make each of their tries cost a walk through all of it.
const FORGOTTEN: usize = ADDRESSES / 10;

/// Wrong keys by address, in memory only: a restart forgives.
#[derive(Debug, Default)]
pub(crate) struct Throttle(Mutex<HashMap<IpAddr, VecDeque<Timestamp>>>);

/// The rule in force.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    pub(crate) tries: u32,
    pub(crate) window: Duration,
}

impl Throttle {
    /// When the address may try again, if not now.
    pub(crate) fn blocked(&self, address: IpAddr, now: Timestamp, rule: Rule) -> Option<Timestamp> {
        let window = SignedDuration::try_from(rule.window).unwrap_or(SignedDuration::MAX);
        let mut table = self.0.lock();
        let wrong = table.get_mut(&network(address))?;
        wrong.retain(|at| now.duration_since(*at) < window);
        let spare = (rule.tries.max(1) as usize).saturating_sub(wrong.len());
        if spare > 0 {
            return None;
        }
        let oldest = wrong[wrong.len() - rule.tries.max(1) as usize];
        Some(oldest.saturating_add(window).unwrap_or(Timestamp::MAX))
    }

    /// Notes a wrong key.
    pub(crate) fn wrong(&self, address: IpAddr, now: Timestamp, rule: Rule) {
        let mut table = self.0.lock();
        let address = network(address);
        if table.len() >= ADDRESSES && !table.contains_key(&address) {
            forget(&mut table, now, rule);
        }
        let wrong = table.entry(address).or_default();
        if wrong.len() > rule.tries as usize {
            wrong.pop_front();
        }
        wrong.push_back(now);
    }
}

/// Under which address someone is counted: a household or a rented server has a whole /64, and counting single IPv6
/// addresses would give it endless tries.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let network = v6.to_bits() & !u128::from(u64::MAX);
            Ipv6Addr::from_bits(network).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

fn forget(table: &mut HashMap<IpAddr, VecDeque<Timestamp>>, now: Timestamp, rule: Rule) {
    let window = SignedDuration::try_from(rule.window).unwrap_or(SignedDuration::MAX);
    table.retain(|_, wrong| {
        wrong
            .back()
            .is_some_and(|at| now.duration_since(*at) < window)
    });
    if table.len() < ADDRESSES {
        return;
    }
    let last = |wrong: &VecDeque<Timestamp>| wrong.back().copied();
    let mut quiet: Vec<_> = table.iter().map(|(at, wrong)| (last(wrong), *at)).collect();
    quiet.select_nth_unstable(FORGOTTEN);
    for (_, address) in &quiet[..FORGOTTEN] {
        table.remove(address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule {
        tries: 5,
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
            assert_eq!(throttle.blocked(ip("192.0.2.1"), at(second), RULE), None);
            throttle.wrong(ip("192.0.2.1"), at(second), RULE);
        }
        assert_eq!(
            throttle.blocked(ip("192.0.2.1"), at(10), RULE),
            Some(at(60))
        );
        assert_eq!(throttle.blocked(ip("192.0.2.2"), at(10), RULE), None);
        assert_eq!(throttle.blocked(ip("192.0.2.1"), at(60), RULE), None);
        throttle.wrong(ip("192.0.2.1"), at(60), RULE);
        assert_eq!(
            throttle.blocked(ip("192.0.2.1"), at(60), RULE),
            Some(at(61))
        );
    }

    #[test]
    fn an_ipv6_network_counts_as_one_address() {
        let throttle = Throttle::default();
        for n in 0..5 {
            throttle.wrong(ip(&format!("2001:db8::{n}")), at(0), RULE);
        }
        assert!(
            throttle
                .blocked(ip("2001:db8::ffff"), at(1), RULE)
                .is_some()
        );
        assert!(
            throttle
                .blocked(ip("2001:db8:0:1::1"), at(1), RULE)
                .is_none()
        );
        for _ in 0..5 {
            throttle.wrong(ip("::ffff:192.0.2.9"), at(0), RULE);
        }
        assert!(throttle.blocked(ip("192.0.2.9"), at(1), RULE).is_some());
    }

    #[test]
    fn memory_is_bounded_and_the_busy_stay() {
        let throttle = Throttle::default();
        for n in 0..ADDRESSES as u32 + 50 {
            throttle.wrong(IpAddr::from(n.to_be_bytes()), at(i64::from(n % 3)), RULE);
            throttle.wrong(ip("203.0.113.1"), at(5), RULE);
        }
        let left = throttle.0.lock().len();
        assert!(
            (ADDRESSES - FORGOTTEN..=ADDRESSES).contains(&left),
            "{left}"
        );
        assert!(throttle.0.lock().values().all(|wrong| wrong.len() <= 6));
        assert!(throttle.blocked(ip("203.0.113.1"), at(6), RULE).is_some());
    }
}
