//! `/stats` in text and JSON, `/metrics` and `/healthz`.

use axum::{
    Json,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    App, Failure, Right,
    metrics::MetricsFormat,
    openapi::{
        ApiRoutes, Operation,
        schema::{any, choice, map},
    },
};

/// `/stats` and `/metrics`, for this machine, `web.trusted` and whoever has a key.
pub(crate) fn routes() -> ApiRoutes<App> {
    let figures = map(any()).about("Version, start, uptime, whether it is a demo, the figures of each front under `fronts`, and those of the tracker also on top.");
    let stats = Operation::get("/stats", "Figures")
        .needs(Right::Read)
        .query("format", choice(["text", "json"]))
        .answers("The figures as JSON.", figures)
        .answers_text(StatusCode::OK, "")
        .lenient();
    let metrics = Operation::get("/metrics", "Metrics for Prometheus")
        .needs(Right::Read)
        .answers_text(StatusCode::OK, "The Prometheus text format.")
        .answers_openmetrics()
        .lenient();
    ApiRoutes::new()
        .route(stats, self::stats)
        .route(metrics, self::metrics)
}

/// The query of `/stats`.
#[derive(Debug, Deserialize)]
pub(crate) struct StatsQuery {
    format: Option<String>,
}

/// `GET /stats`.
pub(crate) async fn stats(State(app): State<App>, Query(asked): Query<StatsQuery>) -> Response {
    match asked.format.as_deref() {
        Some("json") => Json(as_json(&app)).into_response(),
        None | Some("text") => as_text(&app).into_response(),
        Some(_) => Failure::new(
            StatusCode::BAD_REQUEST,
            "There is no such format.",
            "Use format=text or format=json.",
        )
        .into_response(),
    }
}

/// `GET /metrics`.
pub(crate) async fn metrics(
    State(app): State<App>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let accept = headers.get_all(header::ACCEPT).iter();
    let format = MetricsFormat::accepted(accept.filter_map(|accept| accept.to_str().ok()));
    let text = format.write(app.registry()).map_err(|error| {
        tracing::error!(%error, "cannot write metrics");
        Failure::internal()
    })?;
    let headers = [
        (header::CONTENT_TYPE, format.content_type()),
        (header::VARY, "Accept"),
    ];
    Ok((headers, text).into_response())
}

/// `GET /healthz`: the process is alive and answers.
pub(crate) async fn healthz() -> &'static str {
    "alive\n"
}

fn as_json(app: &App) -> Value {
    let mut top = Map::new();
    let mut fronts = Map::new();
    for (name, stats) in app.sections() {
        let section = stats.section();
        if section.top_level {
            top.extend(section.json.clone());
        }
        fronts.insert(name.to_owned(), Value::Object(section.json));
    }
    // Last, so that no front can speak for the whole.
    top.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
    top.insert("started".into(), json!(app.started().to_string()));
    top.insert("uptime_seconds".into(), json!(app.uptime()));
    top.insert("demo".into(), json!(app.is_demo()));
    top.insert("fronts".into(), Value::Object(fronts));
    Value::Object(top)
}

fn as_text(app: &App) -> String {
    let mut lines = vec![
        format!("version {}", env!("CARGO_PKG_VERSION")),
        format!("started {}", app.started()),
        format!("uptime_seconds {}", app.uptime()),
    ];
    if app.is_demo() {
        lines.push("demo 1".to_owned());
    }
    for (name, stats) in app.sections() {
        lines.push(String::new());
        lines.push(format!("[{name}]"));
        lines.extend(stats.section().text);
    }
    lines.push(String::new());
    lines.join("\n")
}
