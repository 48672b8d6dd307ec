//! One worker: makes a call, says how it went, and takes the next job under the same lock.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt;
use tokio::task::unconstrained;
use tokio::time::Instant;
use tracing::Instrument;
use weir_dispatch::{After, Finish, Moment};

use crate::call::{Ended, Outcome, Permit};
use crate::new_calls::Noted;
use crate::record::CallEnd;
use crate::shared::{Effects, Shared, Started};
use crate::sharing::{Failed, Published};
use crate::side::Standing;
use crate::state::State;
use crate::tally::Kind;
use crate::vital::words;

/// Makes calls until there is nothing more to start.
pub(crate) async fn run(shared: Arc<Shared>, first: Started) {
    let mut started = first;
    loop {
        // What a call leaves behind when it is cut off may also panic, as it is dropped.
        let ended = AssertUnwindSafe(attempt(&shared, &mut started)).catch_unwind();
        let ended = ended.await;
        let ended = ended.unwrap_or_else(|panic| panicked(&shared, &started, panic));
        // If our own rules panic here, this worker ends and its job never does, but the others carry on.
        let next = shared.vital.guard(|| shared.finish(started, ended));
        let Some(next) = next.flatten() else {
            return;
        };
        started = next;
        // Calls that are ready at once must not hog the thread.
        tokio::task::consume_budget().await;
    }
}

/// Makes one attempt. It may also end by a time-out or a shutdown.
async fn attempt(shared: &Arc<Shared>, started: &mut Started) -> Ended {
    let permit = Permit {
        shared: shared.clone(),
        upstream: started.upstream,
        job: started.job,
        class: started.class,
        attempt: started.attempt,
        time_out: started.time_out,
    };
    let span = tracing::debug_span!(
        "call",
        front = shared.front,
        upstream = started.upstream.0,
        class = started.class.0,
        job = started.job.0,
    );
    let asked = started.call.clone();
    let call = async { asked.attempt(permit).await };
    let mut call = pin!(call.instrument(span));
    // A call that is ready at once saves most of the cost of a time-out.
    if let Poll::Ready(done) = futures_util::poll!(call.as_mut()) {
        return Ended::Finished(done);
    }
    shared.count_sent(started);
    let deadline = shared.timeline.instant(started.at + started.time_out);
    // A call that always has something to read uses up its task's budget. Whatever is polled after it would be
    // put off to the next turn, and then again, so these two must run outside the budget. The call comes first
    // because an answer that has arrived counts even if the deadline passed at the same moment.
    tokio::select! {
        biased;
        done = call => Ended::Finished(done),
        () = unconstrained(shared.cut.cancelled()) => Ended::Shutdown,
        () = unconstrained(tokio::time::sleep_until(deadline)) => Ended::TimedOut,
    }
}

fn panicked(shared: &Shared, started: &Started, panic: Box<dyn Any + Send>) -> Ended {
    let words = words(&*panic);
    tracing::error!(
        front = shared.front,
        upstream = started.upstream.0,
        job = started.job.0,
        panic = words,
        "a call panicked"
    );
    shared.explain(
        started.upstream,
        started.job,
        format!("the call panicked: {words}").into(),
    );
    Ended::Panicked
}

impl Shared {
    /// The call is under way.
    fn count_sent(&self, started: &mut Started) {
        if std::mem::take(&mut started.uncounted) {
            self.state.lock().counters.sent += 1;
        }
    }

    /// An attempt ended. Returns the job that this worker takes next.
    fn finish(self: &Arc<Self>, started: Started, ended: Ended) -> Option<Started> {
        let instant = Instant::now();
        let now = self.timeline.moment(instant);
        let upstream = started.upstream;
        let finish = match &ended {
            Ended::Finished(outcome) => {
                if outcome.proves_network() {
                    self.weather.success(self.whom(upstream), instant);
                }
                let pause = match outcome {
                    Outcome::OurNetwork => self.weather.pause(),
                    _ => Default::default(),
                };
                outcome.finish(pause, self.never)
            }
            Ended::TimedOut => Finish::Unavailable,
            // A call that was cut off is nobody's fault, and final, like one that panicked.
            _ => Finish::Panicked,
        };
        let mut effects = Effects::default();
        let failed = {
            let mut state = self.state.lock();
            let failed = state.finish(&started, finish, ended, now, &mut effects);
            self.follow(&mut state, now, &mut effects);
            failed
        };
        if let Some(claimed) = started.question {
            let published = match finish {
                Finish::Done | Finish::No => Published::Answer(started.call),
                _ => failed.map_or(Published::Nothing, Published::Failure),
            };
            self.publish(claimed, published);
        }
        let next = (!effects.starts.is_empty()).then(|| effects.starts.remove(0));
        self.carry_out(effects);
        next
    }
}

impl State {
    fn finish(
        &mut self,
        started: &Started,
        finish: Finish,
        ended: Ended,
        now: Moment,
        effects: &mut Effects,
    ) -> Option<Failed> {
        let (job, upstream) = (started.job, started.upstream);
        let took = started.at.until(now);
        self.keep_past(now);
        let shown = self.heir(upstream).0 as usize;
        match &ended {
            Ended::Finished(Outcome::Moot) => {
                self.settle_calls(upstream);
                if let Some(noted) = started.record {
                    self.sides[shown].records.take_back(noted.number());
                }
                self.withdraw_sent(started);
            }
            ended => {
                self.counters.sent += u64::from(started.uncounted);
                let side = &mut self.sides[upstream.0 as usize];
                side.latest = side.explain(job, ended, now);
                if side.latest.is_some() {
                    self.changed.push(upstream);
                }
                let kind = Kind::of(ended);
                self.sides[shown].count(kind, took);
                self.series.count(kind, took);
                if let Some(noted) = started.record {
                    self.record_end(started, noted, CallEnd { kind, took });
                }
            }
        }
        let jitter = self.rng.u16(0..=500);
        let after = self.dispatcher.finish(now, job, finish, jitter);
        self.look_for_pause(now, effects);
        if after != After::Ended && self.payloads.find(job).is_some_and(|job| job.is_unwanted()) {
            self.dispatcher.cancel(now, job);
        }
        self.finish_shared(upstream, finish, now, effects);
        let words = &self.sides[upstream.0 as usize].latest;
        let is_last = after == After::Ended && started.question.is_some();
        let failed = is_last
            .then(|| Failed::of(&ended, words.as_ref()))
            .flatten();
        self.reap(Some((job, ended)), effects);
        // Everything that followed from it has its reason by now.
        self.sides[upstream.0 as usize].latest = None;
        let open = self.sides[upstream.0 as usize].standing() == Standing::Open;
        if !open || !matches!(finish, Finish::Done | Finish::No) {
            self.note_state(upstream, now);
            self.move_turn(upstream, effects);
            self.plan_probe(upstream, now, effects);
        }
        failed
    }

    /// Tells in the record of a call how it went. It has the words of the attempt whose end is being judged.
    fn record_end(&mut self, started: &Started, noted: Noted, end: CallEnd) {
        let side = &self.sides[started.upstream.0 as usize];
        let latest = &side.latest;
        // Most calls need no words, and end before they have moved.
        if latest.is_none() && self.new_calls.end(&side.new, noted, end) {
            return;
        }
        let cause = latest.clone();
        self.settle_calls(started.upstream);
        let shown = self.heir(started.upstream).0 as usize;
        self.sides[shown].records.end(noted.number(), end, cause);
    }

    /// A call was not made after all: it did not count among calls, and its job ends as one that was never sent.
    fn withdraw_sent(&mut self, started: &Started) {
        if let Some(payload) = self.payloads.find(started.job)
            && started.uncounted
        {
            (payload.sent, payload.open) = (false, true);
        }
    }
}
