//! What all handles share: the dispatcher behind one plain lock, and what follows from each step.
//!
//! Every operation runs under the lock, which is never held across an await; its effects (calls to start,
//! ends to report, rows to keep) are gathered in [`Effects`] and carried out after unlocking.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use smallvec::SmallVec;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use weir_dispatch::{Budget, Class, Job, JobId, Moment, Next, UpstreamId, Usage};
use weir_store::shared::{AskId, Question};

use crate::askers::Askers;
use crate::call::{Call, Ended};
use crate::gate::Gate;
use crate::keeper::Keeper;
use crate::new_calls::Noted;
use crate::node::NodePart;
use crate::own::OwnRing;
use crate::payload::{Hook, Interest, Payload, Told};
use crate::probes::Prober;
use crate::sharing::{Asking, Published};
use crate::state::State;
use crate::tally::ListenerCounts;
use crate::timeline::Timeline;
use crate::vital::{Vital, Vitals};
use crate::weather::{Trouble, Verdict, Weather, Whom};
use crate::worker;

/// One front's engine.
pub(crate) struct Shared {
    pub(crate) front: &'static str,
    pub(crate) timeline: Timeline,
    pub(crate) weather: Weather,
    /// This front's number in the weather.
    pub(crate) weather_front: u32,
    pub(crate) gate: Arc<Gate>,
    pub(crate) runtime: Handle,
    /// All tasks of this engine.
    pub(crate) tasks: TaskTracker,
    /// Wakes the driver: something is now due earlier.
    pub(crate) sooner: Notify,
    /// No more jobs: the driver ends.
    pub(crate) closing: CancellationToken,
    /// The drain time is over: calls are cut off.
    pub(crate) cut: CancellationToken,
    pub(crate) keeper: Option<Arc<dyn Keeper>>,
    /// How long after a change rows that are not urgent are handed over.
    pub(crate) flush: Duration,
    /// The driver and the workers.
    pub(crate) vital: Vital,
    pub(crate) vitals: Vitals,
    /// The shortest time for which an upstream that told us never to ask again is left alone.
    pub(crate) never: Duration,
    /// Held while rows are handed over, so that they arrive in order.
    pub(crate) handover: Mutex<()>,
    pub(crate) state: Mutex<State>,
    /// The front's own decisions, and how many of them are kept.
    pub(crate) own: OwnRing,
    pub(crate) records: usize,
    /// The programs that ask.
    pub(crate) askers: Askers,
    /// Makes the call that tries an upstream which nobody asks.
    pub(crate) prober: OnceLock<Prober>,
    /// Reads what the front's listeners count.
    pub(crate) listeners: OnceLock<ReadListeners>,
    /// What this node's beat sees of this engine.
    pub(crate) part: OnceLock<Arc<dyn NodePart>>,
}

/// Reads what a front's listeners count.
pub(crate) type ReadListeners = Box<dyn Fn() -> ListenerCounts + Send + Sync>;

/// A call to make now.
pub(crate) struct Started {
    pub(crate) job: JobId,
    pub(crate) upstream: UpstreamId,
    pub(crate) class: Class,
    pub(crate) attempt: u8,
    pub(crate) call: Arc<dyn Call>,
    pub(crate) at: Moment,
    pub(crate) time_out: Duration,
    /// The job has not been counted as sent so far. It is once this attempt is under way or has ended: before that it may turn
    /// out to be moot, and what was counted stays counted.
    pub(crate) uncounted: bool,
    /// Its record, if records are kept.
    pub(crate) record: Option<Noted>,
    /// What it asks, if other nodes wait for its answer, and with which start that was claimed.
    pub(crate) question: Option<(Question, AskId)>,
}

/// What has to be done after unlocking.
#[derive(Default)]
pub(crate) struct Effects {
    pub(crate) starts: SmallVec<[Started; 1]>,
    /// Ended jobs. Their askers are told after unlocking, and their calls are dropped then too, because a front may do
    /// anything in either.
    pub(crate) ended: SmallVec<[(Payload, Ended); 1]>,
    pub(crate) sooner: bool,
    pub(crate) handover: bool,
    /// Whoever waits to hear that an upstream's next slot has moved.
    pub(crate) moved: SmallVec<[Arc<Notify>; 1]>,
    /// Reserved places that were used.
    pub(crate) used: u32,
    /// Upstreams that are tried now.
    pub(crate) trials: SmallVec<[UpstreamId; 1]>,
    /// Questions to the store that other nodes share.
    pub(crate) asks: SmallVec<[Asking; 1]>,
    /// Claimed questions that are not asked after all.
    pub(crate) unclaimed: SmallVec<[(Question, AskId); 1]>,
    /// The store has something to hear.
    pub(crate) tells: bool,
    /// It is time to read what all nodes know.
    pub(crate) reads: bool,
    /// Calls that are not needed; ended and dropped after unlocking like those of ended jobs.
    pub(crate) unused: SmallVec<[Arc<dyn Call>; 1]>,
    /// Held until the calls have their tasks, so that a shutdown waits for them.
    starting: Option<TaskTrackerToken>,
}

impl Shared {
    /// Runs `act` under the lock, then carries out what follows from it.
    pub(crate) fn with<R>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut State, Moment, &mut Effects) -> R,
    ) -> R {
        let now = self.timeline.now();
        let mut effects = Effects::default();
        let result = {
            let mut state = self.state.lock();
            let result = act(&mut state, now, &mut effects);
            self.follow(&mut state, now, &mut effects);
            result
        };
        self.carry_out(effects);
        result
    }

    /// Collects what may start now and what has ended, and sets when to look again.
    pub(crate) fn follow(&self, state: &mut State, now: Moment, effects: &mut Effects) {
        loop {
            match state.dispatcher.next(now) {
                Next::Start(start) => {
                    effects.starting.get_or_insert_with(|| self.tasks.token());
                    state.begin(start, None, now, effects);
                }
                Next::Ask(ask) => {
                    effects.starting.get_or_insert_with(|| self.tasks.token());
                    self.asked(state, &ask, now, effects);
                }
                Next::Wait(at) => {
                    if at < state.wakes_at {
                        state.wakes_at = at;
                        effects.sooner = true;
                    }
                    break;
                }
                Next::Idle => break,
            }
        }
        state.reap(None, effects);
        let queued = state.dispatcher.status(now).queued;
        self.gate.settle(state.queued, queued, effects.used);
        state.queued = queued;
        if effects.handover {
            state.gather();
        } else if state.keeps && state.flush_at == Moment::NEVER && state.dispatcher.has_changes() {
            state.flush_at = now + self.flush;
            effects.sooner = true;
        }
    }

    /// Carries out the effects of a step: rows first, then calls, then ends, and slots that moved last, because
    /// whoever's job has ended need not hear of those.
    pub(crate) fn carry_out(self: &Arc<Self>, effects: Effects) {
        if effects.handover {
            self.hand_over();
        }
        if effects.sooner {
            self.sooner.notify_one();
        }
        for asking in effects.asks {
            self.send(asking);
        }
        for claimed in effects.unclaimed {
            self.publish(claimed, Published::Nothing);
        }
        if effects.tells {
            self.tell_store();
        }
        if effects.reads {
            self.read_rows();
        }
        for started in effects.starts {
            let run = worker::run(self.clone(), started);
            self.tasks.spawn_on(run, &self.runtime);
        }
        for (payload, ended) in effects.ended {
            let Payload { call, told, .. } = payload;
            self.end(call, ended.clone());
            self.tell(|| told.tell(ended));
        }
        for call in effects.unused {
            self.end(call, Ended::Cancelled);
        }
        for moved in effects.moved {
            moved.notify_waiters();
        }
        for upstream in effects.trials {
            self.try_out(upstream);
        }
    }

    fn end(&self, call: Arc<dyn Call>, ended: Ended) {
        self.tell(move || {
            call.ended(ended);
            drop(call);
        });
    }

    /// A panic in a front's last step, hook or destructor must not keep the others from being told.
    fn tell(&self, tell: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(tell)).is_err() {
            tracing::error!(front = self.front, "the front panicked when a job ended");
        }
    }

    /// Gives the keeper what was gathered, in order.
    pub(crate) fn hand_over(&self) {
        let Some(keeper) = &self.keeper else { return };
        let _in_order = self.handover.lock();
        let outbox = std::mem::take(&mut self.state.lock().outbox);
        for changes in outbox {
            // The caller still has calls to start, which must not be lost along with the rows.
            let kept = catch_unwind(AssertUnwindSafe(|| keeper.changed(self.front, changes)));
            if kept.is_err() {
                tracing::error!(
                    front = self.front,
                    "the keeper panicked; some state was not saved"
                );
            }
        }
    }

    pub(crate) fn submit(
        self: &Arc<Self>,
        job: Job,
        call: Arc<dyn Call>,
        told: Told,
    ) -> Option<JobId> {
        self.with(|state, now, effects| {
            let entry = state.dispatcher.submit(now, job);
            state.take_in(entry, call, told, effects)
        })
    }

    pub(crate) fn cancel(self: &Arc<Self>, job: JobId) -> bool {
        self.with(|state, now, _| state.dispatcher.cancel(now, job))
    }

    pub(crate) fn raise(self: &Arc<Self>, job: JobId, class: Class) -> bool {
        self.with(|state, now, _| state.dispatcher.raise(now, job, class))
    }

    /// Somebody no longer waits for a job; if nobody else does, it is cancelled.
    pub(crate) fn withdraw(self: &Arc<Self>, job: JobId, interest: Interest<'_>) {
        self.with(|state, now, _| {
            let payload = state.payloads.find(job);
            if payload.is_some_and(|payload| payload.leave(interest)) {
                state.dispatcher.cancel(now, job);
            }
        });
    }

    /// The flight behind `hook` has no followers left: its job is cancelled if nobody else wants it and it
    /// has not started. The hook is told how the job ended in any case.
    pub(crate) fn abandon(self: &Arc<Self>, job: JobId, hook: &Arc<Hook>) {
        self.with(|state, now, _| {
            let payload = state.payloads.find(job);
            if payload.is_some_and(|payload| payload.is_only_for(Interest::Hook(hook))) {
                state.dispatcher.cancel(now, job);
            }
        });
    }

    /// Something happened that is to be kept over a restart.
    pub(crate) fn note_past(&self, now: Moment) {
        let mut state = self.state.lock();
        if state.keeps && state.past_at == Moment::NEVER {
            state.past_at = now + state.past_every;
            drop(state);
            self.sooner.notify_one();
        }
    }

    pub(crate) fn observe(self: &Arc<Self>, upstream: UpstreamId, usage: Usage) {
        self.with(|state, now, effects| {
            state.dispatcher.observe(now, upstream, usage);
            state.observe_shared(upstream, usage, now, effects);
            state.move_turn(upstream, effects);
            state.put_off_probe(upstream, now, effects);
        });
    }

    /// Notified whenever an upstream's next slot may have moved.
    pub(crate) fn moved(&self, upstream: UpstreamId) -> Arc<Notify> {
        let mut state = self.state.lock();
        let side = state.sides.get_mut(upstream.0 as usize);
        // For an upstream that never existed, a notify that nobody ever notifies.
        side.map_or_else(Arc::default, |side| {
            side.moved.get_or_insert_default().clone()
        })
    }

    pub(crate) fn explain(&self, upstream: UpstreamId, job: JobId, words: Arc<str>) {
        if let Some(side) = self.state.lock().sides.get_mut(upstream.0 as usize) {
            side.say(job, words);
        }
    }

    pub(crate) fn count(self: &Arc<Self>, upstream: UpstreamId, budget: Budget) {
        self.with(|state, now, effects| {
            state.dispatcher.count(now, upstream, budget);
            state.count_shared(upstream, budget, now, effects);
            effects.handover |= state.keeps;
        });
    }

    pub(crate) fn may_be_our_network(&self, upstream: UpstreamId, trouble: Trouble) -> bool {
        // An upstream that was removed while its call was under way says nothing about our network.
        let state = self.state.lock();
        let side = state.sides.get(upstream.0 as usize);
        if side.is_none_or(|side| side.gone) {
            return false;
        }
        drop(state);
        let verdict = self.weather.trouble(self.whom(upstream), Instant::now());
        if verdict == Verdict::Ours {
            tracing::warn!(front = self.front, ?trouble, "our own network is down");
            self.note_outage();
        }
        verdict != Verdict::Theirs
    }

    pub(crate) fn whom(&self, upstream: UpstreamId) -> Whom {
        (self.weather_front, upstream.0)
    }
}
