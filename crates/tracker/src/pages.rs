//! `/swarms`, one swarm, and the same as JSON: which torrents are here, and who has them.

mod described;
mod forwarders;
mod json;
mod list;
mod one;
mod urls;
mod wanted;

use axum::Router;
use axum::routing::get;

use crate::look::Look;

pub(crate) use self::described::api;
pub use self::urls::announce_urls;
pub(crate) use self::{list::live_parts, urls::announce_addresses};

/// Pages for people.
pub(crate) fn router(look: Look) -> Router {
    Router::new()
        .route("/swarms", get(list::show))
        .route("/swarms/{info_hash}", get(one::show))
        .with_state(look)
}

/// `12 min`, `5 h 12 min`, `3 days`.
fn span(minutes: u16) -> String {
    match (minutes / 60, minutes % 60) {
        (0, 0) => "under 1 min".into(),
        (0, rest) => format!("{rest} min"),
        (hours, 0) if hours < 48 => format!("{hours} h"),
        (hours, rest) if hours < 48 => format!("{hours} h {rest} min"),
        (hours, _) => format!("{} days", hours / 24),
    }
}

#[cfg(test)]
mod tests;
