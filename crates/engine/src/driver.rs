//! The one task that sleeps until something is due, and the shutdown.

use std::sync::Arc;
use std::time::Duration;

use weir_dispatch::{Budget, Moment, UpstreamId, Window};

use crate::series::{STEP, Sample};
use crate::shared::Shared;
use crate::state::State;
use crate::tally::ListenerCounts;

/// Wakes the dispatcher when the passing of time makes something due, and takes samples for the charts.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut step = step_number(shared.timeline.now());
    loop {
        let sample_at = Moment(0) + STEP * u32::try_from(step + 1).unwrap_or(u32::MAX);
        let until = {
            let state = shared.state.lock();
            let due = state.wakes_at.min(state.flush_at).min(sample_at);
            due.min(state.past_at).min(state.probes.next)
        };
        tokio::select! {
            biased;
            () = shared.closing.cancelled() => return,
            () = shared.sooner.notified() => continue,
            () = tokio::time::sleep_until(shared.timeline.instant(until)) => {}
        }
        let now_step = step_number(shared.timeline.now());
        let listeners = shared.listened();
        shared.with(|state, now, effects| {
            if state.wakes_at <= now {
                state.wakes_at = Moment::NEVER;
            }
            effects.handover = state.flush_at <= now;
            if state.past_at <= now {
                state.gather_pasts(now, &shared, listeners);
                effects.handover = true;
            }
            state.find_trials(now, effects);
            if now_step != step {
                state.sample(step, now_step, now, listeners);
            }
        });
        step = now_step;
    }
}

fn step_number(now: Moment) -> u64 {
    Moment(0).until(now).as_secs() / STEP.as_secs()
}

impl State {
    /// Records the state of every upstream, and closes the step of its series that is over.
    fn sample(&mut self, before: u64, step: u64, now: Moment, listeners: ListenerCounts) {
        let fill = self.dispatcher.status(now).fill_percent();
        let whole = Sample {
            fill: Some(u8::try_from(fill).unwrap_or(u8::MAX)),
            ..Sample::default()
        };
        self.series.close(before, step, whole);
        let counters = self.counters.with(listeners);
        // Even an idle step changes the front's series: it says that Weir ran. That can wait.
        if self.flows.close(before, step, &counters) || self.series_at <= now {
            self.keep_past(now);
        }
        for index in 0..self.sides.len() {
            let upstream = UpstreamId(u32::try_from(index).expect("ids are u32"));
            self.note_state(upstream, now);
            let used = self.used(upstream, now);
            let sample = Sample { fill: None, used };
            self.sides[index].series.close(before, step, sample);
        }
    }

    /// Calls counted in the hour and day windows of an upstream.
    fn used(&mut self, upstream: UpstreamId, now: Moment) -> [u32; 2] {
        if !self.dispatcher.is_limited(upstream, Budget::Query) {
            return [0; 2];
        }
        let status = self.dispatcher.upstream(now, upstream);
        let windows = status.map_or_else(Vec::new, |status| status.query);
        [Window::HOUR, Window::DAY].map(|window| {
            let used = windows.iter().find(|used| used.window == window);
            used.map_or(0, |used| used.used)
        })
    }
}

impl Shared {
    /// Ends every job: jobs that have not started end at once, calls under way when they finish or when
    /// the drain time is over. Nothing is left running.
    pub(crate) async fn shutdown(self: &Arc<Self>, drain: Duration) {
        self.with(|state, now, effects| {
            // The agenda is kept as it is now: its jobs end here, but come back at the next start.
            state.gather();
            state.dispatcher.shutdown(now);
            drop(state.dispatcher.take_agenda_changes());
            effects.handover = state.keeps;
        });
        self.closing.cancel();
        self.tasks.close();
        if tokio::time::timeout(drain, self.tasks.wait())
            .await
            .is_err()
        {
            self.cut.cancel();
            self.tasks.wait().await;
        }
        if self.keeper.is_some() {
            let listeners = self.listened();
            let mut state = self.state.lock();
            state.ended = true;
            state.gather();
            state.gather_pasts(self.timeline.now(), self, listeners);
            drop(state);
            self.hand_over();
        }
    }
}
