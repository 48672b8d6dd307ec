//! How many take part in a swarm, as clients are told: our own peers together with those that other trackers named.
//!
//! Both are counted alike, each address once or each address and port. Peers of others are taken for seeders: nobody
//! says what they are. One at an address where a peer of ours is counts there already.

use smallvec::SmallVec;

use super::entry::PeerEntry;
use super::record::Record;
use super::{ForwardFlags, PeerCounting, SwarmCounts, Swarms};

/// Our own peers of one swarm, as far as counting needs them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalPeers {
    /// What other trackers have to do with it.
    pub flags: ForwardFlags,
    /// By address and port.
    endpoints: SwarmCounts,
    /// By address, if they are counted so.
    few: Option<FewPeers>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FewPeers {
    counts: SwarmCounts,
    /// Swarms of more peers than this, with those of others, are counted by endpoint.
    most: usize,
    /// Where they are, if somebody else may be there too. An address may be in it twice.
    v4: SmallVec<[[u8; 4]; 16]>,
    v6: SmallVec<[[u8; 16]; 4]>,
}

/// Peers of other trackers in one swarm; none twice, and none that is ours.
#[derive(Clone, Copy, Debug, Default)]
pub struct OtherPeers<'a> {
    /// Those of IPv4, as they are sent.
    pub v4: &'a [[u8; 6]],
    /// Those of IPv6.
    pub v6: &'a [[u8; 18]],
    /// How many different addresses they have; used only where they are few.
    pub addresses: u16,
}

impl OtherPeers<'_> {
    fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// How many different addresses they have.
    pub(crate) fn count_addresses(&self) -> u16 {
        (fresh(self.v4, |_: &[u8; 4]| true) + fresh(self.v6, |_: &[u8; 16]| true)) as u16
    }
}

impl LocalPeers {
    /// How many of ours there are.
    pub fn peers(&self) -> u32 {
        self.endpoints.seeders + self.endpoints.leechers
    }

    /// Who takes part, with the peers of others.
    pub fn with(&self, others: OtherPeers<'_>) -> SwarmCounts {
        let (mut counts, beside) = self.split(others);
        counts.seeders = counts.seeders.saturating_add(beside);
        counts
    }

    /// The same apart: ours, and how many those of others add.
    pub fn split(&self, others: OtherPeers<'_>) -> (SwarmCounts, u32) {
        let all = self.peers() as usize + others.len();
        match &self.few {
            Some(few) if all <= few.most => (few.counts, few.beside(others)),
            _ => (self.endpoints, others.len() as u32),
        }
    }
}

impl FewPeers {
    /// Addresses of others at which none of ours is.
    fn beside(&self, others: OtherPeers<'_>) -> u32 {
        let here = fresh(others.v4, |address| self.v4.contains(address))
            + fresh(others.v6, |address| self.v6.contains(address));
        u32::from(others.addresses).saturating_sub(here as u32)
    }
}

/// How many different addresses there are that `wanted` holds for.
fn fresh<const WIRE: usize, const ADDRESS: usize>(
    peers: &[[u8; WIRE]],
    wanted: impl Fn(&[u8; ADDRESS]) -> bool,
) -> usize {
    let address = |peer: &[u8; WIRE]| {
        let address = peer.first_chunk::<ADDRESS>();
        *address.expect("the port follows the address")
    };
    let mut count = 0;
    for (position, peer) in peers.iter().enumerate() {
        let its = address(peer);
        // Few are wanted, so the look at those before is last.
        if wanted(&its) && !peers[..position].iter().any(|other| address(other) == its) {
            count += 1;
        }
    }
    count
}

impl Swarms {
    /// Our own peers of a swarm; `None` if there is no such swarm.
    #[inline(never)]
    pub fn local(&self, hash: &[u8; 20]) -> Option<LocalPeers> {
        self.at(hash, |record, _| record.local(self.rules.count_by))
    }
}

impl Record {
    fn local(&self, by: PeerCounting) -> LocalPeers {
        let (v4, v6) = self.cuts();
        let flags = self.flags();
        let few = match by {
            PeerCounting::Address(most) if v4.len + v6.len <= most => Some(FewPeers {
                counts: self.counts(by),
                most: most as usize,
                v4: addresses(self.slots_v4(), v4.len, flags),
                v6: addresses(self.slots_v6(), v6.len, flags),
            }),
            _ => None,
        };
        LocalPeers {
            flags,
            endpoints: self.counts(PeerCounting::Endpoint),
            few,
        }
    }
}

/// The addresses of the first `len`, where anybody else is known.
fn addresses<const N: usize, const ADDRESS: usize, A>(
    slots: &[PeerEntry<N>],
    len: u32,
    flags: ForwardFlags,
) -> SmallVec<A>
where
    A: smallvec::Array<Item = [u8; ADDRESS]>,
{
    if !flags.has(ForwardFlags::PEERS) {
        return SmallVec::new();
    }
    let taken = slots[..len as usize].iter();
    taken
        .map(|entry| entry.address().try_into().expect("of one family"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(seeders: u32, leechers: u32) -> SwarmCounts {
        SwarmCounts {
            seeders,
            leechers,
            completed: 7,
        }
    }

    fn local(most: Option<usize>) -> LocalPeers {
        LocalPeers {
            flags: ForwardFlags::PEERS,
            endpoints: counts(3, 2),
            few: most.map(|most| FewPeers {
                counts: counts(2, 1),
                most,
                v4: [1, 1, 2, 3, 3]
                    .map(|last| [10, 0, 0, last])
                    .into_iter()
                    .collect(),
                v6: SmallVec::new(),
            }),
        }
    }

    fn told(local: &LocalPeers, lasts: &[u8]) -> SwarmCounts {
        let wire = |(port, last): (u8, &u8)| [10, 0, 0, *last, 0, port];
        let v4: Vec<[u8; 6]> = (1..).zip(lasts).map(wire).collect();
        let others = OtherPeers {
            v4: &v4,
            ..OtherPeers::default()
        };
        let addresses = others.count_addresses();
        local.with(OtherPeers {
            addresses,
            ..others
        })
    }

    #[test]
    fn each_address_counts_once_whoever_named_it() {
        let local = local(Some(10));
        assert_eq!(told(&local, &[]), counts(2, 1));
        assert_eq!(told(&local, &[7, 7, 8]), counts(4, 1), "two addresses");
        assert_eq!(told(&local, &[1, 3, 3, 8]), counts(3, 1), "two are here");
    }

    #[test]
    fn many_are_counted_by_endpoint_ours_and_theirs_alike() {
        let at_most_8 = local(Some(8));
        assert_eq!(told(&at_most_8, &[7, 7, 7]), counts(3, 1));
        assert_eq!(told(&at_most_8, &[7, 7, 7, 7]), counts(7, 2), "nine in all");
        assert_eq!(told(&local(None), &[7, 7, 1]), counts(6, 2));
    }
}
