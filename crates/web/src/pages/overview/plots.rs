//! The three charts: calls sent upstream, answer times, how full the queues are.

use weir_engine::{Engine, Point, dispatch::Moment};

use crate::{
    App, LivePart,
    charts::{Chart, Plot, Scale, Series, Window},
    contribution::Contributed,
    upstreams::Times,
};

/// A front's line.
struct Front<'a> {
    title: &'static str,
    look: &'static str,
    engine: &'a Engine,
    points: Vec<Point>,
}

/// What all three charts are drawn from.
struct Drawn<'a> {
    window: Window,
    times: Times,
    fronts: Vec<Front<'a>>,
    ran: Vec<(Moment, Moment)>,
    /// How full a queue must be for something to happen, in percent, and what that is called.
    marks: Vec<(f64, String)>,
}

/// The charts of a page.
pub(super) fn charts(app: &App, window: Window) -> Vec<Chart> {
    let Some(drawn) = Drawn::look(app, window) else {
        return Vec::new();
    };
    drawn.plots().iter().map(Plot::draw).collect()
}

/// What is said about them, for a live page.
pub(super) fn parts(app: &App, window: Window) -> Vec<LivePart> {
    let Some(drawn) = Drawn::look(app, window) else {
        return Vec::new();
    };
    drawn.plots().iter().flat_map(Plot::parts).collect()
}

impl<'a> Drawn<'a> {
    fn look(app: &'a App, window: Window) -> Option<Self> {
        let all = || {
            app.with_upstreams()
                .filter(|(front, _)| front.card.is_some())
        };
        let first = all().next()?.1.engine();
        let front =
            |(front, upstreams): (&Contributed, &'a std::sync::Arc<dyn crate::Upstreams>)| {
                let engine = upstreams.engine();
                Front {
                    title: front.title,
                    look: front.name,
                    engine,
                    points: engine.series(window.span),
                }
            };
        let mut marks: Vec<(f64, String)> = all()
            .filter_map(|(front, _)| Some(front.card.as_ref()?.thresholds()))
            .flatten()
            .map(|(at, name)| (f64::from(at), name.to_owned()))
            .collect();
        marks.sort_by(|one, other| one.0.total_cmp(&other.0));
        marks.dedup();
        Some(Self {
            window,
            times: Times::new(first, app.now(), app.shell().zone.clone()),
            ran: first.ran(window.span),
            fronts: all().map(front).collect(),
            marks,
        })
    }

    fn plots(&self) -> [Plot<'_>; 3] {
        let minutes = self.window.span.step().as_secs_f64() / 60.0;
        let calls = move |point: &Point| {
            let calls: u32 = point.calls.iter().sum();
            Some((f64::from(calls) / minutes * 10.0).round() / 10.0)
        };
        // The time an upstream takes to refuse is not an answer time.
        let time = |point: &Point| Some(point.p95.filter(|_| point.calls[0] > 0)?.as_secs_f64());
        let fill = |point: &Point| Some(f64::from(point.fill));
        let plot = |id, title, unit, scale, of: &dyn Fn(&Point) -> Option<f64>| Plot {
            id,
            title,
            unit,
            span: self.window.span,
            times: &self.times,
            scale,
            series: self.lines(of),
            stacked: false,
            marks: Vec::new(),
            ran: self.ran.clone(),
        };
        [
            plot(
                "calls",
                "Calls sent upstream",
                "per minute",
                Scale::Count,
                &calls,
            ),
            plot(
                "times",
                "Answer time, 95th percentile",
                "log scale",
                Scale::LogSeconds,
                &time,
            ),
            Plot {
                marks: self.marks.clone(),
                ..plot("fill", "Queue fill", "% of capacity", Scale::Percent, &fill)
            },
        ]
    }

    fn lines(&self, of: &dyn Fn(&Point) -> Option<f64>) -> Vec<Series> {
        // A front that is not set up would be a line at nothing.
        let used = self.fronts.iter().filter(|front| front.is_used());
        let line = |front: &Front<'_>| Series {
            name: front.title.to_owned(),
            look: front.look,
            values: front
                .points
                .iter()
                .filter_map(|point| Some((point.at, of(point)?)))
                .collect(),
        };
        used.map(line).collect()
    }
}

impl Front<'_> {
    fn is_used(&self) -> bool {
        self.engine.status().upstreams > 0 || self.points.iter().any(|point| point.calls != [0; 4])
    }
}
