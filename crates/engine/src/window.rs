//! What a front did within a window, and its series over a restart.

use std::time::Duration;

use weir_dispatch::Moment;

use crate::engine::Engine;
use crate::rows::RestoredPast;
use crate::series::{Point, Span};
use crate::shared::Shared;
use crate::state::State;
use crate::tally::{Counters, ListenerCounts};

/// What a front did within a window that ends now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// What became of everything that was asked; it adds up within the window.
    pub counters: Counters,
    /// Calls that ended: answered, refused, failed, timed out.
    pub calls: [u64; 4],
    /// The answer time that about half of the calls did not exceed, if any was answered.
    pub p50: Option<Duration>,
    /// The time that about 95 in 100 did not exceed.
    pub p95: Option<Duration>,
}

impl Engine {
    /// What the front did within a span that ends now, at a cost that depends on nothing but the points of a chart.
    pub fn window(&self, span: Span) -> Window {
        let now = self.shared.timeline.now();
        let listeners = self.shared.listened();
        let state = self.shared.state.lock();
        let counters = state.counters.with(listeners);
        let (p50, p95, calls) = state.series.sum(span, now);
        Window {
            counters: state.flows.sum(span, now, &counters),
            calls,
            p50,
            p95,
        }
    }

    /// The newest point of the front's finest series; `None` before the first step is over.
    pub fn latest_point(&self) -> Option<Point> {
        self.shared.state.lock().series.latest()
    }

    /// The stretches within a span in which Weir ran, oldest first; the last one ends now.
    pub fn ran(&self, span: Span) -> Vec<(Moment, Moment)> {
        let now = self.shared.timeline.now();
        self.shared.state.lock().series.ran(span, now)
    }

    /// Takes in the front's series of an earlier run.
    pub fn restore_series(&self, past: &RestoredPast) {
        let now = self.shared.timeline.now();
        let mut state = self.shared.state.lock();
        for line in past.text.lines() {
            let mut words = line.splitn(3, ' ');
            let (what, span) = (
                words.next(),
                words.next().and_then(|word| word.parse().ok()),
            );
            let span = span.and_then(|index: usize| Span::ALL.get(index).copied());
            // A line that a later Weir wrote and that cannot be read is left out.
            let (Some(span), Some(text)) = (span, words.next()) else {
                continue;
            };
            match what {
                Some("calls") => state.series.read(span, text, past.shift, now),
                Some("flow") => state.flows.read(span, text, past.shift, now),
                _ => {}
            }
        }
    }
}

impl Shared {
    /// What the front's listeners have counted by themselves. Read without the engine's lock.
    pub(crate) fn listened(&self) -> ListenerCounts {
        let read = self.listeners.get();
        read.map_or_else(ListenerCounts::default, |read| read())
    }
}

impl State {
    /// The front's series as text that survives a restart: a line for each of its rings.
    pub(crate) fn write_series(&self, now: Moment, listeners: ListenerCounts) -> String {
        let counters = self.counters.with(listeners);
        let lines = Span::ALL.into_iter().flat_map(|span| {
            let index = span as usize;
            let (calls, flow) = (
                self.series.write(span, now, true),
                self.flows.write(span, now, &counters),
            );
            [
                format!("calls {index} {calls}"),
                format!("flow {index} {flow}"),
            ]
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
