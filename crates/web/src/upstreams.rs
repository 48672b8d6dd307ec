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
mod lookout;
mod notice;
mod numbers;
mod one;
mod outage;
mod own;
mod parts;
mod query;
mod reason;
mod row;
mod runs;
mod sight;
mod tidings;
mod times;
mod voice;
mod watch;

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
    glance::{Attention, Decided, Glance, last_decisions, present},
    json::attention,
    notice::Notice,
    numbers::{answer_time, escape},
    outage::outage,
    own::path as own_path,
    tidings::Tidings,
    times::Times,
    watch::{one_parts, one_rows, row_parts, summary_parts},
};
pub use self::{lookout::Lookout, runs::without_name};
use crate::{App, Failure, contribution::Contributed};

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

    /// Whether Weir makes that call by itself when nobody asks the upstream for anything. Otherwise only an operator does,
    /// because whoever is behind the upstream would notice.
    fn is_tried_unasked(&self) -> bool {
        true
    }

    /// Whether what was cached of one is still served when an operator has switched it off. Articles can be read without their
    /// server; releases cannot be downloaded without their indexer.
    fn serves_switched_off(&self) -> bool {
        true
    }

    /// Whether operators add and change them on the pages.
    fn has_form(&self) -> bool {
        false
    }

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

/// Pages for whoever may read.
pub(crate) fn reading() -> Router<App> {
    Router::new()
        .route("/upstreams", get(list::show))
        .route("/upstreams/{front}/{name}", get(one::show))
        .route("/decisions", get(own::show))
}

/// Pages and forms for operators.
pub(crate) fn pages() -> Router<App> {
    Router::new()
        .route("/upstreams/probe", post(act::probe_all_failing))
        .route(
            "/upstreams/{front}/{name}/disable",
            get(one::confirm).post(act::disable),
        )
        .route("/upstreams/{front}/{name}/{action}", post(act::form))
}

/// The upstream with this name: its front, what calls it, and its number there.
///
/// # Errors
/// If there is none; similar names are suggested.
pub(crate) fn find<'a>(
    app: &'a App,
    front: &str,
    name: &str,
) -> Result<(&'a Contributed, &'a Engine, UpstreamId), Failure> {
    let sight = sight::Sight::find(app, front, name)?;
    let id = sight.id();
    Ok((sight.front, sight.upstreams.engine(), id))
}

/// The address of an upstream's page.
pub fn path(front: &str, name: &str) -> String {
    format!(
        "/upstreams/{}/{}",
        utf8_percent_encode(front, ENCODED),
        utf8_percent_encode(name, ENCODED)
    )
}
