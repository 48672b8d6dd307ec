//! `/api/v1/series`: the points of charts, of fronts or of one upstream, in columns.

use axum::{
    Json,
    extract::{Query, State},
    http::StatusCode,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use weir_engine::{
    Engine, Point, Span,
    dispatch::{Moment, UpstreamId},
};

use crate::{
    App, Failure, Right,
    charts::{WINDOWS, Window, window},
    contribution::Contributed,
    kit,
    openapi::{
        Operation,
        schema::{choice, count, integer, list, number, object, text},
    },
    upstreams::{Times, find},
};

/// Which points are asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SeriesQuery {
    /// Of this front alone.
    front: String,
    /// Of one of its upstreams.
    upstream: String,
    /// How far back: `1h`, `6h`, `24h` or `7d`.
    window: String,
}

/// The route, described.
pub(crate) fn operation() -> Operation {
    let seconds = || integer().about("Seconds since 1970.");
    let counts = || list(count());
    let times = || list(number().or_null()).about("`null` where nothing was answered.");
    let one = object([
        ("front", text()),
        ("title", text()),
        ("upstream", text().or_null()),
        ("from", seconds()),
        ("to", seconds()),
        (
            "ran",
            list(list(seconds())).about("From when to when Weir ran."),
        ),
        (
            "at",
            list(seconds()).about("When each step began. Steps without a call may be missing."),
        ),
        ("answered", counts()),
        ("refused", counts()),
        ("failed", counts()),
        ("timed_out", counts()),
        ("p50_ms", times()),
        ("p95_ms", times()),
        (
            "fill_pct",
            counts()
                .optional()
                .about("Of a front: how full its queue was."),
        ),
        (
            "used_hour",
            counts()
                .optional()
                .about("Of an upstream: calls counted in its hour."),
        ),
        ("used_day", counts().optional()),
    ])
    .named("Series");
    Operation::get("/api/v1/series", "The points of charts")
        .needs(Right::Read)
        .about("Of all fronts, of one, or of one upstream; columns of the same length.")
        .query("front", text())
        .query("upstream", text().about("One of that front's."))
        .query(
            "window",
            choice(WINDOWS.map(|one| one.name)).about("The last hour by default."),
        )
        .answers(
            "The points, oldest first.",
            object([
                ("window", text()),
                ("step_seconds", count()),
                ("series", list(one)),
            ]),
        )
        .fails(StatusCode::NOT_FOUND, "There is no such front or upstream.")
}

/// `GET /api/v1/series`.
pub(crate) async fn show(
    State(app): State<App>,
    Query(asked): Query<SeriesQuery>,
) -> Result<Json<Value>, Failure> {
    let window = match asked.window.as_str() {
        "" => WINDOWS[0],
        name => window(name).ok_or_else(no_window)?,
    };
    let series = match (asked.front.as_str(), asked.upstream.as_str()) {
        ("", "") => {
            let fronts = app.with_upstreams();
            fronts
                .map(|(front, all)| series(&app, front, all.engine(), None, window))
                .collect()
        }
        ("", _) => return Err(no_front_given()),
        (name, "") => {
            let mut fronts = app.with_upstreams();
            let found = fronts.find(|(front, _)| front.name == name);
            let (front, upstreams) = found.ok_or_else(|| no_front(&app, name))?;
            vec![series(&app, front, upstreams.engine(), None, window)]
        }
        (front, name) => {
            let (front, engine, upstream) = find(&app, front, name)?;
            vec![series(&app, front, engine, Some((upstream, name)), window)]
        }
    };
    Ok(Json(json!({
        "window": window.name,
        "step_seconds": window.span.step().as_secs(),
        "series": series,
    })))
}

/// One series: `at` is when each step began, in seconds since 1970; the other columns have as many entries. A step in which
/// Weir was off is in no column; `ran` tells when it was not.
fn series(
    app: &App,
    front: &Contributed,
    engine: &Engine,
    upstream: Option<(UpstreamId, &str)>,
    window: Window,
) -> Value {
    let times = Times::new(engine, app.now(), app.shell().zone.clone());
    let points = match upstream {
        Some((upstream, _)) => engine.upstream_series(upstream, window.span),
        None => engine.series(window.span),
    };
    let seconds = |moment| whole_seconds(&times, moment);
    let ran = engine.ran(window.span).into_iter();
    let ran: Vec<Value> = ran
        .map(|(from, to)| json!([seconds(from), seconds(to)]))
        .collect();
    let mut columns = columns(&points, upstream.is_some(), |point| seconds(point.at));
    columns.insert("front".to_owned(), front.name.into());
    columns.insert("title".to_owned(), front.title.into());
    columns.insert("upstream".to_owned(), upstream.map(|(_, name)| name).into());
    columns.insert(
        "from".to_owned(),
        seconds(times.moment - window.span.length()).into(),
    );
    columns.insert("to".to_owned(), seconds(times.moment).into());
    columns.insert("ran".to_owned(), ran.into());
    Value::Object(columns)
}

/// The newest point of each front's finest series, for those who are told of each as it is made.
pub(crate) fn newest(app: &App) -> Value {
    let fronts = app.with_upstreams().filter_map(|(front, upstreams)| {
        let engine = upstreams.engine();
        let times = Times::new(engine, app.now(), app.shell().zone.clone());
        let last = engine.latest_point()?;
        let mut columns = columns(&[last], false, |point| whole_seconds(&times, point.at));
        // A single point has no need of columns.
        for value in columns.values_mut() {
            if let Some(only) = value.get_mut(0) {
                *value = only.take();
            }
        }
        columns.insert("front".to_owned(), front.name.into());
        Some(Value::Object(columns))
    });
    json!({
        "step_seconds": Span::Hour.step().as_secs(),
        "points": fronts.collect::<Vec<_>>(),
    })
}

fn columns(points: &[Point], of_upstream: bool, at: impl Fn(&Point) -> i64) -> Map<String, Value> {
    let column =
        |of: &dyn Fn(&Point) -> Value| Value::from(points.iter().map(of).collect::<Vec<_>>());
    let calls = |group: usize| column(&|point| point.calls[group].into());
    // The time an upstream takes to refuse is not an answer time.
    let time = |point: &Point, time: Option<std::time::Duration>| {
        let time = time.filter(|_| point.calls[0] > 0);
        Value::from(time.map(|time| time.as_micros() as f64 / 1000.0))
    };
    let mut columns = vec![
        ("at", column(&|point| at(point).into())),
        ("answered", calls(0)),
        ("refused", calls(1)),
        ("failed", calls(2)),
        ("timed_out", calls(3)),
        ("p50_ms", column(&|point| time(point, point.p50))),
        ("p95_ms", column(&|point| time(point, point.p95))),
    ];
    match of_upstream {
        true => columns.extend([
            ("used_hour", column(&|point| point.used[0].into())),
            ("used_day", column(&|point| point.used[1].into())),
        ]),
        false => columns.push(("fill_pct", column(&|point| point.fill.into()))),
    }
    let columns = columns.into_iter();
    columns
        .map(|(name, values)| (name.to_owned(), values))
        .collect()
}

/// Seconds since 1970. Steps begin at whole ones; two looks at the clocks may differ by a moment.
fn whole_seconds(times: &Times, moment: Moment) -> i64 {
    (times.at(moment).as_millisecond() + 500).div_euclid(1000)
}

fn no_window() -> Failure {
    Failure::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "`window` is not one of the four windows.",
        "Use 1h, 6h, 24h or 7d.",
    )
}

fn no_front_given() -> Failure {
    Failure::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "`upstream` needs a `front`: two fronts may have upstreams of the same name.",
        "Add front=tracker, front=search or front=news.",
    )
}

fn no_front(app: &App, name: &str) -> Failure {
    let names = app.with_upstreams().map(|(front, _)| front.name.to_owned());
    let near = kit::nearest(name, names.collect());
    let advice = match near.as_slice() {
        [] => "Leave `front` out to get all of them.".to_owned(),
        near => format!("Similar names: {}.", near.join(", ")),
    };
    Failure::unknown(format!("There is no front called “{name}” here."), advice)
}
