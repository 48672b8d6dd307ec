//! Connection ids (BEP 15): proof that a client gets what is sent to its address.
//!
//! Nothing is kept: an id is the time it was made, in steps of 64 seconds, and a keyed hash of that time and the
//! address. It holds for at least two minutes and less than three and a quarter, as BEP 15 asks.

use std::hash::Hasher;
use std::net::IpAddr;

use siphasher::sip::SipHasher13;
use weir_tracker_proto::udp::ConnectionId;

use crate::clock::Now;

/// Seconds in which ids are the same.
const EPOCH: u32 = 64;
/// Besides the current epoch, so many before it are good: BEP 15 has a tracker accept an id for two minutes.
const BEFORE: u32 = 2;

/// Makes and checks ids.
#[derive(Clone)]
pub(crate) struct ConnectionIds {
    key: [u8; 16],
}

impl ConnectionIds {
    /// With a key that nobody knows.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut key = [0; 16];
        getrandom::fill(&mut key)?;
        Ok(Self { key })
    }

    #[inline]
    pub(crate) fn make(&self, address: IpAddr, now: Now) -> ConnectionId {
        let epoch = epoch(now);
        ConnectionId(u64::from(epoch) << 32 | u64::from(self.hash(address, epoch)))
    }

    #[inline]
    pub(crate) fn check(&self, id: ConnectionId, address: IpAddr, now: Now) -> bool {
        let epoch_of_id = (id.0 >> 32) as u32;
        let fresh = epoch(now).wrapping_sub(epoch_of_id) <= BEFORE;
        fresh && id.0 as u32 == self.hash(address, epoch_of_id)
    }

    #[inline]
    fn hash(&self, address: IpAddr, epoch: u32) -> u32 {
        let mut hasher = SipHasher13::new_with_key(&self.key);
        match address {
            IpAddr::V4(v4) => {
                hasher.write_u64(u64::from(epoch) << 32 | u64::from(u32::from(v4)));
            }
            IpAddr::V6(v6) => {
                hasher.write_u32(epoch);
                hasher.write_u128(v6.into());
            }
        }
        hasher.finish() as u32
    }
}

/// Never 0, so that no id is.
fn epoch(now: Now) -> u32 {
    now.seconds / EPOCH + BEFORE + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swarm::Minute;

    fn at(seconds: u32) -> Now {
        Now {
            moment: weir_engine::dispatch::Moment(0),
            minute: Minute::START,
            seconds,
        }
    }

    #[test]
    fn an_id_holds_two_minutes_for_its_own_address() {
        let ids = ConnectionIds::new().unwrap();
        for address in ["203.0.113.9", "2001:db8::9"] {
            let address: IpAddr = address.parse().unwrap();
            for made in [0, 63, 64, 1000] {
                let id = ids.make(address, at(made));
                for later in [0, 60, 120, 128] {
                    assert!(ids.check(id, address, at(made + later)), "{made} {later}");
                }
                assert!(!ids.check(id, address, at(made + 192)), "too old");
            }
            let future = ids.make(address, at(10_000));
            assert!(!ids.check(future, address, at(0)), "not made yet");
        }
    }

    #[test]
    fn an_id_of_another_address_or_key_is_refused() {
        let ids = ConnectionIds::new().unwrap();
        let one: IpAddr = "203.0.113.9".parse().unwrap();
        let id = ids.make(one, at(0));
        assert!(!ids.check(id, "203.0.113.10".parse().unwrap(), at(0)));
        assert!(!ids.check(id, "2001:db8::9".parse().unwrap(), at(0)));
        assert!(!ConnectionIds::new().unwrap().check(id, one, at(0)));
        assert!(!ids.check(ConnectionId(id.0 ^ 1), one, at(0)));
        assert!(!ids.check(ConnectionId(0), one, at(0)));
    }
}
