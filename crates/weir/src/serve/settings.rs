//! `/settings` and `/api/v1/reload`: the values in use, their sources, and reloading them.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use weir_config::{Origin, Resolved};
use weir_web::{Access, Contribution, Icon, NavEntry, NavGroup, Visitor};

use super::reload::{Changes, Running};

/// The pages and routes of the configuration.
pub(super) fn contribution(running: &Running) -> Contribution {
    let pages = Router::new()
        .route("/settings", get(show))
        .route("/settings/reload", post(reload))
        .with_state(running.clone());
    let api = Router::new()
        .route("/api/v1/reload", post(api_reload))
        .with_state(running.clone());
    Contribution::new("settings", "Settings", Icon::Settings)
        .router(pages)
        .router_for(Access::Api, api)
        .nav(NavEntry {
            label: "Settings",
            href: "/settings",
            icon: Icon::Settings,
            key: ',',
            group: NavGroup::SetUp,
            place: 9,
            phone: false,
        })
}

/// The filter of the table, and whether the page was opened by a reload.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SettingsQuery {
    filter: String,
    /// If present, only values that were set are shown.
    changed: Option<String>,
    /// Present after a reload.
    reloaded: Option<String>,
}

#[derive(Template)]
#[template(path = "settings.html")]
struct SettingsPage<'a> {
    view: SettingsQuery,
    form_token: &'a str,
    file: Option<String>,
    rows: Vec<Resolved>,
    all: usize,
    /// What the reload just made has changed.
    reloaded: Option<Changes>,
    /// Why nothing was reloaded.
    mistakes: Vec<String>,
}

impl SettingsPage<'_> {
    fn is_set(row: &Resolved) -> bool {
        row.origin != Origin::Default
    }

    fn notice(&self) -> Option<String> {
        let Changes {
            changed,
            at_next_start,
        } = self.reloaded.as_ref()?;
        let now: Vec<&str> = changed
            .iter()
            .filter(|key| !at_next_start.contains(key))
            .map(String::as_str)
            .collect();
        let mut text = "Configuration reloaded. ".to_owned();
        if changed.is_empty() {
            text += "No value has changed.";
        }
        if !now.is_empty() {
            text += &format!("Now in use: {}. ", now.join(", "));
        }
        if !at_next_start.is_empty() {
            text += &format!("At the next start: {}.", at_next_start.join(", "));
        }
        Some(text)
    }
}

async fn show(
    State(running): State<Running>,
    Query(view): Query<SettingsQuery>,
    visitor: Visitor,
) -> Response {
    page(&running, view, &visitor, Vec::new())
}

async fn reload(State(running): State<Running>, visitor: Visitor) -> Response {
    match running.reload() {
        Ok(_) => Redirect::to("/settings?reloaded=1").into_response(),
        Err(mistakes) => {
            let page = page(&running, SettingsQuery::default(), &visitor, mistakes);
            (StatusCode::UNPROCESSABLE_ENTITY, page).into_response()
        }
    }
}

async fn api_reload(State(running): State<Running>) -> Response {
    match running.reload() {
        Ok(changes) => {
            Json(json!({ "changed": changes.changed, "at_next_start": changes.at_next_start }))
                .into_response()
        }
        Err(mistakes) => {
            let body = json!({ "error": "The configuration has mistakes. Nothing was changed.", "mistakes": mistakes });
            (StatusCode::UNPROCESSABLE_ENTITY, Json(body)).into_response()
        }
    }
}

fn page(
    running: &Running,
    view: SettingsQuery,
    visitor: &Visitor,
    mistakes: Vec<String>,
) -> Response {
    let mut rows = running.resolved();
    let all = rows.len();
    rows.retain(|row| {
        row.path.contains(view.filter.trim())
            && (view.changed.is_none() || SettingsPage::is_set(row))
    });
    let page = SettingsPage {
        reloaded: view.reloaded.as_ref().and_then(|_| running.last_changes()),
        view,
        form_token: &visitor.form_token,
        file: running.file(),
        rows,
        all,
        mistakes,
    };
    visitor.show("Settings", &page)
}
