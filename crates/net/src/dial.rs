//! Opens a stream to a host: tries its addresses in turn, each with a share of the time.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::{Error, Family, Ground, Names, Reach, Stream};

/// Maximum addresses tried per host: more would only make an unreachable host slower.
const TRIES: usize = 4;

/// What to connect to.
#[derive(Clone, Copy, Debug)]
pub struct Goal<'a> {
    /// A name or an address; an IPv6 address may have brackets.
    pub host: &'a str,
    /// The port.
    pub port: u16,
    /// Which of its addresses may be used.
    pub family: Family,
    /// Which private addresses it may have.
    pub reach: Reach<'a>,
}

/// Opens a stream to the first address that accepts one, and returns that address. `within` limits connecting;
/// looking up names has its own limit. The error is that of the address that got furthest.
pub async fn connect(
    ground: &dyn Ground,
    goal: Goal<'_>,
    within: Duration,
) -> Result<(Box<dyn Stream>, SocketAddr), Error> {
    let Goal {
        host,
        port,
        family,
        reach,
    } = goal;
    let addresses = Names::addresses(ground, host, port, family, reach).await?;
    let addresses = alternate(addresses);
    let end = Instant::now() + within;
    let mut told = Error::NoSuchHost;
    for (tried, address) in addresses.iter().enumerate() {
        let left = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let share = end.saturating_duration_since(Instant::now()) / left;
        let failed = match timeout(share, ground.connect(*address)).await {
            Ok(Ok(stream)) => return Ok((stream, *address)),
            Ok(Err(error)) => error,
            Err(_) => Error::TimedOut,
        };
        if tried == 0 || failed.weight() >= told.weight() {
            told = failed;
        }
    }
    Err(told)
}

/// Alternates between the two families, starting with that of the first address: a family that does not work here
/// delays the other by one share of the time, however many addresses it has.
fn alternate(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v4 = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let (first, second): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv4() == first_is_v4);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut order = Vec::new();
    while order.len() < TRIES {
        let before = order.len();
        order.extend(first.next());
        order.extend(second.next());
        if order.len() == before {
            break;
        }
    }
    order.truncate(TRIES);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns() {
        let parse = |texts: &[&str]| -> Vec<SocketAddr> {
            let texts = texts.iter();
            texts
                .map(|text| text.parse().expect("an address"))
                .collect()
        };
        let given = parse(&[
            "1.0.0.1:1",
            "1.0.0.2:1",
            "1.0.0.3:1",
            "1.0.0.4:1",
            "[2::1]:1",
        ]);
        let expected = parse(&["1.0.0.1:1", "[2::1]:1", "1.0.0.2:1", "1.0.0.3:1"]);
        assert_eq!(alternate(given), expected);
        let given = parse(&["[2::1]:1", "[2::2]:1", "1.0.0.1:1"]);
        let expected = parse(&["[2::1]:1", "1.0.0.1:1", "[2::2]:1"]);
        assert_eq!(alternate(given), expected);
        assert_eq!(alternate(Vec::new()), []);
    }
}
