//! Upstreams of all fronts: which are open, which are cooling down, why and until when; and what an operator can do.
//!
//! A front hands over its engine through [`Upstreams`]; pages, API, metrics and figures are the same for all.

mod act;
mod band;
mod chart;
mod day;
mod decisions;
mod described;
mod facts;
mod figures;
mod glance;
mod json;
mod limit;
mod list;
mod notice;
mod numbers;
mod one;
mod query;
mod reason;
mod sight;
mod tidings;
mod times;
mod voice;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    routing::{get, post},
};
use percent_encoding::utf8_percent_encode;
use weir_config::ENCODED;
use weir_engine::{Call, Engine, dispatch::UpstreamId};

pub(crate) use self::{
    described::{api, attention_schema, counts_schema},
    glance::Glance,
    json::attention,
    tidings::Tidings,
    times::Times,
};
use crate::{
    App, LivePart,
    live::{NewRows, Whom},
};

/// The upstreams of one front, as pages and API see them. Nothing it gives may hold a secret.
pub trait Upstreams: Send + Sync + 'static {
    /// What calls them.
    fn engine(&self) -> &Engine;

    /// What one of them is: "tracker", "indexer", "news server".
    fn kind(&self) -> &'static str;

    /// Where it is, without secrets: `udp://tracker.example:1337`.
    fn place(&self, upstream: UpstreamId) -> String;

    /// The front's own probe call, if it has one.
    fn probe(&self, upstream: UpstreamId) -> Option<Arc<dyn Call>>;

    /// The names of the classes by position, for sentences.
    fn classes(&self) -> &'static [&'static str];

    /// Further facts for the page of one upstream: label and value.
    fn facts(&self, upstream: UpstreamId) -> Vec<(String, String)> {
        let _ = upstream;
        Vec::new()
    }

    /// The interval between calls that the upstream last asked for.
    fn last_interval(&self, upstream: UpstreamId) -> Option<Duration> {
        let _ = upstream;
        None
    }
}

/// Pages for people.
pub(crate) fn pages() -> Router<App> {
    Router::new()
        .route("/upstreams", get(list::show))
        .route("/upstreams/probe", post(act::probe_all_failing))
        .route("/upstreams/{front}/{name}", get(one::show))
        .route(
            "/upstreams/{front}/{name}/disable",
            get(one::confirm).post(act::disable),
        )
        .route("/upstreams/{front}/{name}/{action}", post(act::form))
}

/// The live parts of one row of the list.
pub(crate) fn row_parts(_app: &App, _whom: &Whom) -> Vec<LivePart> {
    Vec::new()
}

/// The live parts of the page of one upstream.
pub(crate) fn one_parts(_app: &App, _whom: &Whom) -> Vec<LivePart> {
    Vec::new()
}

/// The decisions about one upstream after this number, as rows of its page; without a number the newest.
pub(crate) fn one_rows(_app: &App, _whom: &Whom, _after: Option<u64>) -> NewRows {
    NewRows::default()
}

/// The address of an upstream's page.
fn path(front: &str, name: &str) -> String {
    format!(
        "/upstreams/{}/{}",
        utf8_percent_encode(front, ENCODED),
        utf8_percent_encode(name, ENCODED)
    )
}
