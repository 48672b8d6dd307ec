//! What is charted: calls by outcome, answer times and queue fill in steps, in rings of flat size.
//!
//! The finest step is added up as calls end; the coarser ones are made from it. A step in which nothing
//! happened takes no place in an upstream's rings, so that idle upstreams cost nothing.

use std::collections::VecDeque;
use std::time::Duration;

use weir_dispatch::Moment;

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

    /// The most points it can have.
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
    /// The answer time that half of the calls did not exceed, if there were any.
    pub p50: Option<Duration>,
    /// The time that 95 in 100 did not exceed.
    pub p95: Option<Duration>,
    /// How full the queue was at its end, in percent; 0 in an upstream's series.
    pub fill: u8,
    /// Calls counted in the upstream's hour and day windows at its end; 0 where there is no limit.
    pub used: [u32; 2],
}

/// What is sampled when a step ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// [`Point::fill`]; with it a step is noted even if nothing happened in it.
    pub(crate) fill: Option<u8>,
    /// [`Point::used`].
    pub(crate) used: [u32; 2],
}

/// The series of one upstream, or of a whole front.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    rings: [VecDeque<Kept>; 4],
    open: [Step; 4],
}

/// A [`Point`] as it is kept, which is small because an upstream has up to 1,344 of them.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// Counted in steps of its span.
    number: u32,
    calls: [u32; 4],
    used: [u32; 2],
    /// Buckets of answer times; [`BUCKETS`] where there were none.
    p50: u8,
    p95: u8,
    fill: u8,
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
    pub(crate) fn count(&mut self, kind: Kind, took: Duration) {
        let Some(group) = kind.group() else {
            return;
        };
        let step = &mut self.open[0];
        step.calls[group as usize] += 1;
        let times = &mut step.times[bucket(took)];
        *times = times.saturating_add(1);
    }

    /// The step that ended at step number `now` is over; `before` is the number at the last closing.
    pub(crate) fn close(&mut self, before: u64, now: u64, sample: Sample) {
        let finest = std::mem::take(&mut self.open[0]);
        for span in Span::ALL {
            let (index, steps) = (span as usize, span.steps());
            // Most steps of most upstreams are without a call.
            if finest.calls != [0; 4] {
                self.open[index].add(&finest);
            }
            if before / steps == now / steps {
                continue;
            }
            let step = std::mem::take(&mut self.open[index]);
            if sample.fill.is_some() || step.calls != [0; 4] {
                let ring = &mut self.rings[index];
                if ring.len() == span.points() {
                    ring.pop_front();
                }
                ring.push_back(step.keep(before / steps, sample));
            }
        }
    }

    /// The points of the last day, oldest first, with all that is not over yet: a call counts from the moment it has
    /// ended.
    pub(crate) fn day(&self, now: Moment) -> Vec<Point> {
        let mut points = self.points(Span::Day, now);
        let number = Moment(0).until(now).as_nanos() / Span::Day.step().as_nanos();
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        let open = [Span::Day, Span::Hour].map(|span| &self.open[span as usize]);
        let open = open.into_iter().filter(|step| step.calls != [0; 4]);
        points.extend(open.map(|step| step.keep(number, Sample::default()).point(Span::Day)));
        points
    }

    /// Takes in the points of a day of an earlier run, oldest first. Those of the same five minutes are added up.
    pub(crate) fn restore(&mut self, day: &[Point]) {
        let step = Span::Day.step().as_nanos();
        // The longest time of a bucket is the shortest of the next one.
        let within = |time: Duration| bucket(time.saturating_sub(Duration::from_micros(1)));
        let known = |time: Option<Duration>| time.map_or(BUCKETS, within);
        let ring = &mut self.rings[Span::Day as usize];
        for point in day {
            let number = Moment(0).until(point.at).as_nanos() / step;
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let [p50, p95] = [point.p50, point.p95].map(|time| known(time) as u8);
            match ring.back_mut().filter(|last| last.number == number) {
                Some(last) => {
                    for (sum, count) in last.calls.iter_mut().zip(point.calls) {
                        *sum += count;
                    }
                    (last.p50, last.p95) = (last.p50.max(p50), last.p95.max(p95));
                }
                None => ring.push_back(Kept {
                    number,
                    calls: point.calls,
                    used: [0; 2],
                    p50,
                    p95,
                    fill: 0,
                }),
            }
        }
        while ring.len() > Span::Day.points() {
            ring.pop_front();
        }
    }

    /// The points of a span, oldest first; steps without a call are missing.
    pub(crate) fn points(&self, span: Span, now: Moment) -> Vec<Point> {
        let length = span.step() * u32::try_from(span.points()).expect("at most 360");
        let ring = self.rings[span as usize].iter();
        let points = ring.map(|kept| kept.point(span));
        points.filter(|point| point.at + length > now).collect()
    }
}

impl Kept {
    fn point(&self, span: Span) -> Point {
        let time = |bucket: u8| (usize::from(bucket) < BUCKETS).then(|| upper(usize::from(bucket)));
        Point {
            at: Moment(0) + span.step() * self.number,
            calls: self.calls,
            p50: time(self.p50),
            p95: time(self.p95),
            fill: self.fill,
            used: self.used,
        }
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

    fn keep(&self, number: u64, sample: Sample) -> Kept {
        Kept {
            number: u32::try_from(number).unwrap_or(u32::MAX),
            calls: self.calls,
            used: sample.used,
            p50: self.quantile(50),
            p95: self.quantile(95),
            fill: sample.fill.unwrap_or(0),
        }
    }

    /// The bucket that `percent` of the times do not exceed.
    fn quantile(&self, percent: u64) -> u8 {
        let total: u64 = self.times.iter().copied().map(u64::from).sum();
        let wanted = (total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let at = self.times.iter().position(|&count| {
            seen += u64::from(count);
            seen >= wanted
        });
        u8::try_from(at.unwrap_or(BUCKETS)).expect("there are fewer than 256")
    }
}

/// Which bucket a time falls in: the octave and the two bits after the leading one.
fn bucket(took: Duration) -> usize {
    // Not `as_micros`: its 128-bit division would cost more than everything else here.
    let quarters = took.as_secs().saturating_mul(4000);
    let quarters = quarters
        .saturating_add(u64::from(took.subsec_micros() / 250))
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
