//! How much of a limit was used, with a line at the limit.

use askama::Template;
use weir_engine::{
    Point,
    dispatch::{Moment, Window},
};

use super::{ChartFrame, ChartHead, FOOT, ROWS, ceiling, height};
use crate::{
    pages::time::Shown,
    upstreams::{
        numbers::{capital, grouped},
        sight::Sight,
    },
};

/// The windows whose use is charted, by their place in [`Point::used`].
const CHARTED: [Window; 2] = [Window::HOUR, Window::DAY];

#[derive(Template)]
#[template(path = "upstreams/chart_quota.html")]
pub(super) struct QuotaChart {
    head: ChartHead,
    /// `Hour`.
    window: String,
    line: Option<QuotaLine>,
    rows: Vec<(Shown, String)>,
}

/// What is drawn, once there is a call.
struct QuotaLine {
    caption: String,
    line: String,
    dots: String,
    /// The height of the limit, and its label.
    limit: (f64, String),
    grid: Vec<(f64, String)>,
    /// Stretches without a call: start and width.
    gaps: Vec<(f64, f64)>,
    axis: Vec<(f64, Shown)>,
}

impl QuotaChart {
    /// One for each limit on queries in an hour and in a day.
    pub(super) fn all<'a>(
        sight: &'a Sight<'_>,
        points: &'a [Point],
        frame: &'a ChartFrame<'_>,
        head: &'a impl Fn(&str) -> ChartHead,
    ) -> impl Iterator<Item = (String, Self)> + 'a {
        CHARTED
            .into_iter()
            .enumerate()
            .filter_map(|(index, window)| {
                let mut limits = sight.view.status.query.iter();
                let limit = limits.find(|limit| limit.window == window)?;
                let name = weir_engine::window_name(window);
                let head = head(&format!("quota-{name}"));
                // A call counts in its window, so none used is not known: it was not sampled then.
                let used = points.iter().map(|point| (point.at, point.used[index]));
                let used: Vec<(Moment, u32)> = used.filter(|(_, used)| *used > 0).collect();
                Some((
                    head.id.clone(),
                    Self::new(head, capital(&name), (&used, limit.limit), frame),
                ))
            })
    }

    fn new(
        head: ChartHead,
        window: String,
        (used, limit): (&[(Moment, u32)], u32),
        frame: &ChartFrame<'_>,
    ) -> Self {
        let newest = used.iter().rev().take(ROWS);
        Self {
            head,
            window,
            rows: newest
                .map(|(at, used)| (frame.shown(*at), grouped(*used)))
                .collect(),
            line: (!used.is_empty()).then(|| QuotaLine::of(used, limit, frame)),
        }
    }
}

impl QuotaLine {
    fn of(used: &[(Moment, u32)], limit: u32, frame: &ChartFrame<'_>) -> Self {
        let highest = used.iter().map(|(_, used)| *used).max().unwrap_or_default();
        let top = ceiling(u64::from(highest.max(limit)));
        let y = |value: u32| height(f64::from(value), top as f64);
        let drawn: Vec<(Moment, f64)> = used.iter().map(|(at, used)| (*at, y(*used))).collect();
        let (line, dots) = frame.line(&drawn);
        let (last, least) = (used.last(), used.iter().map(|(_, used)| *used).min());
        let of = |value: Option<u32>| value.map_or_else(String::new, grouped);
        Self {
            caption: format!(
                "Latest {} of {}, range {} to {}.",
                of(last.map(|(_, used)| *used)),
                grouped(limit),
                of(least),
                grouped(highest)
            ),
            line,
            dots,
            limit: (y(limit), format!("limit {}", grouped(limit))),
            grid: vec![
                (height(1.0, 1.0), grouped(top)),
                (height(0.5, 1.0), grouped(top / 2)),
                (FOOT, "0".to_owned()),
            ],
            gaps: frame.gaps(used.iter().map(|(at, _)| *at)),
            axis: frame.axis(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{TOP, frame_of_an_hour};
    use super::*;
    use crate::upstreams::times::Times;

    #[test]
    fn the_limit_is_a_line_and_gaps_are_not_joined() {
        let now = Moment(0) + Duration::from_secs(7200);
        let times = Times::fixed(now);
        let ago = |seconds, used| (now - Duration::from_secs(seconds), used);
        let used = [ago(3000, 7), ago(2990, 8), ago(30, 99), ago(20, 100)];
        let drawn = QuotaLine::of(&used, 100, &frame_of_an_hour(&times));
        assert_eq!(drawn.line.matches('M').count(), 2);
        assert_eq!(drawn.limit, (TOP, "limit 100".to_owned()));
        assert_eq!(drawn.caption, "Latest 100 of 100, range 7 to 100.");
        assert_eq!(drawn.gaps.len(), 2);
        // A limit that was lowered.
        let drawn = QuotaLine::of(&used, 50, &frame_of_an_hour(&times));
        assert!(drawn.limit.0 > TOP);
    }
}
