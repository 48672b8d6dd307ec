//! `/api/v1/news/*`: what the pages show, as JSON, with how current it is; and the marks of whoever is signed in.

mod articles;
mod described;
mod marks;
mod newsgroups;
mod posts;
mod search;
mod threads;

use std::sync::Arc;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use weir_net::{LONG, aside};
use weir_web::openapi::ApiRoutes;

use crate::pages::when::stamp;
use crate::reader::Reader;
use crate::reading::{Currency, Posting, SilentServer};

/// What may be read, by everybody if news are public.
pub fn router(reader: &Arc<Reader>) -> ApiRoutes {
    ApiRoutes::new()
        .route(described::newsgroups(), newsgroups::list)
        .route(described::threads(), threads::list)
        .route(described::thread(), threads::one)
        .route(described::search(), search::found)
        .route(described::article(), articles::one)
        .with_state(reader.clone())
}

/// What was read and written, for people who are signed in.
pub fn own_router(reader: &Arc<Reader>) -> ApiRoutes {
    ApiRoutes::new()
        .route(described::marks(), marks::changes)
        .route(described::mark(), marks::merge)
        .route(described::post(), posts::create)
        .route(described::posts(), posts::list)
        .route(described::one_post(), posts::one)
        .route(described::cancel(), posts::cancel)
        .with_state(reader.clone())
}

/// A value as JSON. What is made from many bytes is made away from the threads that serve everybody.
async fn long<T: Send + Sync + 'static>(
    value: Arc<T>,
    bytes: usize,
    write: fn(&T) -> Value,
) -> Response {
    let text = move || write(&value).to_string();
    let text = match bytes {
        ..=LONG => text(),
        _ => aside(text).await,
    };
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// A time for programs.
fn time(seconds: i64) -> String {
    stamp(seconds).to_string()
}

fn currency(currency: &Currency) -> Value {
    json!({
        "checked_at": currency.checked.map(time),
        "silent": currency.silent.iter().map(silent).collect::<Vec<_>>(),
        "busy": currency.busy.is_some(),
    })
}

fn silent(server: &SilentServer) -> Value {
    json!({
        "name": server.name,
        "reason": server.reason,
        "retry_at": server.retry_at.map(time),
    })
}

fn posting(posting: Posting) -> &'static str {
    match posting {
        Posting::Closed => "closed",
        Posting::Moderated => "moderated",
        Posting::Open => "open",
    }
}
