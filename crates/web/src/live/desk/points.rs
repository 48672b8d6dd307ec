//! `points`: the newest point of each front's charts, each ten seconds.

use serde_json::{Value, json};
use weir_engine::{Point, Span};

use crate::{App, upstreams::Times};

/// Changes when a step is over.
pub(super) fn points(app: &App) -> Value {
    let fronts = app.with_upstreams().filter_map(|(front, upstreams)| {
        let engine = upstreams.engine();
        let point = engine.series(Span::Hour).pop()?;
        Some(one(front.name, &point, &Times::of(engine)))
    });
    json!({ "points": fronts.collect::<Vec<_>>() })
}

fn one(front: &str, point: &Point, times: &Times) -> Value {
    let [answered, refused, failed, timed_out] = point.calls;
    let millis = |time: std::time::Duration| time.as_micros() as f64 / 1000.0;
    json!({
        "front": front,
        "at": times.exact(point.at),
        "step_seconds": Span::Hour.step().as_secs(),
        "calls": { "answered": answered, "refused": refused, "failed": failed, "timed_out": timed_out },
        "p50_ms": point.p50.map(millis),
        "p95_ms": point.p95.map(millis),
        "fill_pct": point.fill,
    })
}
