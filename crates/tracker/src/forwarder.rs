//! Sends announces on to other trackers and keeps what they say.
//!
//! Listener threads put announces into a ring ([`crate::forwarding`]); one task takes them out, sees which trackers are
//! due, and submits one job for each to the engine, which decides when it is their turn.

mod held_back;
pub(crate) mod office;

use std::cell::LazyCell;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use weir_engine::dispatch::{Job, Moment, UpstreamId};
use weir_engine::{Call, Outward, Restored, Rows, Vital};
use weir_tracker_proto::announce::Endpoint as Stated;
use weir_tracker_proto::{Announce, Event};

use self::office::{Office, Roster};
use crate::call::{self, Announcing};
use crate::clock::Clock;
use crate::config::{Config, forwarder};
use crate::forwarding::allowance::{Held, Network};
use crate::forwarding::{Kind, Sent};
use crate::judge::Terms;
use crate::ledger::sheet::{self, Slot};
use crate::outbound::{Options, Outbound, Target};
use crate::policy::{self, EVENT, INITIAL, REANNOUNCE};
use crate::swarm::{Endpoint, Upstream};
use crate::tracker::Tracker;

/// Announces taken from the ring at once.
const BATCH: usize = 256;
/// The whole ledger is looked through in so many seconds.
const SWEEP_STEPS: usize = 64;
/// Bytes of an answer over HTTP.
const BODY_LIMIT: usize = 256 << 10;
/// Redirects that are followed.
const REDIRECTS: u8 = 3;

/// One tracker that announces are sent on to.
#[derive(Debug)]
pub(crate) struct Forwarder {
    pub(crate) slot: Slot,
    pub(crate) upstream: UpstreamId,
    pub(crate) config: forwarder::Forwarder,
    pub(crate) target: Target,
    /// The interval it named last, in seconds; 0 before that.
    pub(crate) interval: AtomicU32,
}

/// Names by slot, also of those that are gone; written by reloads, read by the keeper of files.
pub(crate) type Names = Arc<Mutex<Vec<String>>>;

/// All of them, running.
pub(crate) struct Forwarders {
    pub(crate) office: Arc<Office>,
    rows: Option<Arc<Rows>>,
    slots: Names,
    /// Workers at most; written by reloads.
    max_workers: AtomicU32,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Forwarder {
    /// The addresses it is told for our clients.
    pub(crate) fn stated(
        &self,
    ) -> (
        Option<Stated<std::net::Ipv4Addr>>,
        Option<Stated<std::net::Ipv6Addr>>,
    ) {
        match self.config.ip {
            None => (None, None),
            Some(IpAddr::V4(address)) => (
                Some(Stated {
                    address,
                    port: None,
                }),
                None,
            ),
            Some(IpAddr::V6(address)) => (
                None,
                Some(Stated {
                    address,
                    port: None,
                }),
            ),
        }
    }
}

impl Forwarders {
    /// Starts the task that empties the rings.
    ///
    /// # Errors
    /// When the way out cannot be made.
    pub(crate) fn start(
        config: &Config,
        tracker: &Arc<Tracker>,
        clock: Clock,
        outward: Outward,
        rings: (mpsc::Receiver<Sent>, mpsc::Receiver<Sent>),
        names: Names,
    ) -> Result<Arc<Self>, weir_net::Error> {
        let Outward {
            engine,
            rows,
            restored,
            ground,
        } = outward;
        let options = Options {
            private: config.allow_private_upstreams,
            connection_life: config.udp_connection_life,
            body_limit: BODY_LIMIT,
            redirects: REDIRECTS,
        };
        let outbound = Outbound::new(ground, options)?;
        let office = Office::new(
            Arc::clone(tracker),
            engine,
            outbound,
            clock,
            Terms::new(config),
        );
        let forwarders = Arc::new(Self {
            office: Arc::new(office),
            rows,
            slots: names,
            max_workers: AtomicU32::new(config.max_workers().get()),
            stop: CancellationToken::new(),
            task: Mutex::default(),
        });
        forwarders.set(config, Some(&restored));
        forwarders.reschedule(&restored);
        forwarders.settle_rows();
        let vital = forwarders
            .office
            .engine
            .vitals()
            .add("tracker", "forwarder");
        let (office, stop) = (Arc::clone(&forwarders.office), forwarders.stop.clone());
        let run = vital.clone().drive(rings, move |rings| {
            Box::pin(Arc::clone(&office).run(rings, stop.clone(), vital.clone()))
        });
        let runtime = tokio::runtime::Handle::current();
        *forwarders.task.lock() = Some(runtime.spawn(run));
        Ok(forwarders)
    }

    /// Takes over a list of forwarders: those that stay keep their state.
    pub(crate) fn reload(&self, config: &Config) {
        let (base, max) = (config.forwarder_workers, config.max_workers());
        self.office.engine.set_crew(base.get(), max.get());
        self.max_workers.store(max.get(), Ordering::Relaxed);
        self.set(config, None);
        self.settle_rows();
    }

    /// The operator has looked at the configuration: what the names of forwarders lead to now is right.
    pub(crate) fn look_up_anew(&self) {
        for forwarder in &self.office.roster.load().forwarders {
            forwarder.target.look_up_anew();
        }
    }

    /// `restored` is there at the start.
    fn set(&self, config: &Config, restored: Option<&Restored>) {
        let office = &self.office;
        office.set_terms(Terms::new(config));
        let before = office.roster.load_full();
        let rows = self.rows.as_ref();
        let kept = LazyCell::new(|| rows.map(|rows| rows.kept()).unwrap_or_default());
        let mut forwarders = Vec::new();
        for entry in &config.forwarders {
            let time_out = entry.timeout.unwrap_or(config.forward_timeout);
            let stays = before
                .forwarders
                .iter()
                .find(|other| other.config.name == entry.name);
            if let Some(same) = stays.filter(|other| other.config.uri == entry.uri) {
                office
                    .engine
                    .set_quota(same.upstream, policy::quota(config));
                office.engine.set_time_out(same.upstream, time_out);
                if same.config == *entry {
                    forwarders.push(Arc::clone(same));
                    continue;
                }
                forwarders.push(Arc::new(self.forwarder(entry, config, same.upstream)));
                continue;
            }
            let quota = policy::quota(config);
            let upstream = office.engine.add_upstream(&entry.name, quota, time_out);
            let kept_row = match (restored, &self.rows) {
                (Some(restored), _) => restored.upstreams.get(entry.name.as_str()).cloned(),
                // One that was there until now leads elsewhere and begins anew.
                (None, Some(_)) if stays.is_none() => kept.get(entry.name.as_str()).cloned(),
                _ => None,
            };
            if let Some(kept) = kept_row {
                office.engine.restore(upstream, &kept.row, kept.off);
            }
            forwarders.push(Arc::new(self.forwarder(entry, config, upstream)));
        }
        for gone in &before.forwarders {
            let stays = |other: &Arc<Forwarder>| other.upstream == gone.upstream;
            if !forwarders.iter().any(stays) {
                office.engine.remove_upstream(gone.upstream);
                office.ledger().forget_tracker(gone.slot);
            }
        }
        let count = u32::try_from(forwarders.len()).unwrap_or(u32::MAX);
        let known = |one: &Arc<Forwarder>| {
            before
                .forwarders
                .iter()
                .any(|other| other.upstream == one.upstream)
        };
        let any_new = !forwarders.iter().all(known);
        office.roster.store(Arc::new(Roster { forwarders }));
        office.tracker.forwarding().set_forwarders(count);
        if any_new {
            office.look_again();
        }
    }

    fn forwarder(
        &self,
        entry: &forwarder::Forwarder,
        config: &Config,
        upstream: UpstreamId,
    ) -> Forwarder {
        Forwarder {
            slot: self.slot(&entry.name, config),
            upstream,
            target: Target::new(entry),
            config: entry.clone(),
            interval: AtomicU32::new(0),
        }
    }

    /// The slot of a name: the one it always had, or that of one who is gone.
    fn slot(&self, name: &str, config: &Config) -> Slot {
        let mut slots = self.slots.lock();
        let known = slots.iter().position(|other| other == name);
        let roster = self.office.roster.load();
        let is_free = |other: &String| {
            let configured = config.forwarders.iter().any(|entry| entry.name == *other);
            let mut running = roster.forwarders.iter();
            !configured && !running.any(|running| running.config.name == *other)
        };
        let slot = known.unwrap_or_else(|| match slots.iter().position(is_free) {
            Some(free) => {
                self.office.ledger().forget_tracker(free as Slot);
                slots[free] = name.to_owned();
                free
            }
            None => {
                slots.push(name.to_owned());
                slots.len() - 1
            }
        });
        Slot::try_from(slot).unwrap_or(Slot::MAX)
    }

    /// Workers at most.
    pub(crate) fn max_workers(&self) -> u32 {
        self.max_workers.load(Ordering::Relaxed)
    }

    pub(crate) fn all(&self) -> Vec<Arc<Forwarder>> {
        self.office.roster.load().forwarders.clone()
    }

    pub(crate) fn find(&self, upstream: UpstreamId) -> Option<Arc<Forwarder>> {
        let roster = self.office.roster.load();
        let mut all = roster.forwarders.iter();
        all.find(|forwarder| forwarder.upstream == upstream)
            .cloned()
    }

    /// Puts retries back on the agenda that were there before the start.
    fn reschedule(&self, restored: &Restored) {
        let office = &self.office;
        let roster = office.roster.load_full();
        for kept in &restored.agenda {
            let mut all = roster.forwarders.iter();
            let forwarder = all.find(|other| other.config.name.as_str() == &*kept.upstream);
            let Some((announce, at)) = call::read(&kept.kept) else {
                continue;
            };
            let Some(forwarder) = forwarder else {
                continue;
            };
            // Retries are for those who are still here.
            if announce.event != Event::Stopped
                && !office.tracker.swarms.has_peer(&announce.info_hash.0, &at)
            {
                continue;
            }
            if let Some(call) = Announcing::new(office, forwarder, &announce, at) {
                let job = Job {
                    not_before: kept.due,
                    attempts_made: kept.attempts_made,
                    ..call.job(kept.class)
                };
                office.engine.reschedule(job, Arc::new(call));
            }
        }
    }

    fn settle_rows(&self) {
        if let Some(rows) = &self.rows {
            let roster = self.office.roster.load();
            let names: Vec<&str> = roster
                .forwarders
                .iter()
                .map(|forwarder| forwarder.config.name.as_str())
                .collect();
            rows.settle(&self.office.engine, &names);
        }
    }

    /// Delivers the `stopped` events that clients sent, within the time; then ends everything.
    pub(crate) async fn stop(&self, drain: Duration) {
        let end = tokio::time::Instant::now() + drain;
        self.stop.cancel();
        let task = self.task.lock().take();
        if let Some(task) = task
            && task.await.is_err()
        {
            tracing::error!(front = "tracker", "the forwarders' task had panicked");
        }
        let office = &self.office;
        while office.farewells.load(Ordering::Acquire) > 0 {
            let quiet = office.quiet.notified();
            if office.farewells.load(Ordering::Acquire) == 0 {
                break;
            }
            if tokio::time::timeout_at(end, quiet).await.is_err() {
                let left = office.farewells.load(Ordering::Acquire);
                tracing::warn!(
                    front = "tracker",
                    left,
                    "not all trackers were told in time who stopped"
                );
                break;
            }
        }
        let left = end.saturating_duration_since(tokio::time::Instant::now());
        office
            .engine
            .shutdown(left.min(Duration::from_secs(1)))
            .await;
        office.outbound.stop();
    }
}

impl Office {
    /// Turns announces into jobs until it is stopped, and then those that are still in the rings.
    async fn run(
        self: Arc<Self>,
        (ring, events): &mut (mpsc::Receiver<Sent>, mpsc::Receiver<Sent>),
        stop: CancellationToken,
        vital: Vital,
    ) {
        let mut tick = tokio::time::interval(Duration::from_secs(1));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut batch, mut happened) = (Vec::with_capacity(BATCH), Vec::new());
        let mut step = 0;
        loop {
            tokio::select! {
                biased;
                _ = events.recv_many(&mut happened, BATCH) => self.take_events(&mut happened, &vital),
                _ = ring.recv_many(&mut batch, BATCH) => self.take_regular(&mut batch, &vital),
                _ = tick.tick() => {
                    vital.guard(|| {
                        self.note_held_back();
                        self.sweep(step);
                    });
                    step = (step + 1) % SWEEP_STEPS;
                }
                () = stop.cancelled() => break,
            }
        }
        while let Ok(sent) = events.try_recv() {
            happened.push(sent);
        }
        self.take_events(&mut happened, &vital);
    }

    /// An announce that panics gives its places back and is not sent on; its swarm is due again with its next one.
    fn take_regular(self: &Arc<Self>, batch: &mut Vec<Sent>, vital: &Vital) {
        let roster = self.roster.load_full();
        let rests = self.rests(&roster);
        let gate = self.engine.gate();
        let mut room = self.room(&roster);
        let mut jobs: Vec<(Job, Arc<dyn Call>)> = Vec::new();
        for sent in batch.drain(..) {
            let Kind::Regular { places } = sent.kind else {
                continue;
            };
            let jobs_before = jobs.len();
            let hash = &sent.announce.info_hash.0;
            let planned = vital.guard(|| {
                #[cfg(test)]
                crate::fault::on_forward(hash);
                let now = self.clock.now().seconds;
                let dues = self.dues(&roster, hash, &rests);
                let mut due = dues.eligible(now);
                due.retain(|(position, _)| room[*position] > 0);
                // Who stopped meanwhile is not announced any more.
                let gone = !self.tracker.swarms.has_peer(hash, &sent.at);
                if gone || due.is_empty() {
                    self.settle_by(hash, &dues);
                    self.nobody_asked(hash);
                    return;
                }
                fastrand::shuffle(&mut due);
                due.truncate(places as usize);
                for (position, first) in due {
                    let forwarder = &roster.forwarders[position];
                    let call = Announcing::new(self, forwarder, &sent.announce, sent.at);
                    if let Some(call) = call {
                        let class = if first { INITIAL } else { REANNOUNCE };
                        jobs.push((call.job(class), Arc::new(call)));
                        room[position] -= 1;
                    }
                }
                if jobs.len() == jobs_before {
                    self.nobody_asked(hash);
                }
            });
            if planned.is_none() {
                jobs.truncate(jobs_before);
                vital.guard(|| {
                    self.settle(hash);
                    self.nobody_asked(hash);
                });
            }
            let made = u32::try_from(jobs.len() - jobs_before).unwrap_or(places);
            gate.release(places.saturating_sub(made));
        }
        self.engine.submit_reserved(jobs);
    }

    /// Nobody was asked on account of an announce: unless others are, replies wait no longer.
    fn nobody_asked(&self, hash: &[u8; 20]) {
        let swarms = &self.tracker.swarms;
        if self.ledger().peers(hash) > 0 {
            // The swarm may have been away for a while.
            swarms.set_upstream(hash, Upstream::PEERS, true);
        }
        if !self.ledger().is_pending(hash) {
            self.tracker.forwarding().brought(hash);
        }
    }

    fn take_events(self: &Arc<Self>, batch: &mut Vec<Sent>, vital: &Vital) {
        let roster = self.roster.load_full();
        let rests = self.rests(&roster);
        for sent in batch.drain(..) {
            vital.guard(|| match sent.kind {
                Kind::Regular { .. } => {}
                Kind::Completed => {
                    #[cfg(test)]
                    crate::fault::on_forward(&sent.announce.info_hash.0);
                    let open = roster.forwarders.iter().zip(&rests);
                    let open = open.filter(|(_, rest)| rest.is_none());
                    for (forwarder, _) in open {
                        self.send_event(forwarder, &sent.announce, sent.at);
                    }
                }
                Kind::Stopped { last } => self.take_leave(&roster, &rests, &sent, last),
            });
        }
    }

    fn take_leave(
        self: &Arc<Self>,
        roster: &Roster,
        rests: &[Option<Moment>],
        sent: &Sent,
        last: bool,
    ) {
        let hash = &sent.announce.info_hash.0;
        let gone = last && !self.tracker.swarms.holds(hash);
        for at in [Some(sent.at), sent.also].into_iter().flatten() {
            let slots = || roster.forwarders.iter().map(|forwarder| forwarder.slot);
            let queued = slots().map(|slot| self.keys(slot).peer(hash, &at));
            let scheduled = slots()
                .filter(|_| gone)
                .map(|slot| self.keys(slot).hash(hash));
            self.engine.cancel_keys(queued, scheduled);
            if !self.say_goodbye(roster, rests, hash, at, (sent.client, Some(&sent.announce))) {
                self.ledger().leaves(&sent.announce, &at);
                let forwarding = self.tracker.forwarding();
                forwarding.hold_back(sent.client, Held::Delayed);
            }
        }
        if gone {
            self.ledger().forget(hash, self.clock.now().seconds);
        }
    }

    /// Sends `stopped` to all who were told of a peer. `false` if its address has no event left: they stay told, and
    /// the sweep comes back to it.
    fn say_goodbye(
        self: &Arc<Self>,
        roster: &Roster,
        rests: &[Option<Moment>],
        hash: &[u8; 20],
        at: Endpoint,
        (client, announce): (Network, Option<&Announce>),
    ) -> bool {
        if !self.ledger().is_told(hash, &at) {
            return true;
        }
        let tracker = &self.tracker;
        let most = tracker.terms().forwarding.events_per_minute;
        let allowances = tracker.forwarding().allowances();
        if !allowances.take(client, self.clock.now().moment, most) {
            return false;
        }
        let Some(told) = self.ledger().untell(hash, &at) else {
            return true;
        };
        let Some(announce) = announce.copied().or_else(|| sheet::farewell(&told, *hash)) else {
            return true;
        };
        for slot in told.slots.iter() {
            let mut all = roster.forwarders.iter().zip(rests);
            let forwarder = all.find(|(forwarder, _)| forwarder.slot == slot);
            if let Some((forwarder, None)) = forwarder {
                self.send_event(forwarder, &announce, at);
            }
        }
        true
    }

    fn send_event(self: &Arc<Self>, forwarder: &Arc<Forwarder>, announce: &Announce, at: Endpoint) {
        if let Some(call) = Announcing::new(self, forwarder, announce, at) {
            self.engine.submit_detached(call.job(EVENT), Arc::new(call));
        }
    }

    /// Forgets what is over in a part of the ledger, and tells trackers whose peers went without a word.
    fn sweep(self: &Arc<Self>, step: usize) {
        let now = self.clock.now().seconds;
        let mut seen = Vec::new();
        self.ledger().sweep(step, SWEEP_STEPS, now, |sheet| {
            if sheet.emptied || sheet.over || sheet.pending || !sheet.told.is_empty() {
                seen.push(sheet);
            }
        });
        if seen.is_empty() {
            return;
        }
        let swarms = &self.tracker.swarms;
        let roster = self.roster.load_full();
        let rests = self.rests(&roster);
        for sheet in seen {
            if sheet.emptied {
                swarms.set_upstream(&sheet.hash, Upstream::PEERS, false);
            }
            for at in sheet.told {
                if !swarms.has_peer(&sheet.hash, &at) {
                    let client = Network::of(at.address());
                    self.say_goodbye(&roster, &rests, &sheet.hash, at, (client, None));
                }
            }
            if !swarms.holds(&sheet.hash) {
                // Nobody is here for whom a call would be made again.
                let slots = roster.forwarders.iter().map(|forwarder| forwarder.slot);
                let scheduled = slots.map(|slot| self.keys(slot).hash(&sheet.hash));
                if sheet.pending {
                    self.engine.cancel_keys([], scheduled);
                }
                self.ledger().forget(&sheet.hash, now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
