//! The API of searches, described.

use axum::http::StatusCode;
use weir_search_proto::Function;
use weir_web::Right;
use weir_web::openapi::schema::{
    choice, count, day, either, flag, integer, list, map, number, object, text, time,
};
use weir_web::openapi::{Operation, Schema};

use super::history;
use crate::releases::{Order, SortColumn};
use crate::search::Stage;

const ID: &str = "16 hex digits, from the answer that began the search.";

/// `POST /api/v1/searches`.
pub(super) fn begin() -> Operation {
    let word = |name| text().about(name);
    let begun = object([
        ("id", text()),
        ("url", text().about("Where the search is.")),
        ("events", text().about("Where its events are.")),
        ("page", text()),
    ]);
    let body = object([
        (
            "query",
            text()
                .optional()
                .about("Words; leave it out for the latest releases."),
        ),
        (
            "categories",
            list(integer().least(0).most(u32::MAX.into()))
                .optional()
                .about("Numbers as in Torznab, such as 5000."),
        ),
        (
            "indexers",
            list(text())
                .optional()
                .about("Their names; leave it empty for all."),
        ),
        (
            "function",
            choice(Function::ALL.map(Function::name)).optional(),
        ),
        (
            "terms",
            map(either([text(), number()]))
                .optional()
                .about("What the function takes, such as `season` or `imdbid`."),
        ),
        (
            "no_cache",
            flag()
                .optional()
                .about("Asks every indexer again, whatever is cached."),
        ),
    ]);
    Operation::post("/api/v1/searches", "Begin a search")
        .needs(Right::Search)
        .about(
            "Returns at once. The search goes on by itself: read it at `url`, or follow `events`.",
        )
        .body(body)
        .answers_as(StatusCode::ACCEPTED, "It has begun.", begun)
        .with_header("Location", "The address of the search.")
        .header(
            "User-Agent",
            word("The name of the program, which the history shows."),
        )
}

/// `GET /api/v1/searches`.
pub(super) fn list_all() -> Operation {
    let answer = object([("searches", list(progress().named("Search")))]);
    Operation::get("/api/v1/searches", "The last searches, newest first")
        .needs(Right::Search)
        .answers("At most 50, without their releases.", answer)
}

/// `GET /api/v1/searches/{id}`.
pub(super) fn one() -> Operation {
    let orders = SortColumn::ALL.into_iter();
    let orders = orders.flat_map(|column| [false, true].map(|back| Order { column, back }.name()));
    let answer = progress().with([
        ("matching", count().about("Releases that fit the filter.")),
        ("offset", count()),
        ("limit", count()),
        ("releases", list(release())),
    ]);
    Operation::get(
        "/api/v1/searches/{id}",
        "One search, and what it found so far",
    )
    .needs(Right::Search)
    .path("id", text().about(ID))
    .query("limit", count().about("Releases at most; 100 by default."))
    .query("offset", count().about("How many to skip."))
    .query(
        "sort",
        choice(orders).about("`-` before it reverses the order."),
    )
    .query("filter", text().about("Words that titles must have."))
    .answers(
        "The search as it is now.",
        answer.named("SearchWithReleases"),
    )
}

/// `DELETE /api/v1/searches/{id}`.
pub(super) fn stop() -> Operation {
    Operation::delete("/api/v1/searches/{id}", "Stop a search")
        .needs(Right::Search)
        .about("Indexers that have not answered are no longer waited for; what was found stays.")
        .path("id", text().about(ID))
        .answers_nothing(StatusCode::NO_CONTENT, "It is stopped.")
}

/// `GET /api/v1/searches/{id}/events`.
pub(super) fn events() -> Operation {
    Operation::get("/api/v1/searches/{id}/events", "A search as it goes on").needs(Right::Search)
        .about("Server-sent events: `state` when something changes, with the search as in the list of searches; then `done`.")
        .path("id", text().about(ID))
        .header("Last-Event-ID", text().about("Browsers send it; the first event is the whole in any case."))
        .answers_events("The events.")
}

/// `GET /api/v1/history`.
pub(super) fn history() -> Operation {
    let answer = object([
        ("searches", list(searched()).optional()),
        ("grabs", list(grabbed()).optional()),
        (
            "next",
            integer()
                .or_null()
                .about("Send it as `before` for older ones."),
        ),
    ]);
    Operation::get("/api/v1/history", "What programs asked and fetched")
        .needs(Right::Read)
        .query(
            "kind",
            choice(["searches", "grabs"]).about("Searches by default."),
        )
        .query(
            "before",
            integer().about("`next` of an earlier answer: older ones."),
        )
        .query("program", text())
        .query("indexer", text())
        .query(
            "outcome",
            text().about("What became of it, such as `answered` or `failed`."),
        )
        .query("day", day().about("A day in the server's time zone."))
        .query(
            "limit",
            integer()
                .least(1)
                .most(history::MOST.into())
                .about("50 by default."),
        )
        .answers("The newest ones.", answer)
}

/// A search as lists and events have it.
fn progress() -> Schema {
    let stages = Stage::ALL.map(Stage::name);
    let indexer = object([
        ("name", text()),
        ("state", choice(stages)),
        ("reason", text().or_null()),
        ("until", time().or_null()),
        ("releases", count()),
        ("took_ms", count()),
        ("late", flag().about("It answered after the deadline.")),
        (
            "shared_with",
            text().or_null().about("The program whose call it shares."),
        ),
        (
            "cached_seconds",
            integer().or_null().about("How old its answer is."),
        ),
        ("says", text()),
        ("note", text()),
        ("until_word", text()),
        ("look", text()),
        ("full", flag()),
    ])
    .named("SearchedIndexer");
    object([
        ("id", text()),
        ("url", text()),
        ("query", text()),
        ("program", text()),
        ("began", time()),
        ("finished", flag()),
        ("stopped", flag()),
        ("took_ms", count()),
        ("deadline_ms", count()),
        ("sentence", text()),
        ("headline", text()),
        ("rest", text()),
        ("pace", text()),
        ("results", count()),
        ("count", count().about("The same as `results`.")),
        ("asked", count()),
        ("answered", count()),
        ("asking", count()),
        ("skipped", count()),
        ("failed", count()),
        ("nothing", count()),
        ("calls", count()),
        ("indexers", list(indexer)),
    ])
}

fn release() -> Schema {
    let source = object([
        ("indexer", text()),
        ("title", text()),
        ("size", count().or_null()),
        ("published", time().or_null()),
        ("seeders", count().or_null()),
        ("peers", count().or_null()),
        ("cached", flag()),
        ("asked", time()),
        ("download", text()),
        ("magnet", text().or_null()),
    ]);
    object([
        ("title", text()),
        ("guid", text()),
        ("info_hash", text().or_null()),
        ("protocol", choice(["torrent", "usenet"])),
        ("size", count().or_null()),
        ("files", count().or_null()),
        ("published", time().or_null()),
        ("category", text().or_null()),
        ("categories", list(count())),
        ("seeders", count().or_null()),
        ("leechers", count().or_null()),
        ("grabs", count().or_null()),
        ("freeleech", flag()),
        (
            "download",
            text().about("A link through Weir, which needs no key."),
        ),
        ("magnet", text().or_null()),
        ("sources", list(source)),
    ])
    .named("Release")
}

fn searched() -> Schema {
    let part = object([
        ("indexer", text()),
        ("what", text()),
        ("reason", text()),
        ("releases", count()),
        ("alone", count().about("Releases that nobody else had.")),
        ("took_ms", count()),
        ("calls", count()),
        ("shared_with", text().or_null()),
    ]);
    object([
        ("id", integer()),
        ("at", time()),
        ("program", text()),
        ("address", text()),
        ("class", text()),
        ("query", text()),
        ("question", text().about("The question as a query string.")),
        ("scope", text()),
        ("asked", count()),
        ("answered", count()),
        ("results", count()),
        ("took_ms", count()),
        ("calls", count()),
        ("shared", count()),
        ("shared_with", list(text())),
        ("indexers", list(part)),
    ])
    .named("PastSearch")
}

fn grabbed() -> Schema {
    object([
        ("id", integer()),
        ("at", time()),
        ("program", text()),
        ("address", text()),
        ("indexer", text()),
        ("title", text()),
        ("what", text()),
        ("reason", text()),
        ("bytes", integer()),
        ("took_ms", count()),
    ])
    .named("PastGrab")
}
