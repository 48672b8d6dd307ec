//! What is charted: calls by outcome, answer times and queue fill in steps, in rings of flat size.
//!
//! The finest step is added up as calls end; the coarser ones are made of it. A step in which nothing
//! happened takes no place in an upstream's rings, so that idle upstreams cost nothing.

use std::collections::VecDeque;
use std::time::Duration;

use weir_dispatch::Moment;

use crate::call::Ended;
use crate::tally::Kind;

/// How far a chart looks back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// One hour, in steps of 10 seconds.
    Hour,
    /// Six hours, in steps of a minute.
    SixHours,
    /// A day, in steps of 5 minutes.
    Day,
    /// A week, in steps of half an hour.
    Week,
}

/// The finest step.
pub(crate) const STEP: Duration = Duration::from_secs(10);

impl Span {
    /// All spans, shortest first.
    pub const ALL: [Self; 4] = [Self::Hour, Self::SixHours, Self::Day, Self::Week];

    /// How many of the finest steps one of its steps is.
    fn steps(self) -> u64 {
        [1, 6, 30, 180][self as usize]
    }

    /// How many points it has at the most.
    pub fn points(self) -> usize {
        [360, 360, 288, 336][self as usize]
    }

    /// The time between two points.
    pub fn step(self) -> Duration {
        STEP * u32::try_from(self.steps()).expect("at most 180")
    }
}

/// One step of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// When it began.
    pub at: Moment,
    /// Calls that ended: answered, refused, failed, timed out.
    pub calls: [u32; 4],
    /// The answer time that half of the answers did not exceed, if there were any.
    pub p50: Option<Duration>,
    /// The one that 95 in 100 did not exceed.
    pub p95: Option<Duration>,
    /// How full the queue was at its end, in percent; 0 in an upstream's series.
    pub fill: u8,
}

/// The series of one upstream, or of a whole front.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    rings: [VecDeque<Point>; 4],
    open: [Step; 4],
}

/// A step that is not over.
#[derive(Clone, Copy, Debug)]
struct Step {
    calls: [u32; 4],
    times: [u16; BUCKETS],
}

impl Default for Step {
    fn default() -> Self {
        Self {
            calls: [0; 4],
            times: [0; BUCKETS],
        }
    }
}

/// Four to an octave, from a millisecond to over a minute.
const BUCKETS: usize = 68;

impl Series {
    /// An attempt ended.
    pub(crate) fn count(&mut self, ended: Ended, took: Duration) {
        let Some(group) = Kind::of(ended).group() else {
            return;
        };
        let step = &mut self.open[0];
        step.calls[group as usize] += 1;
        let times = &mut step.times[bucket(took)];
        *times = times.saturating_add(1);
    }

    /// The step that ended at step number `now` is over; `before` is the number at the last closing.
    /// Without a fill nothing is noted where nothing was counted.
    pub(crate) fn close(&mut self, before: u64, now: u64, fill: Option<u8>) {
        let finest = std::mem::take(&mut self.open[0]);
        for span in Span::ALL {
            let (index, steps) = (span as usize, span.steps());
            self.open[index].add(&finest);
            if before / steps == now / steps {
                continue;
            }
            let step = std::mem::take(&mut self.open[index]);
            let began = Moment(0) + span.step() * u32::try_from(before / steps).unwrap_or(u32::MAX);
            if fill.is_some() || step.calls != [0; 4] {
                let ring = &mut self.rings[index];
                if ring.len() == span.points() {
                    ring.pop_front();
                }
                ring.push_back(step.point(began, fill.unwrap_or(0)));
            }
        }
    }

    /// The points of a span, oldest first; what is not there was not asked.
    pub(crate) fn points(&self, span: Span, now: Moment) -> Vec<Point> {
        let length = span.step() * u32::try_from(span.points()).expect("at most 360");
        let ring = self.rings[span as usize].iter().copied();
        ring.filter(|point| point.at + length > now).collect()
    }
}

impl Step {
    fn add(&mut self, other: &Self) {
        for (sum, count) in self.calls.iter_mut().zip(other.calls) {
            *sum += count;
        }
        for (sum, count) in self.times.iter_mut().zip(other.times) {
            *sum = sum.saturating_add(count);
        }
    }

    fn point(&self, at: Moment, fill: u8) -> Point {
        Point {
            at,
            calls: self.calls,
            p50: self.quantile(50),
            p95: self.quantile(95),
            fill,
        }
    }

    fn quantile(&self, percent: u64) -> Option<Duration> {
        let total: u64 = self.times.iter().copied().map(u64::from).sum();
        let wanted = (total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let at = self.times.iter().position(|&count| {
            seen += u64::from(count);
            seen >= wanted
        })?;
        Some(upper(at))
    }
}

/// Which bucket a time falls in: the octave and the two bits after the leading one.
fn bucket(took: Duration) -> usize {
    let quarters = u64::try_from(took.as_micros() / 250)
        .unwrap_or(u64::MAX)
        .max(4);
    let octave = u64::from(quarters.ilog2()) - 2;
    let within = (quarters >> octave) & 3;
    usize::try_from(octave * 4 + within)
        .unwrap_or(BUCKETS)
        .min(BUCKETS - 1)
}

/// The longest time of a bucket.
fn upper(bucket: usize) -> Duration {
    let (octave, within) = (bucket / 4, bucket % 4);
    Duration::from_micros(250 * ((within as u64 + 5) << octave))
}

#[cfg(test)]
#[path = "series/tests.rs"]
mod tests;
