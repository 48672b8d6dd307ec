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
use crate::forwarding::overload::{LeftOut, Overload};
use crate::forwarding::{ForwardKind, Rings, SentAnnounce, Share};
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
                    self.note(false);
                    self.vital.guard(|| self.sweep(step, SWEEP_STEPS));
                    step = (step + 1) % SWEEP_STEPS;
                }
                () = stop.cancelled() => break,
            }
        }
        while let Ok(sent) = events.try_recv() {
            happened.push(sent);
        }
        self.take_events(&mut happened);
        // What happened since the last second is told as well.
        self.note(true);
    }

    /// Tells the engine what was held back, refused, dropped and left out.
    fn note(&self, ends: bool) {
        self.vital.guard(|| {
            self.note_held_back();
            self.note_overload(ends);
        });
    }

    /// An announce that panics gives its places back and is not sent on; its swarm is due again with its next one.
    fn take_regular(&self, batch: &mut Vec<SentAnnounce>) {
        let lineup = self.exchange.lineup();
        let mut room = self.exchange.room(&lineup.forwarders);
        let gate = self.exchange.engine.gate();
        let mut jobs = ReservedJobs::new();
        let mut none_due = 0;
        for sent in batch.drain(..) {
            let ForwardKind::Regular(share) = sent.kind else {
                continue;
            };
            let places = share.places.into();
            let before = jobs.len();
            let plan = || self.plan(&sent, share, &lineup, &mut room, &mut jobs);
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
            none_due += u64::from(made == 0);
        }
        self.exchange.engine.submit_reserved(jobs);
        self.count_from_memory(none_due);
    }

    /// Begins a call to each tracker that is due, as many as there are places.
    fn plan(
        &self,
        sent: &SentAnnounce,
        share: Share,
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
        due.retain(|(position, due)| *due <= now && lineup.cooldowns[*position].is_none());
        let eligible = due.len();
        due.retain(|(position, _)| room[*position] > 0);
        let slow = eligible - due.len();
        fastrand::shuffle(&mut due);
        self.leave_out(sent, share, (due.len(), slow));
        due.truncate(share.places.into());
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

    /// Counts the trackers that would have been asked, had there been room for them.
    fn leave_out(&self, sent: &SentAnnounce, share: Share, (eligible, slow): (usize, usize)) {
        let short = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let [places, asked, wanted] =
            [share.places, share.asked, share.wanted].map(|most| short(eligible.min(most.into())));
        // Where even those found no place, that is why the others were left out as well.
        let (filling, full) = match places < asked {
            true => (0, wanted - places),
            false => (wanted - asked, 0),
        };
        let (forwarding, gate) = (&self.exchange.forwarding, self.exchange.engine.gate());
        for (what, left_out) in [
            (Overload::LeftOut, filling),
            (Overload::LastPlaces, full),
            (Overload::Slow, short(slow)),
        ] {
            if left_out > 0 {
                gate.count_throttled(left_out);
                let left_out = LeftOut {
                    left_out,
                    asked: share.asked.into(),
                    fill: share.fill.into(),
                };
                let overloads = forwarding.overloads();
                overloads.note_left_out(what, &sent.announce, left_out);
            }
        }
    }

    fn take_events(&self, batch: &mut Vec<SentAnnounce>) {
        let lineup = self.exchange.lineup();
        let mut concerned_nobody = 0;
        for sent in batch.drain(..) {
            let made = self.vital.guard(|| match sent.kind {
                ForwardKind::Regular(_) => false,
                ForwardKind::Completed => self.complete(&lineup, &sent),
                ForwardKind::Stopped { last } | ForwardKind::Left { last } => {
                    self.take_leave(&lineup, &sent, last)
                }
            });
            concerned_nobody += u64::from(made != Some(true));
        }
        self.count_from_memory(concerned_nobody);
    }

    /// Tells all trackers that a peer has finished. Says whether there was any.
    fn complete(&self, lineup: &Lineup, sent: &SentAnnounce) -> bool {
        #[cfg(test)]
        crate::fault::on_forward(&sent.announce.info_hash.0);
        let mut made = false;
        for forwarder in lineup.open() {
            let call = Announcing::begin(&self.exchange, forwarder, &sent.announce, sent.at);
            made |= self.submit_event(call);
        }
        self.exchange.mirror(&sent.announce.info_hash.0);
        made
    }

    /// Says whether there was a call to submit.
    pub(super) fn submit_event(&self, call: Option<Announcing>) -> bool {
        let Some(call) = call else {
            return false;
        };
        let job = call.job(EVENT);
        self.exchange.engine.submit_detached(job, Arc::new(call));
        true
    }

    /// Announces that were handed on here, and of which nobody had to hear: answered from memory alone.
    fn count_from_memory(&self, announces: u64) {
        if announces > 0 {
            self.exchange.engine.count_from_memory(announces);
        }
    }
}
