//! `/api/v1/status`: how each front is doing, as the overview says it, and what became of everything it was asked.

use axum::{Json, extract::State};
use serde_json::{Value, json};
use weir_engine::{Counters, Figures};

use crate::{App, CardState, contribution::Contributed, pages};

/// `GET /api/v1/status`.
pub(crate) async fn status(State(app): State<App>) -> Json<Value> {
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "started": app.started().to_string(),
        "uptime_seconds": app.uptime(),
        "sentence": pages::overview::opening(&app),
        "fronts": fronts(&app),
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
    })
}

/// Everything that was asked, by what became of it; the parts add up.
pub(crate) fn counters(counters: &Counters) -> Value {
    let parts = counters.parts().into_iter();
    let parts = parts.map(|(name, count)| (name.to_owned(), Value::from(count)));
    let asked = ("asked".to_owned(), Value::from(counters.asked));
    Value::Object([asked].into_iter().chain(parts).collect())
}
