//! How calls ended, as stacked bars.

use std::time::Duration;

use askama::Template;
use weir_engine::{Point, dispatch::Moment};

use super::{ChartFrame, ChartHead, FOOT, ROWS, ceiling, height, tenth};
use crate::{
    pages::time::Shown,
    upstreams::numbers::{counted, grouped, percent},
};

/// Steps of a series in one bar: as many bars as can be told apart.
const STEPS: u32 = 6;
/// From the foot upwards; the classes of the rectangles.
const OUTCOMES: [(&str, &str); 4] = [
    ("answered", "Answered"),
    ("refused", "Refused"),
    ("failed", "Failed"),
    ("timed-out", "Timed out"),
];

#[derive(Template)]
#[template(path = "upstreams/chart_calls.html")]
pub(super) struct CallsChart {
    head: ChartHead,
    bars: Option<CallBars>,
    rows: Vec<CallsRow>,
}

/// What is drawn, once there is a call.
struct CallBars {
    caption: String,
    parts: Vec<BarPart>,
    grid: Vec<(f64, String)>,
    /// Stretches without a call: start and width.
    gaps: Vec<(f64, f64)>,
    axis: Vec<(f64, Shown)>,
    /// Class, name and count of each outcome.
    names: Vec<(&'static str, &'static str, String)>,
}

struct BarPart {
    class: &'static str,
    x: f64,
    width: f64,
    y: f64,
    height: f64,
}

struct CallsRow {
    at: Shown,
    calls: [u64; 4],
}

/// One bar: when it begins, and the calls of its time.
type Bar = (Moment, [u64; 4]);

impl CallsChart {
    pub(super) fn new(head: ChartHead, points: &[Point], frame: &ChartFrame<'_>) -> Self {
        let bars = bars(points, frame);
        Self {
            head,
            rows: bars
                .iter()
                .rev()
                .take(ROWS)
                .map(|(at, calls)| CallsRow {
                    at: frame.shown(*at),
                    calls: *calls,
                })
                .collect(),
            bars: (!bars.is_empty()).then(|| CallBars::of(&bars, points, frame)),
        }
    }
}

/// The bars in which anything was called.
fn bars(points: &[Point], frame: &ChartFrame<'_>) -> Vec<Bar> {
    let (mut bars, width) = (Vec::<Bar>::new(), frame.span.step() * STEPS);
    for point in points.iter().filter(|point| point.at < frame.end) {
        // Counted back from now, so that the last bar is a whole one.
        let back = point.at.until(frame.end).as_nanos().saturating_sub(1) / width.as_nanos();
        let at = frame.end - width * u32::try_from(back + 1).unwrap_or(u32::MAX);
        if bars.last().is_none_or(|(last, _)| *last != at) {
            bars.push((at, [0; 4]));
        }
        if let Some((_, sums)) = bars.last_mut() {
            for (sum, count) in sums.iter_mut().zip(point.calls) {
                *sum += u64::from(count);
            }
        }
    }
    bars
}

impl CallBars {
    fn of(bars: &[Bar], points: &[Point], frame: &ChartFrame<'_>) -> Self {
        let width = frame.span.step() * STEPS;
        let minutes = width.as_secs_f64() / 60.0;
        let rate = |count: u64| count as f64 / minutes;
        let totals = || bars.iter().map(|(_, calls)| calls.iter().sum::<u64>());
        let highest = rate(totals().max().unwrap_or_default());
        // Tenths of a call a minute, where there are few.
        let (top, digits) = match highest < 1.0 {
            true => (ceiling((highest * 100.0).ceil() as u64) as f64 / 100.0, 2),
            false => (ceiling(highest.ceil() as u64) as f64, 0),
        };
        let label = |value: f64| match value.fract() == 0.0 {
            true => format!("{value:.0}"),
            false => format!("{value:.*}", digits.max(1)),
        };
        Self {
            caption: caption(bars, (minutes, width), frame),
            parts: bars
                .iter()
                .flat_map(|bar| parts(bar, frame, |count| height(rate(count), top)))
                .collect(),
            grid: vec![
                (height(top, top), label(top)),
                (height(top / 2.0, top), label(top / 2.0)),
                (FOOT, "0".to_owned()),
            ],
            gaps: frame.gaps(points.iter().map(|point| point.at)),
            axis: frame.axis(),
            names: (0..OUTCOMES.len())
                .map(|index| {
                    let total = bars.iter().map(|(_, calls)| calls[index]).sum::<u64>();
                    let (class, name) = OUTCOMES[index];
                    (class, name, grouped(total))
                })
                .collect(),
        }
    }
}

/// The rectangles of one bar.
fn parts(
    (at, calls): &Bar,
    frame: &ChartFrame<'_>,
    y: impl Fn(u64) -> f64,
) -> impl Iterator<Item = BarPart> {
    let (x, end) = (frame.x(*at), frame.x(*at + frame.span.step() * STEPS));
    let width = tenth((end - x - 0.6).max(0.8));
    let mut below = 0;
    let mut parts = Vec::new();
    for ((class, _), count) in OUTCOMES.iter().zip(calls) {
        let (foot, top) = (y(below), y(below + count));
        below += count;
        if *count > 0 {
            // A single failure among many calls is seen too.
            let height = tenth((foot - top).max(1.0));
            parts.push(BarPart {
                class,
                x,
                width,
                y: tenth(foot - height),
                height,
            });
        }
    }
    parts.into_iter()
}

/// `2.0 calls a minute at last, at most 5.3; 98.7 % of 412 calls were answered.`
fn caption(bars: &[Bar], (minutes, width): (f64, Duration), frame: &ChartFrame<'_>) -> String {
    let total = |(_, calls): &Bar| calls.iter().sum::<u64>();
    let all: u64 = bars.iter().map(total).sum();
    let answered: u64 = bars.iter().map(|(_, calls)| calls[0]).sum();
    let last = bars.last().filter(|(at, _)| *at + width >= frame.end);
    let rate = |count: u64| match count as f64 / minutes {
        rate if rate < 10.0 => format!("{rate:.1}"),
        rate => grouped(rate.round() as u64),
    };
    let most = bars.iter().map(total).max().unwrap_or_default();
    format!(
        "{} a minute now, at most {}; {} of {} answered.",
        rate(last.map_or(0, total)),
        rate(most),
        percent(answered, all),
        counted(all, "call", "calls")
    )
}

#[cfg(test)]
mod tests {
    use super::super::frame_of_an_hour;
    use super::*;
    use crate::upstreams::times::Times;

    fn point(at: Moment, calls: [u32; 4]) -> Point {
        Point {
            at,
            calls,
            p50: None,
            p95: None,
            fill: 0,
            used: [0; 2],
        }
    }

    #[test]
    fn steps_add_up_to_bars_and_nothing_is_drawn_where_nothing_was_asked() {
        let now = Moment(0) + Duration::from_secs(7200);
        let times = Times::fixed(now);
        let ago = |seconds, calls| point(now - Duration::from_secs(seconds), calls);
        let points = [
            ago(1800, [1, 0, 0, 0]),
            ago(60, [5, 0, 1, 0]),
            ago(20, [3, 1, 0, 0]),
            ago(10, [2, 0, 0, 1]),
        ];
        let frame = frame_of_an_hour(&times);
        let found = bars(&points, &frame);
        assert_eq!(
            found,
            [
                (now - Duration::from_secs(1800), [1, 0, 0, 0]),
                (now - Duration::from_secs(60), [10, 1, 1, 1]),
            ]
        );
        let drawn = CallBars::of(&found, &points, &frame);
        assert_eq!(drawn.parts.len(), 5, "no rectangle without a call");
        let last = &drawn.parts[1..];
        for (lower, upper) in last.iter().zip(&last[1..]) {
            let apart = upper.y + upper.height - lower.y;
            assert!(apart.abs() <= 1.1, "stacked: {apart}");
        }
        assert_eq!(drawn.gaps.len(), 2);
        assert_eq!(
            drawn.caption,
            "13 a minute now, at most 13; 78.5 % of 14 calls answered."
        );
        let names: Vec<&str> = drawn.names.iter().map(|(_, _, count)| &**count).collect();
        assert_eq!(names, ["11", "1", "1", "1"]);
    }

    #[test]
    fn few_calls_have_a_scale_of_their_own() {
        let now = Moment(0) + Duration::from_secs(8 * 24 * 3600);
        let times = Times::fixed(now);
        let frame = ChartFrame::new(weir_engine::Span::Week, &times);
        let points = [point(now - Duration::from_secs(1800), [3, 0, 0, 0])];
        let drawn = CallBars::of(&bars(&points, &frame), &points, &frame);
        // Three calls in three hours.
        assert_eq!(drawn.grid[0].1, "0.02");
        assert!(drawn.parts[0].height > 10.0);
    }
}
