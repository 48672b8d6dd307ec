//! The API of swarms, described.

use weir_web::Right;
use weir_web::openapi::schema::{self, count, flag, object, text, time};
use weir_web::openapi::{ApiRoutes, Operation};

use super::json;
use crate::look::Look;

/// Swarms for programs.
pub(crate) fn api(look: Look) -> ApiRoutes {
    let swarm = || {
        vec![
            ("info_hash", text()),
            ("peers", count().about("Peers here.")),
            (
                "forwarder_peers",
                count().about("Peers that other trackers named."),
            ),
            ("seeders", count().about("As clients are told.")),
            (
                "seeders_elsewhere",
                count().about("Those of them that only other trackers know."),
            ),
            ("leechers", count().about("As clients are told.")),
            ("completed", count()),
            ("age_minutes", count()),
        ]
    };
    let totals = object([
        ("swarms", count()),
        ("peers", count()),
        ("seeders", count()),
        ("leechers", count()),
    ]);
    let list = Operation::get("/api/v1/swarms", "Swarms, largest first")
        .needs(Right::Read)
        .query("q", text().about("An info hash, or its first hex digits."))
        .query(
            "after",
            text().about("`after` of an earlier answer: smaller ones."),
        )
        .query(
            "before",
            text().about("`before` of an earlier answer: larger ones."),
        )
        .answers(
            "A page of them.",
            object([
                ("swarms", schema::list(object(swarm()).named("Swarm"))),
                ("matching", count()),
                (
                    "position",
                    count().about("How many come before the first row."),
                ),
                ("after", text().or_null()),
                ("before", text().or_null()),
                ("totals", totals),
            ]),
        );
    let peer = object([
        ("address", text()),
        ("family", text()),
        ("seeder", flag()),
        ("silent_minutes", count()),
    ]);
    let forwarder = object([
        ("name", text()),
        ("was_asked", flag()),
        ("is_asked", flag().about("Right now.")),
        ("peers", count().about("Peers that it named.")),
        ("next_ask", time().or_null()),
        ("seeders", count().or_null()),
        ("leechers", count().or_null()),
        ("interval_seconds", count().or_null()),
        (
            "last_word",
            text()
                .or_null()
                .about("What it answered, if not with peers."),
        ),
        ("last_word_at", time().or_null()),
    ]);
    let one = Operation::get("/api/v1/swarms/{info_hash}", "One swarm with its peers")
        .needs(Right::Read)
        .path("info_hash", text().about("40 hex digits."))
        .answers(
            "The swarm.",
            object(swarm())
                .with([
                    ("forwarders", schema::list(forwarder)),
                    ("peers_v4", count()),
                    ("peers_v6", count()),
                    (
                        "peer_list",
                        schema::list(peer).about("As many as the page shows."),
                    ),
                ])
                .named("WholeSwarm"),
        );
    ApiRoutes::new()
        .route(list, json::list)
        .route(one, json::one)
        .with_state(look)
}
