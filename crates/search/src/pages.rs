//! The pages of the search front: `/search`, `/history`, `/connect`.

mod ask;
mod connect;
mod history;
mod search;
mod shelf;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use jiff::tz::TimeZone;
use weir_web::{Icon, NavEntry, NavGroup, Right, Shown};

use crate::views::Views;
use crate::words::second;

pub(crate) use self::connect::key_lines;

/// Where people search: what was found has links to download it.
pub(crate) fn searching(views: &Arc<Views>) -> Router {
    Router::new()
        .route("/search", get(search::show).post(ask::begin))
        .route("/search/stop", post(ask::stop))
        .with_state(views.clone())
}

/// Pages that are only read.
pub(crate) fn reading(views: &Arc<Views>) -> Router {
    Router::new()
        .route("/history", get(history::show))
        .route("/connect", get(connect::show))
        .with_state(views.clone())
}

/// Their places in the navigation.
pub(crate) fn nav() -> [NavEntry; 3] {
    [
        NavEntry {
            label: "Search",
            href: "/search",
            icon: Icon::Search,
            key: 's',
            group: NavGroup::Read,
            place: 0,
            phone: true,
            needs: Right::Search,
        },
        NavEntry {
            label: "History",
            href: "/history",
            icon: Icon::History,
            key: 'h',
            group: NavGroup::Watch,
            place: 3,
            phone: false,
            needs: Right::Read,
        },
        NavEntry {
            label: "Connect",
            href: "/connect",
            icon: Icon::Connect,
            key: 'c',
            group: NavGroup::SetUp,
            place: 8,
            phone: false,
            needs: Right::Read,
        },
    ]
}

/// A time on a page, to the minute.
fn shown(seconds: i64, now: i64) -> Shown {
    Shown::new(second(seconds), second(now), &TimeZone::system())
}
