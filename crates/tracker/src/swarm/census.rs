//! How many swarms and peers there are, kept as they come and go, so that nobody has to count.

use std::sync::atomic::{AtomicU32, Ordering};

use super::peers::Cut;

/// Swarms and peers of all shards. Written under the shard's lock by whoever changes a swarm.
#[derive(Debug, Default)]
pub(super) struct Census {
    swarms: AtomicU32,
    v4: AtomicU32,
    v6: AtomicU32,
    seeders: AtomicU32,
}

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Info hashes with at least one peer.
    pub swarms: u32,
    /// Peers in IPv4.
    pub v4: u32,
    /// Peers in IPv6.
    pub v6: u32,
    /// Those of both that have everything.
    pub seeders: u32,
}

impl Totals {
    /// Peers of both families.
    pub fn peers(&self) -> u32 {
        self.v4 + self.v6
    }

    /// Peers that lack something; read at slightly different moments, so never less than none.
    pub fn leechers(&self) -> u32 {
        self.peers().saturating_sub(self.seeders)
    }
}

impl Census {
    pub(super) fn totals(&self) -> Totals {
        let read = |count: &AtomicU32| count.load(Ordering::Relaxed);
        Totals {
            swarms: read(&self.swarms),
            v4: read(&self.v4),
            v6: read(&self.v6),
            seeders: read(&self.seeders),
        }
    }

    #[inline]
    pub(super) fn swarms(&self) -> u32 {
        self.swarms.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn peers(&self) -> u32 {
        self.v4.load(Ordering::Relaxed) + self.v6.load(Ordering::Relaxed)
    }

    pub(super) fn swarm_came(&self) {
        self.swarms.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn swarm_went(&self) {
        self.swarms.fetch_sub(1, Ordering::Relaxed);
    }

    /// A swarm had peers as in `before` and has them as in `after`, IPv4 and IPv6.
    #[inline]
    pub(super) fn changed(&self, before: (Cut, Cut), after: (Cut, Cut)) {
        if before == after {
            return;
        }
        let seeders = |(v4, v6): (Cut, Cut)| v4.seeders + v6.seeders;
        step(&self.v4, before.0.len, after.0.len);
        step(&self.v6, before.1.len, after.1.len);
        step(&self.seeders, seeders(before), seeders(after));
    }
}

fn step(count: &AtomicU32, before: u32, after: u32) {
    if before != after {
        // Wraps on the way down as it should.
        count.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }
}
