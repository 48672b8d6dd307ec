//! The handle that fronts hold. Everything except the shutdown is an ordinary function, callable from any
//! thread, even outside the runtime.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_dispatch::{
    Class, Dispatcher, Job, JobId, JobKey, Moment, Policy, Skip, UpstreamId, Wait, What,
};

use crate::askers::Askers;
use crate::call::{Call, Ended, Skipped};
use crate::driver;
use crate::flow::Flows;
use crate::gate::{Gate, Rate};
use crate::keeper::Keeper;
use crate::new_calls::NewCalls;
use crate::node::Node;
use crate::own::OwnRing;
use crate::payload::{Hook, Payloads, Told};
use crate::probes::Probes;
use crate::record::{About, Got, Receipt, Record, Whose};
use crate::series::Series;
use crate::shared::Shared;
use crate::sharing::{EnginePart, Sharing};
use crate::state::{State, without_record};
use crate::tally::{Counters, ListenerCounts};
use crate::ticket::{Cell, Ticket};
use crate::timeline::Timeline;
use crate::vital::Vitals;
use crate::weather::Weather;

/// Runs the jobs of one front. A cheap handle: clones share everything.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
}

/// What an engine is given besides its front's policy.
#[derive(Clone)]
pub struct Options {
    /// The clock of the whole process.
    pub timeline: Timeline,
    /// The weather of the whole process.
    pub weather: Weather,
    /// The tokens of this front's gate.
    pub rate: Rate,
    /// Keeps rows across a restart.
    pub keeper: Option<Arc<dyn Keeper>>,
    /// Changed rows reach the writer within this time; a crash loses no more than that.
    pub write_every: Duration,
    /// Records and states reach the writer within this time; a crash loses no more than that, a stop nothing.
    pub past_every: Duration,
    /// How far back the states and records of an upstream are kept.
    pub history: Duration,
    /// How long after the end of a cooldown an upstream is tried that nobody has asked for anything.
    pub probe_after: Duration,
    /// Within this time an upstream is tried that has never answered.
    pub try_within: Duration,
    /// The shortest time for which an upstream that told us never to ask again is left alone.
    pub never: Duration,
    /// Makes the waits before further attempts repeatable.
    pub seed: Option<u64>,
    /// Watches the parts that must not end.
    pub vitals: Vitals,
    /// Where calls run; `None` is the runtime that [`Engine::new`] is called in.
    pub runtime: Option<Handle>,
    /// This node among others, if there are several.
    pub node: Option<Node>,
}

impl Options {
    /// Nothing kept, no tokens, this runtime.
    pub fn new(timeline: Timeline, weather: Weather) -> Self {
        Self {
            timeline,
            weather,
            rate: Rate::NONE,
            keeper: None,
            write_every: Duration::from_secs(1),
            past_every: Duration::from_secs(60),
            history: Duration::from_secs(24 * 60 * 60),
            probe_after: Duration::from_secs(30),
            try_within: Duration::from_secs(300),
            never: Duration::from_secs(24 * 60 * 60),
            seed: None,
            vitals: Vitals::default(),
            runtime: None,
            node: None,
        }
    }
}

impl Engine {
    /// Starts an engine.
    ///
    /// # Panics
    /// If no runtime is given and this is not called within one, and wherever [`Dispatcher::new`] panics.
    pub fn new(front: &'static str, policy: Policy, options: Options) -> Self {
        let now = options.timeline.now();
        let keeps = options.keeper.is_some();
        let (capacity, records) = (policy.capacity, policy.records);
        let state = State {
            payloads: Payloads::default(),
            sides: Vec::new(),
            counters: Counters::default(),
            series: Series::default(),
            flows: Flows::default(),
            series_at: now,
            rng: options
                .seed
                .map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed),
            wakes_at: Moment::NEVER,
            queued: 0,
            flush_at: Moment::NEVER,
            outbox: Vec::new(),
            keeps,
            ended: false,
            history: options.history,
            ladder: policy.failure.ladder.clone(),
            records,
            changed: Vec::new(),
            new_calls: NewCalls::default(),
            decisions: Vec::new(),
            skipped: VecDeque::new(),
            past_at: Moment::NEVER,
            past_every: options.past_every,
            probes: Probes {
                after: options.probe_after,
                within: options.try_within,
                next: Moment::NEVER,
            },
            pause: None,
            sharing: options
                .node
                .clone()
                .map(|node| Box::new(Sharing::new(node))),
            dispatcher: Dispatcher::new(policy, now),
        };
        let shared = Arc::new(Shared {
            front,
            timeline: options.timeline,
            weather_front: options.weather.add_front(),
            weather: options.weather,
            gate: Arc::new(Gate::new(capacity, options.rate)),
            runtime: options.runtime.unwrap_or_else(Handle::current),
            tasks: TaskTracker::new(),
            sooner: Notify::new(),
            closing: CancellationToken::new(),
            cut: CancellationToken::new(),
            keeper: options.keeper,
            // The remaining fifth is left for the commit.
            flush: options.write_every / 5 * 4,
            vital: options.vitals.add(front, "engine"),
            vitals: options.vitals,
            never: options.never,
            handover: Mutex::new(()),
            state: Mutex::new(state),
            own: OwnRing::default(),
            records,
            askers: Askers::default(),
            prober: OnceLock::new(),
            listeners: OnceLock::new(),
            part: OnceLock::new(),
        });
        let vital = shared.vital.clone();
        // A panic in a step of the dispatcher is a bug in our own rules. The lock is free again, and whatever the step
        // had changed stays changed; at worst one job never ends. The others carry on.
        let driver = vital.drive(shared.clone(), |shared| {
            Box::pin(driver::run(shared.clone()))
        });
        shared.tasks.spawn_on(driver, &shared.runtime);
        if let Some(node) = &options.node {
            let part = EnginePart::of(&shared);
            node.add_part(&part);
            // The node lets go of a part with its owner.
            let _ = shared.part.set(part);
        }
        Self { shared }
    }

    /// Which front this is.
    pub fn front(&self) -> &'static str {
        self.shared.front
    }

    /// Watches the parts that must not end, the engine's own tasks among them.
    pub fn vitals(&self) -> &Vitals {
        &self.shared.vitals
    }

    /// The clock of the whole process.
    pub fn timeline(&self) -> Timeline {
        self.shared.timeline
    }

    /// Places and tokens for listener threads.
    pub fn gate(&self) -> Arc<Gate> {
        self.shared.gate.clone()
    }

    /// Submits a job and returns a ticket for it. If the same job is already pending, the ticket is for that one.
    pub fn submit(&self, job: Job, call: Arc<dyn Call>) -> Ticket {
        let cell = Arc::<Cell>::default();
        let told = Told::Ticket(cell.clone());
        Ticket {
            job: self.shared.submit(job, call, told),
            shared: self.shared.clone(),
            cell,
        }
    }

    /// Submits a job that nobody waits for. Returns its id, unless it ended at once.
    pub fn submit_detached(&self, job: Job, call: Arc<dyn Call>) -> Option<JobId> {
        self.shared.submit(job, call, Told::Nobody)
    }

    /// Submits a job and tells `hook` how it ended.
    pub(crate) fn submit_hooked(
        &self,
        job: Job,
        call: Arc<dyn Call>,
        hook: Arc<Hook>,
    ) -> Option<JobId> {
        self.shared.submit(job, call, Told::Hook(hook))
    }

    /// Submits jobs that nobody waits for, all under one lock. Each must have a place reserved through the gate.
    pub fn submit_reserved(&self, jobs: impl IntoIterator<Item = (Job, Arc<dyn Call>)>) {
        self.shared.with(|state, now, effects| {
            for (job, call) in jobs {
                effects.used += 1;
                let admission = state.dispatcher.submit(now, job);
                state.take_in(admission, call, Told::Nobody, effects);
            }
        });
    }

    /// Puts a job that was on the agenda before a restart back on it.
    pub fn reschedule(&self, job: Job, call: Arc<dyn Call>) -> Option<JobId> {
        self.shared.with(|state, now, effects| {
            let entry = state.dispatcher.reschedule(now, job);
            state.take_in(entry, call, Told::Nobody, effects)
        })
    }

    /// Cancels a job that has not started. Returns whether there was one.
    pub fn cancel(&self, job: JobId) -> bool {
        self.shared.cancel(job)
    }

    /// Cancels the queued jobs with the pending keys `queued`, and the jobs on the agenda with the agenda keys
    /// `scheduled`.
    pub fn cancel_keys(
        &self,
        queued: impl IntoIterator<Item = JobKey>,
        scheduled: impl IntoIterator<Item = JobKey>,
    ) {
        self.shared.with(|state, now, _| {
            for key in queued {
                state.dispatcher.cancel_queued(now, key);
            }
            for key in scheduled {
                state.dispatcher.cancel_scheduled(now, key);
            }
        });
    }

    /// Makes a job that has not started more urgent. Returns whether anything changed.
    pub fn raise(&self, job: JobId, class: Class) -> bool {
        self.shared.raise(job, class)
    }

    /// Keeps all jobs from starting until [`Engine::release`].
    pub fn hold(&self) {
        self.shared
            .with(|state, now, _| state.dispatcher.hold(now, true));
    }

    /// Ends a hold.
    pub fn release(&self) {
        self.shared
            .with(|state, now, _| state.dispatcher.hold(now, false));
    }

    /// Sets new limits for the number of workers.
    pub fn set_crew(&self, base: u32, max: u32) {
        self.shared
            .with(|state, now, _| state.dispatcher.set_crew(now, base, max));
    }

    /// Counts requests that the front answered from memory or cache, together with all others.
    pub fn count_from_memory(&self, answers: u64) {
        let mut state = self.shared.state.lock();
        state.counters.asked += answers;
        state.counters.from_memory += answers;
    }

    /// Adds what the front's listeners count by themselves to its counters; `read` is called whenever somebody looks. The
    /// first one given stays.
    pub fn count_listeners(&self, read: impl Fn() -> ListenerCounts + Send + Sync + 'static) {
        let _ = self.shared.listeners.set(Box::new(read)); // a second one is not wanted
    }

    /// Records that the front made no call because the upstream cannot be called in time, and what whoever asked got
    /// instead. Counted like a job that the engine itself skips. Gives the skip as it is recorded.
    pub fn note_skip(&self, job: &Job, about: &About, skip: Skip, got: Got) -> Skipped {
        let noted = self.shared.with(|state, now, _| {
            state.counters.asked += 1;
            let end = state.dispatcher.note_skip(now, job, skip);
            state.counters.end_unsent(&without_record(end, now));
            state.take_noted(about, Some(got))
        });
        let skipped = noted.and_then(|record| record.skipped());
        // One that is no longer there has no record.
        skipped.unwrap_or_else(|| Skipped {
            skip,
            class: Some(job.class),
            at: self.shared.timeline.now(),
            cause: None,
            number: None,
        })
    }

    /// The same for a reason that the front alone knows, in words.
    pub fn note_skip_because(&self, job: &Job, about: &About, skip: Skip, got: Got, cause: &str) {
        self.shared.with(|state, now, _| {
            state.counters.asked += 1;
            let end = state.dispatcher.note_skip(now, job, skip);
            state.counters.end_unsent(&without_record(end, now));
            if let Some(record) = state.take_noted(about, Some(got)) {
                state.explain_noted(job.upstream, record.number, cause.into());
            }
        });
    }

    /// Records that a job which the front is about to submit for a later time is not called before then, and why.
    pub fn note_wait(&self, job: &Job, about: &About, cause: &str) {
        self.shared.with(|state, now, _| {
            let waits = What::Waits {
                reason: Wait::Cooldown,
                until: job.not_before,
                full: None,
            };
            state.dispatcher.note_other(now, job, waits);
            if let Some(record) = state.take_noted(about, None) {
                state.explain_noted(job.upstream, record.number, cause.into());
            }
        });
    }

    /// Records what somebody got instead of an answer.
    pub(crate) fn note_got(&self, upstream: UpstreamId, whose: &Whose, got: Got) {
        let mut state = self.shared.state.lock();
        state.keep_past(self.shared.timeline.now());
        state.settle_calls(upstream);
        let upstream = state.heir(upstream);
        state.sides[upstream.0 as usize].records.give(whose, got);
    }

    /// Records that whoever got nothing was told to come back after this time.
    pub fn note_retry(&self, receipt: &Receipt, after: Duration) {
        self.note_given(receipt, Got::Retry { after });
    }

    /// Records what somebody got instead of an answer, where that is known only later.
    pub fn note_given(&self, receipt: &Receipt, got: Got) {
        self.note_got(receipt.upstream, &receipt.whose, got);
    }

    /// The longest that a job waits to be called; `None` if it waits however long it takes.
    pub fn max_wait(&self, job: &Job) -> Option<Duration> {
        self.shared.state.lock().dispatcher.max_wait(job)
    }

    /// Records that somebody got the answer to a call made for somebody else, or heard that there is none. Gives the
    /// number of the record.
    pub(crate) fn note_shared(
        &self,
        job: &Job,
        about: &About,
        what: What,
        got: Got,
    ) -> Option<u64> {
        self.shared.with(|state, now, _| {
            state.counters.asked += 1;
            state.counters.shared += 1;
            state.dispatcher.note_other(now, job, what);
            let record = state.take_noted(about, Some(got));
            record.map(|record| record.number)
        })
    }

    /// Counts somebody whose wait for somebody else's call came to nothing: that call was never made. Gives the number of
    /// the record, if that is worth one.
    pub(crate) fn note_ended(&self, job: &Job, about: &About, ended: &Ended) -> Option<u64> {
        self.shared.with(|state, now, _| {
            state.counters.asked += 1;
            state.counters.end_unsent(ended);
            let cause = match ended {
                Ended::Skipped(skipped) => {
                    // For the reason that the call itself had, and until the same moment.
                    let skip = Skip {
                        wait: skipped.until().map(|until| now.until(until)),
                        ..skipped.skip
                    };
                    state.dispatcher.note_other(now, job, What::Skipped(skip));
                    skipped.cause.clone()
                }
                Ended::Dropped(reason) => {
                    state.dispatcher.note_drop(now, job, *reason);
                    None
                }
                _ => return None,
            };
            let number = state.take_noted(about, None)?.number;
            if let Some(cause) = cause {
                state.explain_noted(job.upstream, number, cause);
            }
            Some(number)
        })
    }

    /// Records that the answer comes too late for whoever asked, as `what`. `leads` is the job, if it was submitted for this asker,
    /// who is then no longer counted as one that waits for it. Gives the record.
    pub(crate) fn note_missed(
        &self,
        job: &Job,
        about: &About,
        leads: Option<JobId>,
        what: What,
        got: Option<Got>,
    ) -> Option<Record> {
        self.shared.with(|state, now, _| {
            let payload = leads.and_then(|job| state.payloads.find(job));
            // A follower was not counted so far; the leader was, as one that waits.
            let counted = payload.is_some_and(|payload| std::mem::take(&mut payload.open));
            state.counters.asked += u64::from(!counted);
            state.counters.skipped += 1;
            state.dispatcher.note_other(now, job, what);
            state.take_noted(about, got)
        })
    }

    /// Ends every job: jobs that have not started end at once, calls under way when they finish or when
    /// `drain` is over. Nothing is left running; later submissions end at once.
    pub async fn shutdown(&self, drain: Duration) {
        self.shared.shutdown(drain).await;
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("front", &self.shared.front)
            .finish_non_exhaustive()
    }
}
