//! Answer times of one upstream, drawn on the server: a figure with its sentence and its table.

use std::{fmt::Write, time::Duration};

use weir_engine::{Point, Span, dispatch::Moment};

use super::{day::answer_times, numbers::answer_time, sight::Sight, times::Times};
use crate::pages::time::Shown;

/// The box in which lines are drawn.
const LEFT: f64 = 44.0;
const RIGHT: f64 = 312.0;
const TOP: f64 = 12.0;
const FOOT: f64 = 150.0;
/// Rows of the table: the newest.
const ROWS: usize = 20;

pub(super) struct Chart {
    pub(super) spans: Vec<(&'static str, &'static str, bool)>,
    /// `last hour`.
    pub(super) words: &'static str,
    pub(super) lines: Option<Lines>,
    pub(super) rows: Vec<ChartRow>,
}

/// What is drawn, once there are two points.
pub(super) struct Lines {
    pub(super) caption: String,
    pub(super) p50: String,
    pub(super) p95: String,
    /// Isolated steps of both lines.
    pub(super) dots: String,
    /// The height of each line's name.
    pub(super) ends: [f64; 2],
    pub(super) grid: Vec<(f64, String)>,
    /// Stretches without a call: start and width.
    pub(super) gaps: Vec<(f64, f64)>,
    pub(super) axis: Vec<(f64, Shown)>,
}

/// A point as numbers.
pub(super) struct ChartRow {
    pub(super) at: Shown,
    pub(super) p50: String,
    pub(super) p95: String,
    pub(super) calls: u32,
}

/// Each span in addresses, as a link and in words.
const SPANS: [(Span, &str, &str, &str); 4] = [
    (Span::Hour, "1h", "1 h", "last hour"),
    (Span::SixHours, "6h", "6 h", "last 6 hours"),
    (Span::Day, "24h", "24 h", "last 24 hours"),
    (Span::Week, "7d", "7 d", "last 7 days"),
];

impl Chart {
    pub(super) fn of(sight: &Sight<'_>, asked: &str) -> Self {
        let found = SPANS.iter().find(|(_, name, _, _)| *name == asked);
        let (span, name, _, words) = *found.unwrap_or(&SPANS[0]);
        let points = sight.engine().upstream_series(sight.id(), span);
        let points: Vec<Point> = points
            .into_iter()
            .filter(|point| answer_times(point).is_some())
            .collect();
        let rows = points.iter().rev().take(ROWS).map(|point| ChartRow {
            at: match span {
                Span::Hour => sight.times.shown_exactly(point.at),
                _ => sight.times.shown(point.at),
            },
            p50: answer_time(point.p50),
            p95: answer_time(point.p95),
            calls: point.calls.iter().sum(),
        });
        Self {
            spans: SPANS
                .iter()
                .map(|(_, value, label, _)| (*value, *label, *value == name))
                .collect(),
            words,
            rows: rows.collect(),
            lines: (points.len() > 1).then(|| Lines::of(&points, span, &sight.times)),
        }
    }
}

impl Lines {
    fn of(points: &[Point], span: Span, times: &Times) -> Self {
        let length = span.step() * u32::try_from(span.points()).unwrap_or(u32::MAX);
        let begin = times.moment - length;
        let x = |moment: Moment| {
            let part = begin.until(moment).as_secs_f64() / length.as_secs_f64();
            tenth(LEFT + (RIGHT - LEFT) * part.min(1.0))
        };
        let highest = points.iter().filter_map(|point| point.p95).max();
        let top = ceiling(highest.unwrap_or_default());
        let y = |time: Duration| {
            let part = time.as_secs_f64() / top.as_secs_f64();
            tenth(FOOT - (FOOT - TOP) * part.min(1.0))
        };
        let runs = || points.chunk_by(|one, other| other.at <= one.at + span.step());
        let line = |of: fn(&Point) -> Option<Duration>| {
            let mut line = String::new();
            for run in runs().filter(|run| run.len() > 1) {
                for (index, point) in run.iter().enumerate() {
                    let letter = if index == 0 { 'M' } else { 'L' };
                    let (x, y) = (x(point.at), y(of(point).unwrap_or_default()));
                    let _ = write!(line, "{letter}{x} {y}");
                }
            }
            line
        };
        let mut dots = String::new();
        for point in runs().filter(|run| run.len() == 1).flatten() {
            for time in [point.p50, point.p95].into_iter().flatten() {
                let _ = write!(dots, "M{} {}h.1", x(point.at), y(time));
            }
        }
        let last = points.last();
        let end = |time: Option<Duration>| y(time.unwrap_or_default());
        let mut ends = [
            end(last.and_then(|point| point.p50)),
            end(last.and_then(|point| point.p95)),
        ];
        // The two names must not overlap.
        if ends[0] - ends[1] < 12.0 {
            ends[0] = ends[1] + 12.0;
        }
        let shown = |part: u32| times.shown(begin + length / 2 * part);
        Self {
            caption: caption(points),
            p50: line(|point| point.p50),
            p95: line(|point| point.p95),
            dots,
            ends,
            grid: vec![
                (y(top), answer_time(Some(top))),
                (y(top / 2), answer_time(Some(top / 2))),
                (FOOT, "0".to_owned()),
            ],
            gaps: gaps(points, span, begin, times.moment)
                .into_iter()
                .map(|(from, to)| (x(from), tenth(x(to) - x(from))))
                .collect(),
            axis: vec![
                (LEFT, shown(0)),
                ((LEFT + RIGHT) / 2.0, shown(1)),
                (RIGHT, shown(2)),
            ],
        }
    }
}

/// Stretches without a call of a twelfth of the chart or more.
fn gaps(points: &[Point], span: Span, begin: Moment, now: Moment) -> Vec<(Moment, Moment)> {
    let least = span.step() * u32::try_from(span.points() / 12).unwrap_or(1);
    let starts = [begin]
        .into_iter()
        .chain(points.iter().map(|point| point.at + span.step()));
    let ends = points.iter().map(|point| point.at).chain([now]);
    starts
        .zip(ends)
        .filter(|(from, to)| from.until(*to) >= least)
        .collect()
}

/// `p50: latest 0.7 s, range 0.5 s to 1.0 s; p95: latest 2.9 s, range 1.9 s to 3.0 s.`
fn caption(points: &[Point]) -> String {
    let words = |name: &str, of: fn(&Point) -> Option<Duration>| {
        let times = || points.iter().filter_map(of);
        format!(
            "{name}: latest {}, range {} to {}",
            answer_time(times().next_back()),
            answer_time(times().min()),
            answer_time(times().max())
        )
    };
    format!(
        "{}; {}.",
        words("p50", |point| point.p50),
        words("p95", |point| point.p95)
    )
}

/// The smallest of 1, 2, 5, 10, … milliseconds that is not below this.
fn ceiling(time: Duration) -> Duration {
    let mut unit = Duration::from_millis(1);
    loop {
        for factor in [1, 2, 5] {
            if unit * factor >= time {
                return unit * factor;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

fn tenth(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: Moment) -> Point {
        Point {
            at,
            calls: [1, 0, 0, 0],
            p50: Some(Duration::from_millis(700)),
            p95: Some(Duration::from_millis(2900)),
            fill: 0,
            used: [0; 2],
        }
    }

    #[test]
    fn lines_break_where_nothing_was_asked() {
        let now = Moment(0) + Duration::from_secs(7200);
        let times = Times::fixed(now);
        let ago = |seconds| point(now - Duration::from_secs(seconds));
        let points = [ago(3000), ago(2990), ago(1200), ago(10)];
        let lines = Lines::of(&points, Span::Hour, &times);
        assert_eq!(
            lines.p50.matches(['M', 'L']).count(),
            2,
            "two stand together"
        );
        assert_eq!(
            lines.dots.matches('M').count(),
            4,
            "two stand alone, with two times each"
        );
        assert_eq!(lines.gaps.len(), 3);
        assert_eq!(lines.grid[0], (TOP, "5.0 s".to_owned()));
        assert_eq!(
            lines.caption,
            "p50: latest 0.7 s, range 0.7 s to 0.7 s; p95: latest 2.9 s, range 2.9 s to 2.9 s."
        );
    }

    #[test]
    fn the_scale_is_a_round_number() {
        let of = |millis| ceiling(Duration::from_millis(millis)).as_millis();
        assert_eq!(
            [of(0), of(3), of(58), of(140), of(2900)],
            [1, 5, 100, 200, 5000]
        );
    }
}
