//! What one household may have of the server at a time: commands a second, and bytes that wait for its clients.
//!
//! Connections are shared out by `weir_web::seats`. Whoever is near ([`weir_web::Client::near`]) has no pace, and may have
//! all the bytes.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use weir_web::{Client, Household};

/// Bytes are counted in units of this many.
const UNIT: usize = 1024;

/// One household has this part of the bytes at most.
const PART: u32 = 8;

/// This much of a second's commands may come at once.
const BURST: Duration = Duration::from_secs(1);

/// The households that have connections, and what they share.
pub(super) struct Shares {
    households: Mutex<HashMap<Household, Weak<ClientShare>>>,
    bytes: Arc<Semaphore>,
    units: u32,
}

/// The share of one household; its connections hold it.
pub(super) struct ClientShare {
    /// When the next command would have its turn if all were evenly spread; nothing for whoever has no pace.
    turn: Option<Mutex<Instant>>,
    own: Arc<Semaphore>,
    own_units: u32,
    all: Arc<Semaphore>,
}

/// Bytes that a client was promised; given back when dropped.
pub(super) struct HeldBytes {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Shares {
    pub(super) fn new(bytes: usize) -> Self {
        let units = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX);
        // The semaphore cannot count further.
        let units = units.clamp(PART, u32::MAX >> 3);
        Self {
            households: Mutex::default(),
            bytes: Arc::new(Semaphore::new(units as usize)),
            units,
        }
    }

    /// The share of a client, together with all others of its household.
    pub(super) fn of(&self, client: &Client) -> Arc<ClientShare> {
        if client.near() {
            return Arc::new(self.share(None, self.units));
        }
        let household = Household::of(client.address);
        let mut households = self.households.lock();
        if let Some(share) = households.get(&household).and_then(Weak::upgrade) {
            return share;
        }
        // As many as there are connections at most, so this is done seldom enough.
        households.retain(|_, share| share.strong_count() > 0);
        let turn = Some(Mutex::new(Instant::now()));
        let share = Arc::new(self.share(turn, self.units / PART));
        households.insert(household, Arc::downgrade(&share));
        share
    }

    fn share(&self, turn: Option<Mutex<Instant>>, own_units: u32) -> ClientShare {
        ClientShare {
            turn,
            own: Arc::new(Semaphore::new(own_units as usize)),
            own_units,
            all: self.bytes.clone(),
        }
    }
}

impl ClientShare {
    /// When a command that came now has its turn. Each connection has one at a time, so nobody waits for more turns than
    /// the household has connections.
    pub(super) fn turn(&self, now: Instant, per_second: u32) -> Instant {
        let Some(turn) = &self.turn else {
            return now;
        };
        let mut turn = turn.lock();
        let start = (*turn).max(now.checked_sub(BURST).unwrap_or(now));
        *turn = start + BURST / per_second.max(1);
        start.max(now)
    }

    /// Waits until so many bytes may be held for this household. More than there are altogether count as all of them.
    pub(super) async fn hold(&self, bytes: usize) -> Option<HeldBytes> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let units = units.clamp(1, self.own_units);
        // First its own, so that whoever waits for those keeps nobody else waiting.
        let own = self.own.clone().acquire_many_owned(units).await.ok()?;
        let all = self.all.clone().acquire_many_owned(units).await.ok()?;
        Some(HeldBytes {
            _own: own,
            _all: all,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use futures_util::FutureExt;

    use super::*;

    fn client(address: &str, near: bool) -> Client {
        Client {
            address: address.parse::<IpAddr>().unwrap(),
            loopback: false,
            trusted: near,
            proxied: false,
            https: false,
            strange_name: false,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_of_commands_comes_at_once_and_then_one_after_the_other() {
        let shares = Shares::new(1 << 20);
        let (one, other) = (
            shares.of(&client("2001:db8::1", false)),
            shares.of(&client("2001:db8::2", false)),
        );
        tokio::time::advance(Duration::from_secs(5)).await;
        let now = Instant::now();
        for _ in 0..5 {
            assert_eq!(one.turn(now, 10), now);
            assert_eq!(other.turn(now, 10), now, "of the same household");
        }
        assert_eq!(one.turn(now, 10), now, "the eleventh");
        let step = Duration::from_millis(100);
        assert_eq!(other.turn(now, 10), now + step);
        assert_eq!(one.turn(now, 10), now + 2 * step);
        let elsewhere = shares.of(&client("2001:db8:0:1::1", false));
        assert_eq!(elsewhere.turn(now, 10), now);
        let near = shares.of(&client("192.0.2.1", true));
        for _ in 0..100 {
            assert_eq!(near.turn(now, 10), now);
        }
    }

    #[tokio::test]
    async fn one_household_holds_an_eighth_and_somebody_near_all() {
        let shares = Shares::new(64 * UNIT);
        let one = shares.of(&client("192.0.2.1", false));
        let held = one.hold(1 << 30).await.unwrap();
        assert!(one.hold(1).now_or_never().is_none(), "its share is held");
        let other = shares.of(&client("192.0.2.2", false));
        assert!(other.hold(8 * UNIT).now_or_never().is_some());
        let near = shares.of(&client("192.0.2.3", true));
        assert!(
            near.hold(64 * UNIT).now_or_never().is_none(),
            "one eighth is held"
        );
        drop(held);
        assert!(near.hold(64 * UNIT).now_or_never().is_some());
    }

    #[tokio::test]
    async fn households_without_connections_are_forgotten() {
        let shares = Shares::new(1 << 20);
        for n in 0..100_u8 {
            drop(shares.of(&client(&format!("192.0.2.{n}"), false)));
        }
        assert_eq!(shares.households.lock().len(), 1);
    }
}
