//! `/api/v1/status`: how each front is doing, as the overview says it, what became of everything it was asked, and which
//! upstreams need attention.

use std::path::Path;

use axum::{Json, extract::State};
use serde_json::{Value, json};
use weir_engine::{Counters, Figures};

use crate::{
    App, CardState, Right,
    contribution::Contributed,
    nodes,
    openapi::{
        ApiRoutes, Operation, Schema,
        schema::{choice, count, flag, list, map, object, text, time},
    },
    pages, ready, upstreams,
};

/// Upstreams that are listed as needing attention.
const ATTENTION: usize = 50;

/// The route.
pub(crate) fn routes() -> ApiRoutes<App> {
    let status = Operation::get("/api/v1/status", "How Weir is doing")
        .needs(Right::Read)
        .about("What the overview says. `attention` has the first 50 upstreams that need it.")
        .answers("The state of all fronts.", described());
    ApiRoutes::new().route(status, self::status)
}

fn described() -> Schema {
    let states = CardState::ALL.map(CardState::name);
    let overload = object([
        ("since", time().or_null()),
        (
            "last_minute",
            map(count()).about("What was not done, and how often."),
        ),
    ]);
    let queue = object([
        ("depth", count()),
        ("capacity", count()),
        ("fill_pct", count()),
        ("scheduled", count().about("Jobs for a later time.")),
        ("workers", count()),
        ("busy", count().about("Workers that make a call.")),
        (
            "waiting",
            count().about("Calls that take long and hold no worker."),
        ),
    ]);
    let front = object([
        ("name", text()),
        ("title", text()),
        ("state", choice(states)),
        ("sentence", text().or_null()),
        ("overload", overload.or_null()),
        ("queue", queue.or_null()),
        (
            "counters",
            map(count()).or_null().about("Everything that was asked since the start, by what became of it; the parts add up to `asked`."),
        ),
        ("upstreams", count().or_null()),
        ("network_down", flag().or_null().about("Our own network is known to be down.")),
    ])
    .named("FrontStatus");
    object([
        ("version", text()),
        (
            "demo",
            flag().about("Upstreams and clients are made up (`weir demo`)."),
        ),
        ("started", time()),
        ("uptime_seconds", count()),
        (
            "sentence",
            text().about("The opening sentence of the overview."),
        ),
        ("nodes", nodes::api::standing_schema()),
        ("ready", flag().about("As `/readyz` says.")),
        ("missing", list(text())),
        ("fronts", list(front)),
        ("upstreams", upstreams::counts_schema()),
        ("attention", list(upstreams::attention_schema())),
        ("attention_total", count()),
        (
            "files",
            list(object([("name", text()), ("bytes", count())]))
                .about("What is kept in the data directory."),
        ),
    ])
}

/// `GET /api/v1/status`.
pub(crate) async fn status(State(app): State<App>) -> Json<Value> {
    let missing = ready::missing(&app).await;
    let (counts, attention, total) = upstreams::attention(&app, ATTENTION);
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "demo": app.is_demo(),
        "started": app.started().to_string(),
        "uptime_seconds": app.uptime(),
        "sentence": pages::overview::opening(&app),
        "nodes": nodes::api::standing(&app),
        "ready": missing.is_empty(),
        "missing": missing,
        "fronts": fronts(&app),
        "upstreams": counts,
        "attention": attention,
        "attention_total": total,
        "files": app.stores().iter().map(|(name, bytes)| json!({ "name": name, "bytes": bytes })).collect::<Vec<_>>(),
    }))
}

/// How each front is doing.
pub(crate) fn fronts(app: &App) -> Vec<Value> {
    // Without a card it brings pages alone, as the settings do.
    let fronts = app.fronts().iter().filter(|one| one.card.is_some());
    fronts.map(|one| front(app, one)).collect()
}

fn front(app: &App, front: &Contributed) -> Value {
    let card = front.card.as_ref();
    let view = card.map(|card| card.view());
    let overload = card.and_then(|card| card.overload());
    let state = view.as_ref().map_or(CardState::Off, |view| view.state);
    let figures = front.upstreams.as_ref().map(|all| all.engine().status());
    json!({
        "name": front.name,
        "title": front.title,
        "state": state.name(),
        "sentence": view.map(|view| view.sentence),
        "overload": overload.map(|overload| {
            let since = app.now().checked_sub(jiff::SignedDuration::try_from(overload.since).unwrap_or_default());
            let counts = overload.counts.iter();
            json!({
                "since": since.map(|since| since.to_string()).ok(),
                "last_minute": counts.map(|(what, count)| ((*what).to_owned(), Value::from(*count))).collect::<serde_json::Map<_, _>>(),
            })
        }),
        "queue": figures.as_ref().map(queue),
        "counters": figures.as_ref().map(|figures| counters(&figures.counters)),
        "upstreams": figures.as_ref().map(|figures| figures.upstreams),
        "network_down": figures.as_ref().map(|figures| figures.network_down),
    })
}

fn queue(figures: &Figures) -> Value {
    let counts = figures.counts;
    json!({
        "depth": counts.queued,
        "capacity": counts.capacity,
        "fill_pct": figures.fill_percent,
        "scheduled": counts.scheduled,
        "workers": counts.crew,
        "busy": counts.busy,
        "waiting": counts.waiting,
    })
}

/// Everything that was asked, by what became of it; the parts add up.
pub(crate) fn counters(counters: &Counters) -> Value {
    let parts = counters.parts().into_iter();
    let parts = parts.map(|(name, count)| (name.to_owned(), Value::from(count)));
    let asked = ("asked".to_owned(), Value::from(counters.asked));
    Value::Object([asked].into_iter().chain(parts).collect())
}

/// The sizes of what is kept: databases with their logs, and directories such as the swarms'.
pub(crate) fn files(app: &App) -> Vec<(String, u64)> {
    let directory = app.tried_files().files().first();
    let Some(directory) = directory.and_then(|file| file.path().parent()) else {
        return Vec::new();
    };
    let mut all: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
    for (name, bytes) in sizes(directory, true) {
        let name = name.trim_end_matches("-wal").trim_end_matches("-shm");
        if name.ends_with(".db") || name.ends_with('/') {
            *all.entry(name.to_owned()).or_default() += bytes;
        }
    }
    all.into_iter().collect()
}

/// What a directory holds, with the sum of each directory in it.
fn sizes(directory: &Path, deep: bool) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    let entries = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let (name, about) = (entry.file_name(), entry.metadata().ok()?);
        let name = name.to_string_lossy();
        match about.is_dir() {
            true if deep => {
                let within = sizes(&entry.path(), false).into_iter();
                Some((format!("{name}/"), within.map(|(_, bytes)| bytes).sum()))
            }
            true => None,
            false => Some((name.into_owned(), about.len())),
        }
    });
    entries.collect()
}
