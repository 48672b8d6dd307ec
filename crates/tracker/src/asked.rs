//! Which trackers were asked about a swarm, when each is asked next, and what it said: as pages show it.

use std::sync::Arc;

use weir_engine::dispatch::Moment;

use crate::exchange::{Exchange, Lineup};
use crate::last_words::LastWord;
use crate::ledger::view::AskedTracker;
use crate::upstreams::Forwarder;

/// When a tracker is asked next. Sooner ones are less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NextAsk {
    /// A call to it is queued, under way or scheduled.
    Now,
    /// With the next announce of a client.
    WithAnnounce,
    /// With the first announce after this.
    After(Moment),
    /// Not before an operator switches it on.
    Off,
}

/// One forwarder and one swarm.
pub(crate) struct AskedForwarder {
    pub(crate) forwarder: Arc<Forwarder>,
    pub(crate) asked: AskedTracker,
    pub(crate) next: NextAsk,
}

impl Exchange {
    /// What the forwarders were asked about a swarm, in their order.
    pub(crate) fn asked(&self, hash: &[u8; 20], lineup: &Lineup) -> Vec<AskedForwarder> {
        let now = self.clock.now();
        let slots = lineup.forwarders.iter().map(|forwarder| forwarder.slot);
        let asked = self.ledger().asked(hash, slots).into_iter();
        let all = lineup.forwarders.iter().zip(&lineup.cooldowns).zip(asked);
        all.map(|((forwarder, cooldown), asked)| {
            let due = match asked.due {
                due if due > now.seconds => self.clock.moment_of(due),
                _ => now.moment,
            };
            let from = cooldown.map_or(due, |until| until.max(due));
            let next = match from {
                _ if asked.is_asked => NextAsk::Now,
                from if from == Moment::NEVER => NextAsk::Off,
                from if from > now.moment => NextAsk::After(from),
                _ => NextAsk::WithAnnounce,
            };
            AskedForwarder {
                forwarder: Arc::clone(forwarder),
                asked,
                next,
            }
        })
        .collect()
    }

    /// What a forwarder last said about a swarm, if that is still known.
    pub(crate) fn last_word(&self, hash: &[u8; 20], forwarder: &Forwarder) -> Option<LastWord> {
        self.words.get(hash, forwarder.upstream)
    }
}
