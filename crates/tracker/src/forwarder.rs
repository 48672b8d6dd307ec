//! Sends announces on to other trackers and keeps what they say.
//!
//! Listener threads put announces into rings ([`crate::forwarding`]); one task takes them out, sees which trackers are
//! due, and submits one job for each to the engine, which decides when it is their turn.

mod farewell;
mod held_back;
mod task;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use weir_engine::dispatch::{Job, UpstreamId};
use weir_engine::{Call, Engine, Outward, RestoredJob};
use weir_tracker_proto::Event;
use weir_web::Upstreams;

use self::task::ForwarderTask;
use crate::call::{self, Announcing, TrackerProbe};
use crate::clock::TrackerClock;
use crate::exchange::{Exchange, ForwarderRules};
use crate::forwarding::{Forwarding, Rings};
use crate::outbound::Outbound;
use crate::policy::CLASSES;
use crate::sharing::Sharing;
use crate::swarm::Swarms;
use crate::upstreams::Forwarder;

/// After the drain time, calls under way have this long to end before they are cut.
const LAST_CALLS: Duration = Duration::from_secs(1);

/// The forwarders as the front holds them: what runs, and what pages ask about.
pub(crate) struct Forwarders {
    exchange: Arc<Exchange>,
    /// Workers at most; written by reloads.
    max_workers: AtomicU32,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Forwarders {
    /// Starts the task that empties the rings.
    ///
    /// # Errors
    /// When the way out cannot be made.
    pub(crate) fn start(
        rules: &ForwarderRules,
        outbound: Outbound,
        model: (Arc<Swarms>, Arc<Forwarding>),
        clock: TrackerClock,
        (mut outward, sharing): (Outward, Option<Arc<Sharing>>),
        rings: Rings,
    ) -> Arc<Self> {
        let with = (&mut outward, sharing);
        let exchange = Exchange::new(rules.judge, outbound, model, clock, with);
        let exchange = Arc::new(exchange);
        exchange.set(rules);
        // What other trackers said in an earlier run is in the ledger, and not in the records.
        exchange.mirror_all();
        for kept in &outward.restored.agenda {
            reschedule(&exchange, kept);
        }
        exchange.roster.settle();
        let stop = CancellationToken::new();
        let task = ForwarderTask::spawn(&exchange, rings, &stop);
        Arc::new(Self {
            exchange,
            max_workers: AtomicU32::new(rules.max_workers),
            stop,
            task: Mutex::new(Some(task)),
        })
    }

    /// Takes over a list of forwarders: those that stay keep their state.
    pub(crate) fn reload(&self, rules: &ForwarderRules) {
        let (base, max) = (rules.workers, rules.max_workers);
        self.exchange.engine.set_crew(base, max);
        self.max_workers.store(max, Ordering::Relaxed);
        if self.exchange.set(rules) {
            self.exchange.mirror_all();
        }
        self.exchange.roster.settle();
    }

    /// The operator has looked at the configuration: what the names of forwarders lead to now is right.
    pub(crate) fn look_up_anew(&self) {
        self.exchange.roster.look_up_anew();
    }

    /// Workers at most.
    pub(crate) fn max_workers(&self) -> u32 {
        self.max_workers.load(Ordering::Relaxed)
    }

    /// What they exchange with other trackers, for pages.
    pub(crate) fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// The same, for calls that go on by themselves.
    pub(crate) fn shared_exchange(&self) -> Arc<Exchange> {
        self.exchange.clone()
    }

    pub(crate) fn all(&self) -> Arc<Vec<Arc<Forwarder>>> {
        self.exchange.roster.all()
    }

    fn find<R>(&self, upstream: UpstreamId, look: impl FnOnce(&Forwarder) -> R) -> Option<R> {
        self.exchange.roster.find(upstream).as_deref().map(look)
    }

    /// Delivers the `stopped` events that clients sent, within the time; then ends everything.
    pub(crate) async fn stop(&self, drain: Duration) {
        let end = Instant::now() + drain;
        self.stop.cancel();
        let task = self.task.lock().take();
        if let Some(task) = task
            && task.await.is_err()
        {
            tracing::error!(front = "tracker", "the forwarders' task had panicked");
        }
        let exchange = &self.exchange;
        if let Err(left) = exchange.farewells.delivered(end).await {
            tracing::warn!(
                front = "tracker",
                left,
                "not all trackers were told in time who stopped"
            );
        }
        let left = end.saturating_duration_since(Instant::now());
        exchange.engine.shutdown(left.min(LAST_CALLS)).await;
        exchange.outbound.stop();
    }
}

/// Puts a retry back on the agenda that was there before the start.
fn reschedule(exchange: &Arc<Exchange>, kept: &RestoredJob) {
    let Some(forwarder) = exchange.roster.named(&kept.upstream) else {
        return;
    };
    let Some((announce, at)) = call::read(&kept.kept) else {
        return;
    };
    let hash = &announce.info_hash.0;
    // Retries are for those who are still here; what happened is told nevertheless.
    let happened = matches!(announce.event, Event::Stopped | Event::Completed);
    if !happened && !exchange.swarms.has_peer(hash, &at) {
        return;
    }
    if let Some(call) = Announcing::begin(exchange, &forwarder, &announce, at) {
        let job = Job {
            not_before: kept.due,
            attempts_made: kept.attempts_made,
            ..call.job(kept.class)
        };
        exchange.engine.reschedule(job, Arc::new(call));
        exchange.mirror(hash);
    }
}

impl Upstreams for Forwarders {
    fn engine(&self) -> &Engine {
        &self.exchange.engine
    }

    fn kind(&self) -> &'static str {
        "tracker"
    }

    fn has_form(&self) -> bool {
        true
    }

    fn place(&self, upstream: UpstreamId) -> String {
        self.find(upstream, Forwarder::place).unwrap_or_default()
    }

    fn probe(&self, upstream: UpstreamId) -> Option<Arc<dyn Call>> {
        let outbound = Arc::clone(&self.exchange.outbound);
        self.exchange
            .roster
            .probe(upstream, |forwarder| TrackerProbe {
                outbound,
                forwarder,
            })
    }

    fn classes(&self) -> &'static [&'static str] {
        &CLASSES
    }

    fn facts(&self, upstream: UpstreamId) -> Vec<(String, String)> {
        self.find(upstream, Forwarder::facts).unwrap_or_default()
    }

    fn last_interval(&self, upstream: UpstreamId) -> Option<Duration> {
        self.find(upstream, Forwarder::last_interval)?
    }
}

#[cfg(test)]
mod tests;
