//! `/readyz`: whether Weir can serve, or what is missing for that. What fronts say is asked each time; whether files can be
//! written is tried, because a full disk is otherwise noticed only when there is something to write.

use std::time::Duration;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;
use tokio::{sync::Mutex, time::Instant};
use weir_store::sqlite::File;

use crate::{
    App, Right,
    openapi::{
        ApiRoutes, Operation,
        schema::{flag, list, object, text},
    },
    stats,
};

/// How long the outcome of a try holds: everybody may ask, and a try costs a write.
const HOLDS: Duration = Duration::from_secs(2);
/// How long a try may take before the file counts as one that cannot be written.
const PATIENCE: Duration = Duration::from_secs(1);

/// Tries files, at most every few seconds, whoever asks.
pub(crate) struct TriedFiles {
    files: Vec<File>,
    /// Held during a try: whoever asks meanwhile gets its outcome.
    last: Mutex<Option<(Instant, Vec<String>)>>,
}

impl TriedFiles {
    pub(crate) fn new(files: Vec<File>) -> Self {
        let last = Mutex::new(None);
        Self { files, last }
    }

    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    /// A sentence for each file that cannot be written.
    async fn missing(&self) -> Vec<String> {
        let mut last = self.last.lock().await;
        if let Some((at, missing)) = &*last
            && at.elapsed() < HOLDS
        {
            return missing.clone();
        }
        let tries = self.files.iter().map(tried);
        let missing = futures_util::future::join_all(tries).await;
        let missing: Vec<String> = missing.into_iter().flatten().collect();
        *last = Some((Instant::now(), missing.clone()));
        missing
    }
}

async fn tried(file: &File) -> Option<String> {
    let name = file.path().file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    if !file.is_writable() {
        return Some(format!("{name} is no longer written: restart Weir"));
    }
    match tokio::time::timeout(PATIENCE, file.try_write()).await {
        Ok(Ok(())) => None,
        // Strangers read this, so it does not say where the file is.
        Ok(Err(_)) => Some(format!("{name} cannot be written. Is the disk full?")),
        Err(_) => Some(format!(
            "{name} was not written within {} s. Is the disk too busy?",
            PATIENCE.as_secs()
        )),
    }
}

/// `/healthz` and `/readyz`, for everybody.
pub(crate) fn routes() -> ApiRoutes<App> {
    let state = || {
        object([
            ("ready", flag()),
            (
                "missing",
                list(text()).about("What keeps it from serving, a sentence each."),
            ),
        ])
    };
    let alive = Operation::get("/healthz", "Whether the process is alive")
        .needs(Right::Read)
        .answers_text(StatusCode::OK, "It is.")
        .lenient();
    let ready = Operation::get("/readyz", "Whether Weir can serve").needs(Right::Read)
        .about("JSON where `Accept` names `application/json`, else text. While Weir starts and while it stops it is not ready either, and every other address answers 503.")
        .answers("It can.", state())
        .answers_text(StatusCode::OK, "")
        .answers_as(StatusCode::SERVICE_UNAVAILABLE, "Something is missing.", state())
        .answers_text(StatusCode::SERVICE_UNAVAILABLE, "")
        .lenient();
    ApiRoutes::new()
        .route(alive, stats::healthz)
        .route(ready, readyz)
}

/// `GET /readyz`.
async fn readyz(State(app): State<App>, headers: HeaderMap) -> Response {
    answer(&missing(&app).await, &headers)
}

/// All that keeps Weir from serving.
pub(crate) async fn missing(app: &App) -> Vec<String> {
    let mut missing = app.not_ready();
    missing.extend(app.tried_files().missing().await);
    missing
}

/// The answer in the form that was asked for.
pub(crate) fn answer(missing: &[String], headers: &HeaderMap) -> Response {
    let ready = missing.is_empty();
    let status = match ready {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    let accept = headers.get_all(header::ACCEPT).iter();
    let mut accept = accept.filter_map(|accept| accept.to_str().ok());
    if accept.any(|accept| accept.contains("application/json")) {
        let body = json!({ "ready": ready, "missing": missing });
        return (status, Json(body)).into_response();
    }
    let lines: String = missing.iter().map(|reason| format!("{reason}\n")).collect();
    let first = if ready { "ready" } else { "not ready" };
    (status, format!("{first}\n{lines}")).into_response()
}
