//! The one task that turns announces into jobs.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use weir_engine::dispatch::Job;
use weir_engine::{Call, Ended, Vital};

use crate::call::Announcing;
use crate::exchange::{Exchange, Lineup};
use crate::forwarding::{ForwardKind, Rings, SentAnnounce};
use crate::policy::{EVENT, INITIAL, REANNOUNCE};

/// Announces taken from the ring at once: they share one look at the forwarders and one lock of the engine.
const BATCH: usize = 256;
/// The whole ledger is looked through in so many seconds, a part in each: announces wait behind a sweep.
const SWEEP_STEPS: usize = 64;

/// What the task works with. It may panic and be run again: nothing is kept here between two steps.
pub(super) struct ForwarderTask {
    pub(super) exchange: Arc<Exchange>,
    vital: Vital,
}

/// Jobs with reserved places, on their way to the engine.
type ReservedJobs = Vec<(Job, Arc<dyn Call>)>;

impl ForwarderTask {
    pub(super) fn spawn(
        exchange: &Arc<Exchange>,
        rings: Rings,
        stop: &CancellationToken,
    ) -> JoinHandle<()> {
        let vital = exchange.engine.vitals().add("tracker", "forwarder");
        let task = Arc::new(Self {
            exchange: Arc::clone(exchange),
            vital: vital.clone(),
        });
        let stop = stop.clone();
        let run = vital.drive(rings, move |rings| {
            Box::pin(Arc::clone(&task).run(rings, stop.clone()))
        });
        let runtime = tokio::runtime::Handle::current();
        runtime.spawn(run)
    }

    /// Turns announces into jobs until it is stopped, and then the events that are still in their ring.
    async fn run(self: Arc<Self>, rings: &mut Rings, stop: CancellationToken) {
        let Rings { regular, events } = rings;
        let mut tick = tokio::time::interval(Duration::from_secs(1));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut batch, mut happened) = (Vec::with_capacity(BATCH), Vec::new());
        let mut step = 0;
        loop {
            tokio::select! {
                biased;
                _ = events.recv_many(&mut happened, BATCH) => self.take_events(&mut happened),
                _ = regular.recv_many(&mut batch, BATCH) => self.take_regular(&mut batch),
                _ = tick.tick() => {
                    self.vital.guard(|| {
                        self.note_held_back();
                        self.sweep(step, SWEEP_STEPS);
                    });
                    step = (step + 1) % SWEEP_STEPS;
                }
                () = stop.cancelled() => break,
            }
        }
        while let Ok(sent) = events.try_recv() {
            happened.push(sent);
        }
        self.take_events(&mut happened);
    }

    /// An announce that panics gives its places back and is not sent on; its swarm is due again with its next one.
    fn take_regular(&self, batch: &mut Vec<SentAnnounce>) {
        let lineup = self.exchange.lineup();
        let mut room = self.exchange.room(&lineup.forwarders);
        let gate = self.exchange.engine.gate();
        let mut jobs = ReservedJobs::new();
        for sent in batch.drain(..) {
            let ForwardKind::Regular { places } = sent.kind else {
                continue;
            };
            let before = jobs.len();
            let plan = || self.plan(&sent, places, &lineup, &mut room, &mut jobs);
            let planned = self.vital.guard(plan);
            self.vital.guard(|| {
                if planned.is_none() {
                    // They were begun, and the engine that would end them never sees them.
                    let begun = jobs.drain(before..);
                    begun.for_each(|(_, call)| call.ended(Ended::Panicked));
                }
                self.exchange.mirror(&sent.announce.info_hash.0);
            });
            let made = u32::try_from(jobs.len() - before).unwrap_or(places);
            gate.release(places.saturating_sub(made));
        }
        self.exchange.engine.submit_reserved(jobs);
    }

    /// Begins a call to each tracker that is due, as many as there are places.
    fn plan(
        &self,
        sent: &SentAnnounce,
        places: u32,
        lineup: &Lineup,
        room: &mut [u32],
        jobs: &mut ReservedJobs,
    ) {
        let hash = &sent.announce.info_hash.0;
        #[cfg(test)]
        crate::fault::on_forward(hash);
        if !self.exchange.swarms.has_peer(hash, &sent.at) {
            return; // who stopped meanwhile is not announced any more
        }
        let now = self.exchange.clock.now().seconds;
        let slots = lineup.forwarders.iter().map(|forwarder| forwarder.slot);
        let dues = self.exchange.ledger().state(hash, slots).dues;
        let mut due: Vec<(usize, u32)> = dues.into_iter().enumerate().collect();
        due.retain(|(position, due)| {
            *due <= now && lineup.cooldowns[*position].is_none() && room[*position] > 0
        });
        fastrand::shuffle(&mut due);
        due.truncate(places as usize);
        for (position, due) in due {
            let forwarder = &lineup.forwarders[position];
            let call = Announcing::begin(&self.exchange, forwarder, &sent.announce, sent.at);
            if let Some(call) = call {
                let class = if due == 0 { INITIAL } else { REANNOUNCE };
                jobs.push((call.job(class), Arc::new(call)));
                room[position] -= 1;
            }
        }
    }

    fn take_events(&self, batch: &mut Vec<SentAnnounce>) {
        let lineup = self.exchange.lineup();
        for sent in batch.drain(..) {
            self.vital.guard(|| match sent.kind {
                ForwardKind::Regular { .. } => {}
                ForwardKind::Completed => {
                    #[cfg(test)]
                    crate::fault::on_forward(&sent.announce.info_hash.0);
                    for forwarder in lineup.open() {
                        let call =
                            Announcing::begin(&self.exchange, forwarder, &sent.announce, sent.at);
                        self.submit_event(call);
                    }
                    self.exchange.mirror(&sent.announce.info_hash.0);
                }
                ForwardKind::Stopped { last } => self.take_leave(&lineup, &sent, last),
            });
        }
    }

    pub(super) fn submit_event(&self, call: Option<Announcing>) {
        if let Some(call) = call {
            let job = call.job(EVENT);
            self.exchange.engine.submit_detached(job, Arc::new(call));
        }
    }
}
