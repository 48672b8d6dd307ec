//! How long answers took.

use std::time::Duration;

use askama::Template;
use weir_engine::{Point, dispatch::Moment};

use super::{ChartFrame, ChartHead, FOOT, ROWS, all_calls, ceiling, height};
use crate::{
    pages::time::Shown,
    upstreams::{day::answer_times, numbers::answer_time},
};

#[derive(Template)]
#[template(path = "upstreams/chart_times.html")]
pub(super) struct TimesChart {
    head: ChartHead,
    lines: Option<TimeLines>,
    rows: Vec<TimesRow>,
}

/// What is drawn, once there are two points.
struct TimeLines {
    caption: String,
    p50: String,
    p95: String,
    /// Isolated steps of both lines.
    dots: String,
    /// The height of each line's name.
    ends: [f64; 2],
    grid: Vec<(f64, String)>,
    /// Stretches without an answer: start and width.
    gaps: Vec<(f64, f64)>,
    axis: Vec<(f64, Shown)>,
}

/// A point as numbers.
struct TimesRow {
    at: Shown,
    p50: String,
    p95: String,
    calls: u32,
}

/// Two percentiles of one step.
type Answered = (Moment, Duration, Duration);

impl TimesChart {
    pub(super) fn new(head: ChartHead, points: &[Point], frame: &ChartFrame<'_>) -> Self {
        let answered = points.iter().filter_map(|point| {
            let (p50, p95) = answer_times(point)?;
            Some((point.at, p50, p95))
        });
        let answered: Vec<Answered> = answered.collect();
        let newest = points
            .iter()
            .rev()
            .filter(|point| answer_times(point).is_some());
        Self {
            head,
            rows: newest
                .take(ROWS)
                .map(|point| TimesRow {
                    at: frame.shown(point.at),
                    p50: answer_time(point.p50),
                    p95: answer_time(point.p95),
                    calls: all_calls(point),
                })
                .collect(),
            lines: (answered.len() > 1).then(|| TimeLines::of(&answered, frame)),
        }
    }
}

impl TimeLines {
    fn of(answered: &[Answered], frame: &ChartFrame<'_>) -> Self {
        let highest = answered.iter().map(|(_, _, p95)| p95.as_millis()).max();
        let top = ceiling(u64::try_from(highest.unwrap_or_default()).unwrap_or(u64::MAX));
        let y = |time: Duration| height(time.as_secs_f64() * 1000.0, top as f64);
        let drawn = |of: fn(&Answered) -> Duration| {
            let drawn = answered.iter().map(|one| (one.0, y(of(one))));
            frame.line(&drawn.collect::<Vec<_>>())
        };
        let [(p50, mut dots), (p95, more)] = [drawn(|one| one.1), drawn(|one| one.2)];
        dots.push_str(&more);
        let last = answered.last();
        let mut ends = last.map_or([FOOT; 2], |(_, p50, p95)| [y(*p50), y(*p95)]);
        // The two names must not overlap.
        if ends[0] - ends[1] < 12.0 {
            ends[0] = ends[1] + 12.0;
        }
        let top = Duration::from_millis(top);
        Self {
            caption: caption(answered),
            p50,
            p95,
            dots,
            ends,
            grid: vec![
                (y(top), answer_time(Some(top))),
                (y(top / 2), answer_time(Some(top / 2))),
                (FOOT, "0".to_owned()),
            ],
            gaps: frame.gaps(answered.iter().map(|one| one.0)),
            axis: frame.axis(),
        }
    }
}

/// `p50: latest 0.7 s, range 0.5 s to 1.0 s; p95: latest 2.9 s, range 1.9 s to 3.0 s.`
fn caption(answered: &[Answered]) -> String {
    let words = |name: &str, of: fn(&Answered) -> Duration| {
        let times = || answered.iter().map(of);
        format!(
            "{name}: latest {}, range {} to {}",
            answer_time(times().next_back()),
            answer_time(times().min()),
            answer_time(times().max())
        )
    };
    format!(
        "{}; {}.",
        words("p50", |one| one.1),
        words("p95", |one| one.2)
    )
}

#[cfg(test)]
mod tests {
    use super::super::{TOP, frame_of_an_hour};
    use super::*;
    use crate::upstreams::times::Times;

    #[test]
    fn lines_break_where_nothing_was_asked() {
        let now = Moment(0) + Duration::from_secs(7200);
        let times = Times::fixed(now);
        let ago = |seconds| {
            let [p50, p95] = [700, 2900].map(Duration::from_millis);
            (now - Duration::from_secs(seconds), p50, p95)
        };
        let answered = [ago(3000), ago(2990), ago(1200), ago(10)];
        let lines = TimeLines::of(&answered, &frame_of_an_hour(&times));
        let stands = "two stand together";
        assert_eq!(lines.p50.matches(['M', 'L']).count(), 2, "{stands}");
        let alone = "two stand alone, with two times each";
        assert_eq!(lines.dots.matches('M').count(), 4, "{alone}");
        assert_eq!(lines.gaps.len(), 3);
        assert_eq!(lines.grid[0], (TOP, "5.0 s".to_owned()));
        assert_eq!(
            lines.caption,
            "p50: latest 0.7 s, range 0.7 s to 0.7 s; p95: latest 2.9 s, range 2.9 s to 2.9 s."
        );
    }
}
