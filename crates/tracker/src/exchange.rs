//! What is exchanged with other trackers, and what all calls to them share: who they are, the way out, what is known
//! there, and how answers are judged.

mod farewells;
mod foreign;
mod mirror;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use weir_engine::dispatch::Moment;
use weir_engine::{Engine, Outward, Reconciled, Roster};

use self::farewells::Farewells;
use self::foreign::Externals;
use crate::clock::TrackerClock;
use crate::config::forwarder::ForwarderEntry;
use crate::forwarding::Forwarding;
use crate::judge::Judge;
use crate::last_words::LastWords;
use crate::ledger::Ledger;
use crate::outbound::Outbound;
use crate::policy;
use crate::programs::Programs;
use crate::sharing::Sharing;
use crate::swarm::Swarms;
use crate::upstreams::Forwarder;

/// Percent of the queue from which it matters whose jobs fill it. Below, nobody is kept out, and who is slow need not be
/// asked of the engine, which has one lock.
const FILLING: u32 = 25;

/// One for all forwarders; every call holds it.
pub(crate) struct Exchange {
    pub(crate) swarms: Arc<Swarms>,
    pub(crate) forwarding: Arc<Forwarding>,
    pub(crate) engine: Engine,
    pub(crate) roster: Roster<Forwarder>,
    pub(crate) outbound: Arc<Outbound>,
    pub(crate) clock: TrackerClock,
    judge: ArcSwap<Judge>,
    pub(crate) farewells: Farewells,
    pub(crate) programs: Programs,
    pub(crate) words: LastWords,
    externals: Externals,
    /// The other nodes, if there are any.
    pub(crate) sharing: Option<Arc<Sharing>>,
}

/// Who the forwarders are and how they are asked; a reload replaces it.
pub(crate) struct ForwarderRules {
    pub(crate) entries: Vec<ForwarderEntry>,
    /// Calls to one of them at the same time.
    pub(crate) calls: u32,
    /// Time of one attempt at those that have none of their own.
    pub(crate) timeout: Duration,
    pub(crate) workers: u32,
    pub(crate) max_workers: u32,
    /// Events that an address may have sent on; 0 is any number.
    pub(crate) events_per_minute: u32,
    /// Seconds between two lines of the log about the same.
    pub(crate) log_every: u32,
    pub(crate) judge: Judge,
}

/// The forwarders as they are for a batch of announces.
pub(crate) struct Lineup {
    pub(crate) forwarders: Arc<Vec<Arc<Forwarder>>>,
    /// Until when each of them is left alone.
    pub(crate) cooldowns: Vec<Option<Moment>>,
}

impl Lineup {
    /// Those that may be called.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Arc<Forwarder>> {
        let all = self.forwarders.iter().zip(&self.cooldowns);
        all.filter(|(_, cooldown)| cooldown.is_none())
            .map(|(forwarder, _)| forwarder)
    }
}

impl Exchange {
    /// Takes the restored upstreams out of `outward`; the agenda stays there.
    pub(crate) fn new(
        judge: Judge,
        outbound: Outbound,
        (swarms, forwarding): (Arc<Swarms>, Arc<Forwarding>),
        clock: TrackerClock,
        (outward, sharing): (&mut Outward, Option<Arc<Sharing>>),
    ) -> Self {
        Self {
            swarms,
            forwarding,
            engine: outward.engine.clone(),
            roster: Roster::new(outward),
            outbound: Arc::new(outbound),
            clock,
            judge: ArcSwap::from_pointee(judge),
            farewells: Farewells::default(),
            programs: Programs::default(),
            words: LastWords::default(),
            externals: Externals::default(),
            sharing,
        }
    }

    /// Takes over a list of forwarders: those that stay keep their state. Says whether others are there now, so that all
    /// swarms are to be mirrored.
    pub(crate) fn set(&self, rules: &ForwarderRules) -> bool {
        let judge = self.judge().reloaded(rules.judge);
        self.judge.store(Arc::new(judge));
        let allowances = self.forwarding.allowances();
        allowances.set_per_minute(rules.events_per_minute);
        self.forwarding.overloads().set_log_every(rules.log_every);
        let before = self.roster.all();
        let in_use = |name: &str| {
            let mut configured = rules.entries.iter();
            configured.any(|entry| entry.name == name)
                || before.iter().any(|running| running.config.name == name)
        };
        let Reconciled { gone, any_new } = self.roster.reconcile(
            &rules.entries,
            |entry| {
                let time_out = entry.timeout.unwrap_or(rules.timeout);
                (policy::quota(rules.calls), time_out)
            },
            |entry, joining| {
                let before = joining.before.map(|before| before.slot);
                before.inspect(|slot| self.ledger().rename(*slot, &entry.name));
                let slot = before.unwrap_or_else(|| self.ledger().slot_of(&entry.name, in_use));
                Forwarder::new(entry, slot, &joining)
            },
        );
        for forwarder in &gone {
            self.ledger().forget_tracker(forwarder.slot);
        }
        let count = u32::try_from(rules.entries.len()).unwrap_or(u32::MAX);
        self.forwarding.set_forwarders(count);
        any_new || !gone.is_empty()
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        self.forwarding.ledger()
    }

    pub(crate) fn judge(&self) -> Judge {
        **self.judge.load()
    }

    /// The second of the clock after this time; never 0.
    pub(crate) fn seconds_in(&self, time: Duration) -> u32 {
        let now = self.engine.timeline().now();
        // A started second is a whole one: nobody is asked early.
        let then = now + time + Duration::from_nanos(999_999_999);
        self.clock.seconds_at(then).max(1)
    }

    pub(crate) fn lineup(&self) -> Lineup {
        let forwarders = self.roster.all();
        Lineup {
            cooldowns: self.cooldowns(&forwarders),
            forwarders,
        }
    }

    /// Until when each tracker is left alone.
    fn cooldowns(&self, forwarders: &[Arc<Forwarder>]) -> Vec<Option<Moment>> {
        let ids = forwarders.iter().map(|forwarder| forwarder.upstream);
        self.engine.rests(ids)
    }

    /// How many further jobs each tracker takes. Those that answer slowly hold half of the queue together at most: so the
    /// dead never keep the others out.
    pub(crate) fn room(&self, forwarders: &[Arc<Forwarder>]) -> Vec<u32> {
        let gate = self.engine.gate();
        if gate.fill_percent() < FILLING {
            return vec![u32::MAX; forwarders.len()];
        }
        let queued = |forwarder: &Arc<Forwarder>| {
            let status = self.engine.upstream(forwarder.upstream)?.status;
            status.slow.then_some(status.queued)
        };
        let slow: Vec<Option<u32>> = forwarders.iter().map(queued).collect();
        let count = slow.iter().flatten().count().max(1) as u32;
        let share = gate.capacity() / 2 / count;
        let room =
            |queued: Option<u32>| queued.map_or(u32::MAX, |queued| share.saturating_sub(queued));
        slow.into_iter().map(room).collect()
    }
}
