//! Charts of one upstream, drawn on the server: answer times, calls by outcome, quota used. Each is a figure with its
//! sentence and its table.

mod calls;
mod quota;
mod times;

use std::time::Duration;

use weir_engine::{Point, Span, dispatch::Moment};

use self::{calls::CallsChart, quota::QuotaChart, times::TimesChart};
use super::{sight::Sight, times::Times};
use crate::{kit, pages::time::Shown};

/// The box in which values are drawn.
const LEFT: f64 = 44.0;
const RIGHT: f64 = 312.0;
const TOP: f64 = 12.0;
const FOOT: f64 = 150.0;
/// Rows of a table: the newest.
const ROWS: usize = 20;

/// Each span in addresses, as a link and in words.
const SPANS: [(Span, &str, &str, &str); 4] = [
    (Span::Hour, "1h", "1 h", "last hour"),
    (Span::SixHours, "6h", "6 h", "last 6 hours"),
    (Span::Day, "24h", "24 h", "last 24 hours"),
    (Span::Week, "7d", "7 d", "last 7 days"),
];

/// The charts of one upstream over a span.
pub(super) struct UpstreamCharts {
    pub(super) spans: Vec<(&'static str, &'static str, bool)>,
    /// Each with the id of its element.
    pub(super) charts: Vec<(String, String)>,
}

impl UpstreamCharts {
    /// Over the span that an address names, else over the last hour.
    pub(super) fn of(sight: &Sight<'_>, asked: &str) -> Self {
        let found = SPANS.iter().find(|(_, name, _, _)| *name == asked);
        let (span, name, _, words) = *found.unwrap_or(&SPANS[0]);
        let points = sight.engine().upstream_series(sight.id(), span);
        let frame = ChartFrame::new(span, &sight.times);
        let head = |kind: &str| ChartHead {
            id: format!("up-{kind}-{name}"),
            front: sight.front.name,
            words,
        };
        let mut charts = vec![
            (
                head("times").id,
                kit::written(&TimesChart::new(head("times"), &points, &frame)),
            ),
            (
                head("calls").id,
                kit::written(&CallsChart::new(head("calls"), &points, &frame)),
            ),
        ];
        let limits = QuotaChart::all(sight, &points, &frame, &head);
        charts.extend(limits.map(|(id, chart)| (id, kit::written(&chart))));
        Self {
            spans: SPANS
                .iter()
                .map(|(_, value, label, _)| (*value, *label, *value == name))
                .collect(),
            charts,
        }
    }
}

/// What every chart says of itself.
struct ChartHead {
    id: String,
    front: &'static str,
    /// `last hour`.
    words: &'static str,
}

/// The time that a chart shows.
struct ChartFrame<'a> {
    span: Span,
    begin: Moment,
    end: Moment,
    times: &'a Times,
}

impl<'a> ChartFrame<'a> {
    fn new(span: Span, times: &'a Times) -> Self {
        // A chart changes when a step is over, and not with every look at it.
        let step = u64::try_from(span.step().as_nanos()).unwrap_or(u64::MAX);
        let end = Moment(times.moment.0 - times.moment.0 % step);
        let length = span.step() * u32::try_from(span.points()).unwrap_or(u32::MAX);
        Self {
            span,
            begin: end - length,
            end,
            times,
        }
    }

    fn length(&self) -> Duration {
        self.begin.until(self.end)
    }

    fn x(&self, moment: Moment) -> f64 {
        let part = self.begin.until(moment).as_secs_f64() / self.length().as_secs_f64();
        tenth(LEFT + (RIGHT - LEFT) * part.min(1.0))
    }

    /// Times under the chart, each with its place.
    fn axis(&self) -> Vec<(f64, Shown)> {
        let shown = |part: u32| self.times.shown(self.begin + self.length() / 2 * part);
        vec![
            (LEFT, shown(0)),
            ((LEFT + RIGHT) / 2.0, shown(1)),
            (RIGHT, shown(2)),
        ]
    }

    /// A moment in the table.
    fn shown(&self, moment: Moment) -> Shown {
        match self.span {
            Span::Hour => self.times.shown_exactly(moment),
            _ => self.times.shown(moment),
        }
    }

    /// Stretches without a point of a twelfth of the chart or more: start and width.
    fn gaps(&self, points: impl Iterator<Item = Moment> + Clone) -> Vec<(f64, f64)> {
        let step = self.span.step();
        let least = step * u32::try_from(self.span.points() / 12).unwrap_or(1);
        let starts = [self.begin]
            .into_iter()
            .chain(points.clone().map(|at| at + step));
        let ends = points.chain([self.end]);
        starts
            .zip(ends)
            .filter(|(from, to)| from.until(*to) >= least)
            .map(|(from, to)| (self.x(from), tenth(self.x(to) - self.x(from))))
            .collect()
    }

    /// A line through points that follow each other step by step, and dots for those that stand alone.
    fn line(&self, points: &[(Moment, f64)]) -> (String, String) {
        use std::fmt::Write;
        let (mut line, mut dots) = (String::new(), String::new());
        for run in points.chunk_by(|one, other| other.0 <= one.0 + self.span.step()) {
            if let [(at, y)] = run {
                let _ = write!(dots, "M{} {y}h.1", self.x(*at));
                continue;
            }
            for (index, (at, y)) in run.iter().enumerate() {
                let letter = if index == 0 { 'M' } else { 'L' };
                let _ = write!(line, "{letter}{} {y}", self.x(*at));
            }
        }
        (line, dots)
    }
}

/// Where a value is drawn, of which `top` is the highest.
fn height(value: f64, top: f64) -> f64 {
    tenth(FOOT - (FOOT - TOP) * (value / top).min(1.0))
}

/// The smallest of 1, 2, 5, 10, … that is not below this.
fn ceiling(value: u64) -> u64 {
    let mut unit = 1_u64;
    loop {
        for factor in [1, 2, 5] {
            if unit.saturating_mul(factor) >= value {
                return unit.saturating_mul(factor);
            }
        }
        unit = unit.saturating_mul(10);
    }
}

fn tenth(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

/// All calls of a step.
fn all_calls(point: &Point) -> u32 {
    point.calls.iter().sum()
}

#[cfg(test)]
fn frame_of_an_hour(times: &Times) -> ChartFrame<'_> {
    ChartFrame::new(Span::Hour, times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_a_round_number() {
        assert_eq!([0, 3, 58, 140, 2900].map(ceiling), [1, 5, 100, 200, 5000]);
        assert!(ceiling(u64::MAX) > u64::MAX / 2);
    }

    #[test]
    fn a_chart_stays_as_it_is_until_its_step_is_over() {
        let at = |millis: u64| Moment(0) + Duration::from_millis(7_200_000 + millis);
        let [one, same, next] = [0, 9_999, 10_000].map(|millis| Times::fixed(at(millis)));
        let end = |times| ChartFrame::new(Span::Hour, times).end;
        assert_eq!(end(&one), end(&same));
        assert_eq!(end(&next), end(&one) + Duration::from_secs(10));
    }
}
