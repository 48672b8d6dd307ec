//! What is charted: calls by outcome, answer times and queue fill in steps, in rings of flat size.
//!
//! The finest step is added up as calls end; the coarser ones are made from it. A step in which nothing
//! happened takes no place in an upstream's rings, so that idle upstreams cost nothing. A front's rings have a point for
//! each step in which Weir ran; where one is missing, it did not.
//!
//! A restart cuts a step in two. The first half comes back as a point, which the second half is added to when it ends.

pub(crate) mod text;

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
    pub(crate) fn steps(self) -> u64 {
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

    /// The whole time that it looks back.
    pub fn length(self) -> Duration {
        self.step() * u32::try_from(self.points()).expect("at most 360")
    }

    /// The number of the step at a moment, counted in steps of this span.
    pub(crate) fn number(self, at: Moment) -> u32 {
        let number = Moment(0).until(at).as_secs() / self.step().as_secs();
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// When a step began.
    pub(crate) fn begin(self, number: u32) -> Moment {
        Moment(0) + self.step() * number
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
                let number = u32::try_from(before / steps).unwrap_or(u32::MAX);
                push(&mut self.rings[index], step.keep(number, sample), span);
            }
        }
    }

    /// The points of the last day, oldest first, with all that is not over yet: a call counts from the moment it has
    /// ended.
    pub(crate) fn day(&self, now: Moment) -> Vec<Point> {
        let mut points = self.points(Span::Day, now);
        let number = Span::Day.number(now);
        let open = [Span::Day, Span::Hour].map(|span| &self.open[span as usize]);
        let open = open.into_iter().filter(|step| step.calls != [0; 4]);
        points.extend(open.map(|step| step.keep(number, Sample::default()).point(Span::Day)));
        points
    }

    /// Takes in the points of a day of an earlier run, oldest first, as they were written before there was a text of all
    /// spans.
    pub(crate) fn restore(&mut self, day: &[Point]) {
        // The longest time of a bucket is the shortest of the next one.
        let within = |time: Duration| bucket(time.saturating_sub(Duration::from_micros(1)));
        let known = |time: Option<Duration>| time.map_or(BUCKETS, within);
        for point in day {
            let [p50, p95] = [point.p50, point.p95].map(|time| known(time) as u8);
            let kept = Kept {
                number: Span::Day.number(point.at),
                calls: point.calls,
                used: [0; 2],
                p50,
                p95,
                fill: 0,
            };
            push(&mut self.rings[Span::Day as usize], kept, Span::Day);
        }
    }

    /// The points of a span as text, the step that is not over included if there was a call in it, or if this is the
    /// series of a front, which tells when Weir ran.
    pub(crate) fn write(&self, span: Span, now: Moment, front: bool) -> String {
        let mut open = self.open[span as usize];
        if span != Span::Hour {
            open.add(&self.open[Span::Hour as usize]);
        }
        let ring = self.rings[span as usize].iter().copied();
        let sample = Sample {
            fill: ring.clone().next_back().map(|last| last.fill),
            used: [0; 2],
        };
        let is_open = front || open.calls != [0; 4];
        let open = is_open.then(|| open.keep(span.number(now), sample));
        let mut rows: Vec<(u32, text::Row)> = Vec::with_capacity(span.points() + 1);
        for kept in ring.chain(open) {
            match rows.last_mut().filter(|last| last.0 == kept.number) {
                Some((number, last)) => *last = Kept::of(*number, *last).and(kept).row(),
                None => rows.push((kept.number, kept.row())),
            }
        }
        text::write(&rows)
    }

    /// Takes in such a text, with its times moved by `shift`. What is older than the span, or later than now because the
    /// clock was set back, is left out.
    pub(crate) fn read(&mut self, span: Span, text: &str, shift: i64, now: Moment) {
        let rows = text::read(text, span.points() + 1);
        for (number, row) in text::moved(rows, span, shift, now) {
            push(&mut self.rings[span as usize], Kept::of(number, row), span);
        }
    }

    /// The newest point of the finest steps.
    pub(crate) fn latest(&self) -> Option<Point> {
        let last = self.rings[Span::Hour as usize].back()?;
        Some(last.point(Span::Hour))
    }

    /// The stretches within a span in which Weir ran, oldest first. Of a front's series alone.
    pub(crate) fn ran(&self, span: Span, now: Moment) -> Vec<(Moment, Moment)> {
        let mut ran: Vec<(Moment, Moment)> = Vec::new();
        let steps = self.points(span, now).into_iter();
        for (from, to) in steps.map(|point| (point.at, point.at + span.step())) {
            match ran.last_mut().filter(|(_, end)| *end == from) {
                Some((_, end)) => *end = to,
                None => ran.push((from, to)),
            }
        }
        // It runs now; the step that is not over has no point yet.
        if let Some((_, end)) = ran.last_mut()
            && *end + span.step() * 2 > now
        {
            *end = now;
        }
        ran
    }

    /// Whether there were calls within a day, and none was answered. Stops at the latest answer.
    pub(crate) fn is_silent(&self, now: Moment) -> bool {
        let open = [Span::Day, Span::Hour].map(|span| self.open[span as usize].calls);
        let ring = self.rings[Span::Day as usize].iter().rev();
        let day = ring.take_while(|kept| Span::Day.begin(kept.number) + Span::Day.length() > now);
        let mut calls = open.into_iter().chain(day.map(|kept| kept.calls));
        let mut called = false;
        !calls.any(|calls| {
            called |= calls != [0; 4];
            calls[0] > 0
        }) && called
    }

    /// The two percentiles over a span, and calls by outcome. Only two times of each step are known: it counts as if half
    /// of its calls took the one, a few the other, and the rest something in between, which is exact for steps of one call.
    pub(crate) fn sum(
        &self,
        span: Span,
        now: Moment,
    ) -> (Option<Duration>, Option<Duration>, [u64; 4]) {
        let (mut times, mut calls) = ([0u64; BUCKETS], [0u64; 4]);
        let ring = self.rings[span as usize].iter();
        let within = ring.filter(|kept| span.begin(kept.number) + span.length() > now);
        for kept in within {
            for (sum, count) in calls.iter_mut().zip(kept.calls) {
                *sum += u64::from(count);
            }
            let (p50, p95) = (usize::from(kept.p50), usize::from(kept.p95));
            // The time an upstream takes to refuse is not an answer time.
            if p50 < BUCKETS && p95 < BUCKETS && kept.calls[0] > 0 {
                let count: u64 = kept.calls.iter().copied().map(u64::from).sum();
                times[p50] += count * 50;
                times[usize::midpoint(p50, p95)] += count * 44;
                times[p95] += count * 6;
            }
        }
        let mut open = self.open[span as usize];
        if span != Span::Hour {
            open.add(&self.open[Span::Hour as usize]);
        }
        for (sum, count) in calls.iter_mut().zip(open.calls) {
            *sum += u64::from(count);
        }
        if open.calls[0] > 0 {
            for (sum, count) in times.iter_mut().zip(open.times) {
                *sum += u64::from(count) * 100;
            }
        }
        let time = |percent| {
            let bucket = quantile(times.iter().copied(), percent);
            (bucket < BUCKETS).then(|| upper(bucket))
        };
        (time(50), time(95), calls)
    }

    /// The points of a span, oldest first; steps without a call are missing.
    pub(crate) fn points(&self, span: Span, now: Moment) -> Vec<Point> {
        let ring = self.rings[span as usize].iter();
        let points = ring.map(|kept| kept.point(span));
        points
            .filter(|point| point.at + span.length() > now)
            .collect()
    }
}

impl Kept {
    fn point(&self, span: Span) -> Point {
        let time = |bucket: u8| (usize::from(bucket) < BUCKETS).then(|| upper(usize::from(bucket)));
        Point {
            at: span.begin(self.number),
            calls: self.calls,
            p50: time(self.p50),
            p95: time(self.p95),
            fill: self.fill,
            used: self.used,
        }
    }
}

impl Kept {
    fn row(&self) -> text::Row {
        let [a, b, c, d] = self.calls;
        let [hour, day] = self.used;
        // No time is 0, so that a step without calls is short.
        let time = |bucket: u8| (u32::from(bucket) + 1) % (BUCKETS as u32 + 1);
        [
            a,
            b,
            c,
            d,
            time(self.p50),
            time(self.p95),
            self.fill.into(),
            hour,
            day,
        ]
    }

    fn of(number: u32, row: text::Row) -> Self {
        let [a, b, c, d, p50, p95, fill, hour, day] = row;
        let none = BUCKETS as u32;
        let time = |written: u32| written.checked_sub(1).unwrap_or(none).min(none) as u8;
        Self {
            number,
            calls: [a, b, c, d],
            used: [hour, day],
            p50: time(p50),
            p95: time(p95),
            fill: u8::try_from(fill).unwrap_or(u8::MAX),
        }
    }

    /// Two parts of the same step as one.
    fn and(self, later: Self) -> Self {
        let mut calls = self.calls;
        for (sum, count) in calls.iter_mut().zip(later.calls) {
            *sum = sum.saturating_add(count);
        }
        // Without the single times, the longer one is the safer guess.
        let longer = |one: u8, other: u8| match (usize::from(one), usize::from(other)) {
            (BUCKETS, _) => other,
            (_, BUCKETS) => one,
            _ => one.max(other),
        };
        Self {
            number: self.number,
            calls,
            p50: longer(self.p50, later.p50),
            p95: longer(self.p95, later.p95),
            used: later.used,
            fill: later.fill,
        }
    }
}

/// Adds a step to a ring: to the first part of itself if a restart cut it in two. Steps come in order; one that does not,
/// because the clock was set, is left out.
fn push(ring: &mut VecDeque<Kept>, kept: Kept, span: Span) {
    match ring.back_mut() {
        Some(last) if last.number == kept.number => *last = last.and(kept),
        Some(last) if last.number > kept.number => {}
        _ => {
            if ring.len() == span.points() {
                ring.pop_front();
            }
            ring.push_back(kept);
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

    fn keep(&self, number: u32, sample: Sample) -> Kept {
        Kept {
            number,
            calls: self.calls,
            used: sample.used,
            p50: self.quantile(50),
            p95: self.quantile(95),
            fill: sample.fill.unwrap_or(0),
        }
    }

    /// The bucket that `percent` of the times do not exceed.
    fn quantile(&self, percent: u64) -> u8 {
        let bucket = quantile(self.times.iter().copied().map(u64::from), percent);
        u8::try_from(bucket).expect("there are fewer than 256")
    }
}

/// The bucket that `percent` of the times do not exceed; [`BUCKETS`] if there are none.
fn quantile(times: impl Iterator<Item = u64> + Clone, percent: u64) -> usize {
    let total: u64 = times.clone().sum();
    let wanted = (total * percent).div_ceil(100).max(1);
    let mut seen = 0;
    let mut times = times;
    let at = times.position(|count| {
        seen += count;
        seen >= wanted
    });
    at.unwrap_or(BUCKETS)
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
