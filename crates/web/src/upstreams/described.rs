//! What the API says of upstreams, described.

use weir_engine::Standing;

use super::act::{self, Action, Effect};
use super::json;
use super::query::{self, UpstreamColumn};
use crate::{
    App, Right,
    openapi::{
        ApiRoutes, Operation, Schema,
        schema::{choice, count, flag, integer, list, map, number, object, text, time},
    },
};

/// Upstreams and decisions for programs.
pub(crate) fn api() -> ApiRoutes<App> {
    ApiRoutes::new()
        .route(listing(), json::list)
        .route(
            at_upstream(
                Operation::get("/api/v1/upstreams/{front}/{name}", "One upstream")
                    .needs(Right::Read),
            )
            .answers("All that is known of it.", whole()),
            json::one,
        )
        .route(action(), act::api)
        .route(decisions(), json::decisions)
}

fn listing() -> Operation {
    let mut states = states();
    states.push("attention");
    Operation::get("/api/v1/upstreams", "Upstreams of all fronts")
        .needs(Right::Read)
        .query("q", text().about("Part of a name or address."))
        .query(
            "front",
            text().about("The name of a front, such as `search`."),
        )
        .query(
            "state",
            choice(states).about("A state; `attention` is all that need it."),
        )
        .query(
            "sort",
            choice(UpstreamColumn::orders()).about("A column; `-` before it reverses the order."),
        )
        .query(
            "page",
            integer()
                .least(1)
                .about("From 1; beyond the last one is the last one."),
        )
        .query(
            "limit",
            integer()
                .least(1)
                .most(query::MOST as i64)
                .about("Rows of a page; 50 by default."),
        )
        .answers(
            "A page of them.",
            object([
                ("upstreams", list(upstream())),
                ("summary", text()),
                (
                    "states",
                    map(count()).about("How many upstreams are in each state."),
                ),
                ("total", count().about("All upstreams.")),
                ("matching", count().about("Those that were asked for.")),
                (
                    "position",
                    count().about("How many come before the first row."),
                ),
                ("page", count()),
                ("pages", count()),
                ("limit", count()),
            ]),
        )
}

fn action() -> Operation {
    let path = "/api/v1/upstreams/{front}/{name}/{action}";
    let reason = text().most(4096).optional().about(
        "Why it is switched off, at most 200 characters; other operators read it. Required for `disable`.",
    );
    at_upstream(Operation::post(path, "Do something about an upstream"))
        .path("action", choice(Action::ALL.map(Action::name)))
        .about("`probe` calls it now, `clear` ends its cooldown, `disable` switches it off until somebody sends `enable`.")
        .optional_body_or_form(object([("reason", reason)]))
        .answers(
            "What came of it, and the upstream as it is now.",
            object([
                ("action", choice(Action::ALL.map(Action::name))),
                ("result", choice(Effect::ALL.map(Effect::name))),
                ("sentence", text()),
                ("upstream", upstream()),
            ]),
        )
}

fn decisions() -> Operation {
    Operation::get("/api/v1/decisions", "What was decided, newest first")
        .needs(Right::Read)
        .query("front", text().about("Decisions of this front alone."))
        .query(
            "upstream",
            text().about("Decisions about the upstream of this name alone."),
        )
        .query(
            "before",
            text().about("The cursor that an earlier answer returned: older ones."),
        )
        .query(
            "limit",
            integer()
                .least(1)
                .most(json::MOST as i64)
                .about("50 by default."),
        )
        .fails(
            axum::http::StatusCode::NOT_FOUND,
            "The front has no such upstream.",
        )
        .answers(
            "The newest ones.",
            object([
                ("decisions", list(decision())),
                (
                    "before",
                    text()
                        .or_null()
                        .about("The cursor of older ones, if there are any."),
                ),
            ]),
        )
}

fn at_upstream(operation: Operation) -> Operation {
    operation.path("front", text()).path("name", text())
}

fn states() -> Vec<&'static str> {
    Standing::ALL.into_iter().map(Standing::name).collect()
}

fn state() -> Schema {
    choice(states())
}

/// One decision.
fn decision() -> Schema {
    object([
        ("front", text()),
        (
            "upstream",
            text()
                .or_null()
                .about("`null` for a decision of the front itself."),
        ),
        ("number", count()),
        ("at", time()),
        ("kind", text()),
        ("class", text().or_null()),
        ("asker", text().or_null().about("The program that asked.")),
        ("about", text().or_null().about("What was asked for.")),
        ("sentence", text()),
        (
            "last",
            time()
                .optional()
                .about("When it was made last, if it was made several times."),
        ),
        ("count", count().optional()),
        (
            "reason",
            text()
                .or_null()
                .about("What held the upstream or had no room, in a word: `off`, `cooldown`, `quota`, `queue_full`, …"),
        ),
        (
            "cause",
            text()
                .or_null()
                .optional()
                .about("The reason in words, where it comes from the upstream or an operator."),
        ),
        (
            "until",
            time()
                .or_null()
                .optional()
                .about("Until when the upstream is not called, or when the next try is."),
        ),
        (
            "got",
            object([
                ("what", choice(["fresh", "cached", "nothing", "elsewhere", "retry"])),
                (
                    "age_seconds",
                    count().or_null().about("How old a cached answer was."),
                ),
                (
                    "retry_seconds",
                    count()
                        .or_null()
                        .about("After how long whoever asked was told to come back."),
                ),
            ])
            .or_null()
            .optional()
            .about("What whoever asked got, where that is not the answer of this call."),
        ),
        ("limit", count().or_null().optional()),
        (
            "concerned",
            count().optional().about("How many forwarders were left out, or how many upstreams showed that our own network was down."),
        ),
        ("told_retry_seconds", count().or_null().optional()),
        ("example", text().or_null().optional()),
    ])
    .named("Decision")
}

/// How many there are.
pub(crate) fn counts_schema() -> Schema {
    object([
        ("total", count()),
        ("summary", text()),
        (
            "states",
            map(count()).about("How many upstreams are in each state."),
        ),
    ])
}

/// One that needs attention.
pub(crate) fn attention_schema() -> Schema {
    object([
        ("front", text()),
        ("name", text()),
        ("page", text()),
        ("state", state()),
        ("reason", text()),
        ("sentence", text()),
        ("since", time()),
        ("until", time().or_null()),
    ])
    .named("Attention")
}

/// An upstream as lists have it.
fn upstream() -> Schema {
    object(fields()).named("Upstream")
}

/// An upstream with all that is known.
fn whole() -> Schema {
    let fact = object([("label", text()), ("value", text())]);
    let error = object([
        ("first", time()),
        ("last", time()),
        ("count", count()),
        ("text", text()),
    ]);
    let call = object([
        ("due", time()),
        ("class", text()),
        ("attempt", count()),
        ("about", text().or_null()),
    ]);
    let node = || text().or_null().about("The name of a node.");
    let all_nodes = object([
        ("at", time()),
        ("limits", list(limit())),
        ("told_to_wait", node()),
        ("switched_off_at", node()),
        (
            "limits_differ",
            text()
                .or_null()
                .about("A sentence, where nodes have configured different limits."),
        ),
    ]);
    object(fields())
        .with([
            (
                "history",
                list(object([("at", time()), ("state", state())]))
                    .about("Its states of the last day."),
            ),
            (
                "ladder_seconds",
                list(count())
                    .about("How long it is left alone after the first failure, the second, …"),
            ),
            (
                "errors",
                list(error).about("Its last errors word for word; equal ones in a row are one."),
            ),
            (
                "scheduled",
                object([("count", count()), ("next", list(call))])
                    .about("Calls for a later time: how many, and the first of them."),
            ),
            (
                "all_nodes",
                all_nodes.or_null().about(
                    "What all nodes together used, as last read; null where it is not shared.",
                ),
            ),
            ("facts", list(fact)),
        ])
        .named("WholeUpstream")
}

fn limit() -> Schema {
    object([
        ("budget", choice(["query", "grab"])),
        ("window", text()),
        ("window_seconds", count()),
        ("used", count()),
        ("limit", count()),
        (
            "learned",
            flag().about("The upstream told it; nobody configured it."),
        ),
        (
            "next",
            time()
                .or_null()
                .about("When the next call fits; null if one fits now."),
        ),
    ])
}

fn fields() -> Vec<(&'static str, Schema)> {
    let error = object([("at", time()), ("text", text())]);
    let off = object([("reason", text()), ("who", text()), ("at", time())]);
    let latency = object([
        ("p50_ms", number().or_null()),
        ("p95_ms", number().or_null()),
    ]);
    let calls = object([
        ("answered", count()),
        ("refused", count()),
        ("failed", count()),
        ("timed_out", count()),
    ]);
    vec![
        ("front", text()),
        ("name", text()),
        ("kind", text()),
        ("place", text().about("Where it is, without secrets.")),
        ("page", text().about("The path of its page.")),
        ("state", state()),
        ("reason", text().or_null()),
        ("sentence", text()),
        ("since", time()),
        ("until", time().or_null()),
        ("seconds_left", count().or_null()),
        ("next_probe", time().or_null()),
        ("rung", count().about("0 is healthy.")),
        ("rungs", count()),
        ("next_rest_seconds", count().or_null()),
        ("failures", count()),
        ("queued", count()),
        ("in_flight", count()),
        ("in_flight_limit", count()),
        (
            "spacing_seconds",
            map(number()).about("Time between calls, by class."),
        ),
        ("time_out_seconds", number()),
        ("last_start", time().or_null()),
        ("last_call", time().or_null()),
        ("last_interval_seconds", count().or_null()),
        ("last_error", error.or_null()),
        ("off", off.or_null().about("Who switched it off, and why.")),
        ("quota", list(limit())),
        ("latency", latency),
        ("success_pct", number().or_null()),
        ("calls_24h", calls),
        (
            "requests",
            map(count()).about("Calls since the start, by outcome."),
        ),
    ]
}
