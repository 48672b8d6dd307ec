//! `/api/v1/events`, described.

use super::{events, topic::Topic};
use crate::{
    App, Right,
    openapi::{ApiRoutes, Operation, schema::text},
};

const ABOUT: &str = "\
Server-sent events, `id: EPOCH-NUMBER`, each second at most one of each topic; nothing is sent while nothing changes. \
`figures`: each front as in `/api/v1/status`. `states`: upstreams that went from one state to another. `decisions`: rows as in \
`/api/v1/decisions`, at most 20 a second, and how many `more` there were. `points`: the newest point of each front's chart, each \
10 s. `searches`: those that begin and end. `news`: newsgroups with new articles. Topics `page:…` are parts of Weir's own pages \
as HTML, and may change with any version.

With `Last-Event-ID` the stream goes on where it was cut. If that is too long ago, the first event is `missed`: read the whole \
state again; snapshots follow. A client that reads too slowly loses events, never their order. The stream ends when the key or \
session does, and when Weir stops.";

/// The route.
pub(crate) fn routes() -> ApiRoutes<App> {
    let words = Topic::FOR_PROGRAMS.map(|topic| topic.word());
    debug_assert!(
        words
            .iter()
            .all(|word| ABOUT.contains(&format!("`{word}`")))
    );
    let events = Operation::get("/api/v1/events", "What happens, as it happens").needs(Right::Read)
        .about(ABOUT)
        .query(
            "topics",
            text().about("With commas between them, at most 64; all but those of pages if left out. An unknown one is answered 400."),
        )
        .header(
            "Last-Event-ID",
            text().about("The `id` of the last event that arrived; browsers send it by themselves."),
        )
        .answers_events("The events.");
    ApiRoutes::new().route(events, events::events)
}
