//! The picture itself, as paths.

use std::fmt::Write;

use weir_engine::{Span, dispatch::Moment};

use super::{
    Plot, Series,
    gap::{Gap, gaps},
};
use crate::pages::time::Shown;

/// The box in which values are drawn, within a picture of 352 by 200.
pub(super) const LEFT: f64 = 36.0;
const RIGHT: f64 = 296.0;
const TOP: f64 = 22.0;
const FOOT: f64 = 172.0;
/// The least distance between the names of two lines.
const APART: f64 = 12.0;
/// A gap that is narrower has no room for its name.
const NAMED: f64 = 40.0;

pub(super) struct Drawing {
    /// Heights and labels.
    pub(super) grid: Vec<(f64, String)>,
    pub(super) marks: Vec<(f64, String)>,
    /// Start, width, middle, and the name if there is room for it.
    pub(super) gaps: Vec<(f64, f64, f64, Option<&'static str>)>,
    pub(super) lines: Vec<DrawnLine>,
    pub(super) axis: Vec<AxisTime>,
}

pub(super) struct DrawnLine {
    pub(super) look: &'static str,
    pub(super) name: String,
    /// A line, or the outline of bars.
    pub(super) path: String,
    /// Steps that stand alone.
    pub(super) dots: String,
    /// The height of its name.
    pub(super) end: f64,
    pub(super) stacked: bool,
}

/// A time below the picture.
pub(super) struct AxisTime {
    pub(super) x: f64,
    pub(super) anchor: &'static str,
    pub(super) at: Shown,
    /// As script writes it; see times.ts.
    pub(super) form: &'static str,
}

impl Drawing {
    pub(super) fn of(plot: &Plot<'_>, steps: &[Moment]) -> Self {
        let (span, now) = (plot.span, plot.times.moment);
        let begin = now - span.length();
        let place = Place::new(plot, begin);
        let gaps = gaps(span, (begin, now), &plot.ran, steps).into_iter();
        let mut lines: Vec<DrawnLine> = match plot.stacked {
            true => bars(plot, &place),
            false => plot
                .series
                .iter()
                .map(|one| line(one, plot, &place))
                .collect(),
        };
        keep_apart(&mut lines);
        let marks = plot.marks.iter();
        Self {
            grid: plot
                .scale
                .grid(place.top)
                .into_iter()
                .map(|(value, label)| (place.y(value), label))
                .collect(),
            marks: marks
                .map(|(value, label)| (place.y(*value), label.clone()))
                .collect(),
            gaps: gaps.map(|gap| hatched(&gap, &place)).collect(),
            lines,
            axis: axis(plot, begin),
        }
    }
}

/// Where moments and values are drawn.
struct Place<'a> {
    plot: &'a Plot<'a>,
    begin: Moment,
    top: f64,
}

impl<'a> Place<'a> {
    fn new(plot: &'a Plot<'a>, begin: Moment) -> Self {
        let values = |series: &'a Series| series.values.iter().map(|(_, value)| *value);
        let highest = match plot.stacked {
            true => stacks(plot).iter().map(|(_, sum)| *sum).reduce(f64::max),
            false => plot.series.iter().flat_map(values).reduce(f64::max),
        };
        let marks = plot.marks.iter().map(|(value, _)| *value);
        let highest = marks.fold(highest.unwrap_or_default(), f64::max);
        let top = plot.scale.top(highest);
        Self { plot, begin, top }
    }

    fn x(&self, moment: Moment) -> f64 {
        let length = self.plot.span.length().as_secs_f64();
        let part = self.begin.until(moment).as_secs_f64() / length;
        tenth(LEFT + (RIGHT - LEFT) * part.min(1.0))
    }

    fn y(&self, value: f64) -> f64 {
        tenth(FOOT - (FOOT - TOP) * self.plot.scale.part(value, self.top))
    }
}

fn line(series: &Series, plot: &Plot<'_>, place: &Place<'_>) -> DrawnLine {
    let (mut path, mut dots) = (String::new(), String::new());
    let step = plot.span.step();
    let runs = series.values.chunk_by(|one, other| other.0 <= one.0 + step);
    for run in runs {
        for (index, (at, value)) in run.iter().enumerate() {
            let (x, y) = (place.x(*at), place.y(*value));
            // Writing to a string cannot fail.
            let _ = match (run.len(), index) {
                (1, _) => write!(dots, "M{x} {y}h.1"),
                (_, 0) => write!(path, "M{x} {y}"),
                _ => write!(path, "L{x} {y}"),
            };
        }
    }
    let last = series.values.last().map(|(_, value)| *value);
    DrawnLine {
        look: series.look,
        name: series.name.clone(),
        path,
        dots,
        end: place.y(last.unwrap_or_default()),
        stacked: false,
    }
}

/// The steps of stacked bars, each with the sum of its values.
fn stacks(plot: &Plot<'_>) -> Vec<(Moment, f64)> {
    let mut sums: Vec<(Moment, f64)> = Vec::new();
    let all = plot.series.iter().flat_map(|series| &series.values);
    let mut all: Vec<(Moment, f64)> = all.copied().collect();
    all.sort_by_key(|(at, _)| *at);
    for (at, value) in all {
        match sums.last_mut().filter(|(last, _)| *last == at) {
            Some((_, sum)) => *sum += value,
            None => sums.push((at, value)),
        }
    }
    sums
}

/// Bars, the first series at the foot.
fn bars(plot: &Plot<'_>, place: &Place<'_>) -> Vec<DrawnLine> {
    let mut feet: std::collections::HashMap<Moment, f64> = std::collections::HashMap::new();
    let width = (RIGHT - LEFT) / plot.span.points() as f64;
    let width = tenth(width.max(0.7));
    let one = |series: &Series| {
        let mut path = String::new();
        for (at, value) in series.values.iter().filter(|(_, value)| *value > 0.0) {
            let foot = feet.entry(*at).or_default();
            let (x, low, high) = (place.x(*at), place.y(*foot), place.y(*foot + value));
            *foot += value;
            let _ = write!(path, "M{x} {low}V{high}h{width}V{low}z"); // cannot fail
        }
        let middle = series.values.last().map_or(0.0, |(at, value)| {
            feet.get(at).copied().unwrap_or_default() - value / 2.0
        });
        DrawnLine {
            look: series.look,
            name: series.name.clone(),
            path,
            dots: String::new(),
            end: place.y(middle),
            stacked: true,
        }
    };
    plot.series.iter().map(one).collect()
}

/// Moves the names of lines so that none lies over another, and all within the picture.
fn keep_apart(lines: &mut [DrawnLine]) {
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by(|one, other| lines[*one].end.total_cmp(&lines[*other].end));
    let mut least = TOP;
    for &index in &order {
        lines[index].end = tenth(lines[index].end.max(least));
        least = lines[index].end + APART;
    }
    let mut most = FOOT;
    for &index in order.iter().rev() {
        lines[index].end = tenth(lines[index].end.min(most));
        most = lines[index].end - APART;
    }
}

fn hatched(gap: &Gap, place: &Place<'_>) -> (f64, f64, f64, Option<&'static str>) {
    let (from, to) = (place.x(gap.from), place.x(gap.to));
    let name = (to - from >= NAMED).then(|| gap.why.words());
    (from, tenth(to - from), tenth(f64::midpoint(from, to)), name)
}

fn axis(plot: &Plot<'_>, begin: Moment) -> Vec<AxisTime> {
    let form = match plot.span {
        Span::Week => "m",
        Span::Hour | Span::SixHours | Span::Day => "c",
    };
    let time = |part: u32| AxisTime {
        x: tenth(LEFT + (RIGHT - LEFT) * f64::from(part) / 3.0),
        anchor: ["start", "middle", "middle", "end"][part as usize],
        at: plot
            .times
            .shown_as(begin + plot.span.length() / 3 * part, form),
        form,
    };
    (0..=3).map(time).collect()
}

fn tenth(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
