//! How many downloads an address may make in a minute; an IPv6 network counts as one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);
/// Addresses that are remembered; beyond that all others share one count.
const MOST: usize = 10_000;

/// Counts by address.
#[derive(Default)]
pub(crate) struct Throttle(Mutex<HashMap<IpAddr, (Instant, u32)>>);

impl Throttle {
    /// Counts one; says how many seconds to wait if that is too many.
    pub(crate) fn take(&self, address: IpAddr, per_minute: u32) -> Result<(), u64> {
        if per_minute == 0 {
            return Ok(());
        }
        let (now, address) = (Instant::now(), weir_web::network(address));
        let mut counts = self.0.lock();
        let address = match counts.len() >= MOST && !counts.contains_key(&address) {
            true => IpAddr::from([0, 0, 0, 0]),
            false => address,
        };
        let (since, count) = counts.entry(address).or_insert((now, 0));
        if now.duration_since(*since) >= MINUTE {
            (*since, *count) = (now, 0);
        }
        if *count >= per_minute {
            let wait = MINUTE.saturating_sub(now.duration_since(*since));
            return Err(wait.as_secs() + 1);
        }
        *count += 1;
        Ok(())
    }

    /// Forgets who was quiet for a minute.
    pub(crate) fn sweep(&self) {
        self.0
            .lock()
            .retain(|_, (since, _)| since.elapsed() < MINUTE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_address_has_so_many_a_minute() {
        let throttle = Throttle::default();
        let (one, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        assert!(throttle.take(one, 2).is_ok() && throttle.take(one, 2).is_ok());
        assert_eq!(throttle.take(one, 2), Err(61));
        assert!(throttle.take(other, 2).is_ok());
        tokio::time::advance(MINUTE).await;
        assert!(throttle.take(one, 2).is_ok());
        assert!(throttle.take(one, 0).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn an_ipv6_network_is_one_address() {
        let throttle = Throttle::default();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(throttle.take(ip("2001:db8::1"), 1).is_ok());
        assert!(throttle.take(ip("2001:db8::2"), 1).is_err());
        assert!(throttle.take(ip("2001:db8:0:1::1"), 1).is_ok());
    }
}
