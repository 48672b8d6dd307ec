//! Charts of one upstream: answer times, calls by outcome, quota used.

use weir_engine::{Point, dispatch::Window};

use super::{day::answer_times, sight::Sight};
use crate::charts::{Plot, Scale, Series, WINDOWS, window};

/// The charts of one upstream over one of the four windows.
pub(super) struct UpstreamCharts {
    /// Name, label, and whether it is the one.
    pub(super) windows: Vec<(&'static str, &'static str, bool)>,
    /// Each with the id of its element, around the panel.
    pub(super) charts: Vec<(String, String)>,
}

/// How calls end, as [`Point::calls`] counts them: look and name.
const OUTCOMES: [(&str, &str); 4] = [
    ("answered", "answered"),
    ("refused", "refused"),
    ("failed", "failed"),
    ("timed-out", "timed out"),
];

/// The limits that are charted, by their place in [`Point::used`]: id, title.
const LIMITS: [(Window, &str, &str); 2] = [
    (Window::HOUR, "up-hour", "Quota used, hour"),
    (Window::DAY, "up-day", "Quota used, day"),
];

impl UpstreamCharts {
    /// Over the window that an address names, else over the last hour.
    pub(super) fn of(sight: &Sight<'_>, asked: &str) -> Self {
        let window = window(asked).unwrap_or(WINDOWS[0]);
        let span = window.span;
        let points = sight.engine().upstream_series(sight.id(), span);
        // A chart changes when a step is over, and not with every look at it.
        let times = sight.times.step(span.step());
        let ran = sight.engine().ran(span);
        let plot = |id, title, unit, scale, series| Plot {
            id,
            title,
            unit,
            span,
            times: &times,
            scale,
            series,
            stacked: false,
            marks: Vec::new(),
            ran: ran.clone(),
        };
        let mut plots = vec![
            plot(
                "up-times",
                "Answer time",
                window.words,
                Scale::Seconds,
                answered(&points),
            ),
            Plot {
                stacked: true,
                ..plot(
                    "up-calls",
                    "Calls by outcome",
                    "per minute",
                    Scale::Count,
                    outcomes(&points, span.step().as_secs_f64() / 60.0),
                )
            },
        ];
        for (index, (of, id, title)) in LIMITS.into_iter().enumerate() {
            let mut limits = sight.view.status.query.iter();
            if let Some(limit) = limits.find(|limit| limit.window == of) {
                plots.push(Plot {
                    marks: vec![(f64::from(limit.limit), "limit".to_owned())],
                    ..plot(id, title, "calls", Scale::Count, vec![used(&points, index)])
                });
            }
        }
        Self {
            windows: WINDOWS
                .map(|one| (one.name, one.label, one == window))
                .into(),
            charts: plots
                .iter()
                .map(|plot| {
                    let id = format!("{}-{}", plot.id, window.name);
                    let html = format!("<div id=\"{id}\" data-live>{}</div>", plot.draw());
                    (id, html)
                })
                .collect(),
        }
    }
}

/// Two percentiles, where anything was answered.
fn answered(points: &[Point]) -> Vec<Series> {
    let of = |pick: fn((f64, f64)) -> f64| {
        let answered = points.iter().filter_map(move |point| {
            let (p50, p95) = answer_times(point)?;
            Some((point.at, pick((p50.as_secs_f64(), p95.as_secs_f64()))))
        });
        answered.collect()
    };
    let series = |name: &'static str, values| Series {
        name: name.to_owned(),
        look: name,
        values,
    };
    vec![
        series("p50", of(|both| both.0)),
        series("p95", of(|both| both.1)),
    ]
}

/// Calls of each outcome a minute.
fn outcomes(points: &[Point], minutes: f64) -> Vec<Series> {
    let rate = |count: u32| (f64::from(count) / minutes * 10.0).round() / 10.0;
    (0..OUTCOMES.len())
        .map(|index| Series {
            name: OUTCOMES[index].1.to_owned(),
            look: OUTCOMES[index].0,
            values: points
                .iter()
                .map(|point| (point.at, rate(point.calls[index])))
                .collect(),
        })
        .collect()
}

/// What was used of a limit. A call counts in its window, so none used means that nobody knows.
fn used(points: &[Point], index: usize) -> Series {
    let used = points.iter().map(|point| (point.at, point.used[index]));
    let known = used.filter(|(_, used)| *used > 0);
    Series {
        name: "used".to_owned(),
        look: "used",
        values: known.map(|(at, used)| (at, f64::from(used))).collect(),
    }
}
