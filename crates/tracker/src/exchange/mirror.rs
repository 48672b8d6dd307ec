//! Tells the records of swarms what the ledger says of them.
//!
//! The ledger is the truth about calls: which trackers are being asked about a swarm, from when on each may be asked
//! again, and whether peers of theirs are known. No announce may cost a look there, so the swarm's own record, which
//! it has at hand, mirrors it in two flags and a minute. Whoever changes the ledger in one of these calls
//! [`Exchange::mirror`] afterwards, and nobody else writes them. Two things are not the ledger's: that a swarm was ever
//! forwarded is known to its record alone, and an announce that goes on keeps those of the same minute back by itself
//! (`Record::forward`). A listener that takes a new peer of ours out of the peers of others leaves the flag as it is:
//! with nothing behind it, it costs a look.
//!
//! Locks of swarms and of the ledger are never held together: an announce would take them in one order and the end of
//! a call in the other.

use std::sync::Arc;

use weir_engine::dispatch::Moment;

use super::Exchange;
use crate::clock::minute;
use crate::swarm::Mirrored;
use crate::upstreams::Forwarder;

/// Seconds after which a swarm looks again whether a tracker is still in its cooldown: an operator may have ended that.
const LOOK_AGAIN: u32 = 60;
/// As far away as the stamp of a record can tell, which wraps around, with some room: ten days.
const FARTHEST: u32 = 10 * 24 * 60 * 60;

impl Exchange {
    /// Makes the record of a swarm say what the ledger says, and wakes the replies that waited for it.
    ///
    /// Between reading here and writing there another call may have changed the ledger and mirrored that, which would
    /// be overwritten with what was true before. So the ledger is read again after writing, until it still says what was
    /// written: whoever writes last has then seen the last change.
    pub(crate) fn mirror(&self, hash: &[u8; 20]) {
        let forwarders = self.roster.all();
        let read = || {
            let slots = forwarders.iter().map(|forwarder| forwarder.slot);
            self.ledger().state(hash, slots)
        };
        let mut state = read();
        loop {
            let now = self.clock.now();
            let next = self.next_due(&forwarders, &state.dues, now.seconds);
            let mirrored = Mirrored {
                pending: state.pending,
                peers: state.peers,
                due: minute(next.clamp(now.seconds, now.seconds.saturating_add(FARTHEST))),
            };
            #[cfg(test)]
            crate::fault::in_mirror();
            self.swarms.mirror(hash, mirrored, now.minute);
            let after = read();
            if after == state {
                break;
            }
            state = after;
        }
        // Not before the record says so: a listener that has held a reply looks there once more, and either sees that
        // nobody is asked any more or is woken here.
        if state.peers || !state.pending {
            self.forwarding.wake(hash);
        }
    }

    /// The same for all swarms: there are other trackers now, or others than before.
    pub(crate) fn mirror_all(&self) {
        self.ledger().hashes(|hash| self.mirror(hash));
    }

    /// The first second at which one of these may be asked, as far as that is sure; a far one if there is none.
    fn next_due(&self, forwarders: &[Arc<Forwarder>], dues: &[u32], now: u32) -> u32 {
        let again = now.saturating_add(LOOK_AGAIN);
        let first = dues.iter().copied().min().unwrap_or(u32::MAX);
        // No cooldown counts for longer, so only who is due before is asked after at the engine, which has one lock.
        if first >= again {
            return first;
        }
        let left_alone = |until: Option<Moment>| {
            until.map_or(0, |until| self.clock.seconds_at(until).min(again))
        };
        let cooldowns = self.cooldowns(forwarders);
        let all = dues.iter().zip(cooldowns);
        let all = all.map(|(due, until)| (*due).max(left_alone(until)));
        all.min().unwrap_or(u32::MAX)
    }
}
