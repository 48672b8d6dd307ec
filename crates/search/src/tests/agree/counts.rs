//! Counters add up, and are the same wherever they are told and as many as there are records.

use weir_engine::Kind;
use weir_engine::dispatch::What;

use super::book::Book;
use super::views::Views;
use super::*;

/// The parts of what was asked in the API, and what `/metrics` calls them.
const PARTS: [(&str, &str); 11] = [
    ("asked", "weir_jobs_asked_total"),
    ("from_memory", "weir_jobs_from_memory_total"),
    ("shared", "weir_flights_shared_total"),
    ("duplicates", "weir_jobs_duplicate_total"),
    ("sent", "weir_jobs_sent_total"),
    ("skipped", "weir_jobs_skipped_total"),
    ("dropped", "weir_jobs_dropped_total"),
    ("refused", "weir_jobs_refused_total"),
    ("cancelled", "weir_jobs_cancelled_total"),
    ("shut_down", "weir_jobs_shut_down_total"),
    ("waiting", "weir_jobs_waiting"),
];

pub(super) fn agree(world: &World, views: &Views, book: &Book) {
    let counters = &views.status["fronts"][0]["counters"];
    let count = |name: &str| counters[name].as_u64().expect("a count");
    let parts: u64 = PARTS[1..].iter().map(|(name, _)| count(name)).sum();
    assert_eq!(parts, count("asked"), "{counters}");
    assert_eq!(&views.stats["fronts"]["search"]["counters"], counters);
    for (name, metric) in PARTS {
        let told = views.metrics[&format!("{metric}{{front=\"search\"}}")];
        assert_eq!(told, count(name) as f64, "{metric}");
    }
    let stats = &views.stats["fronts"]["search"];
    for (field, name) in [
        ("asked", "asked"),
        ("from_cache", "from_memory"),
        ("shared", "shared"),
        ("sent", "sent"),
        ("skipped", "skipped"),
        ("dropped", "dropped"),
    ] {
        assert_eq!(stats[field], counters[name], "{field}");
    }
    let figures = world.engine.status();
    assert_eq!(stats["queue_depth"], figures.counts.queued);
    let of_run = |is: fn(&What) -> bool| {
        let records = book.of_run();
        records.filter(|record| is(&record.what)).count() as u64
    };
    let recorded = [
        ("sent", of_run(|what| matches!(what, What::Started { .. }))),
        (
            "skipped",
            of_run(|what| matches!(what, What::Skipped(_) | What::Missed(_))),
        ),
        ("shared", of_run(|what| matches!(what, What::Shared { .. }))),
        (
            "dropped",
            of_run(|what| matches!(what, What::Dropped { .. })),
        ),
        ("duplicates", of_run(|what| *what == What::Duplicate)),
        ("refused", book.refused(world)),
    ];
    for (name, recorded) in recorded {
        let all = book.of_run().map(|record| (record.number, record.what));
        let all: Vec<_> = all.collect();
        assert_eq!(count(name), recorded, "{name}: {counters} {all:?}");
    }
    for indexer in &views.indexers {
        let ended = |kind| {
            let records = book.of_run_about(&indexer.name);
            let of_kind = records.filter(|record| record.end.is_some_and(|end| end.kind == kind));
            of_kind.count() as u64
        };
        let counts = Kind::ALL.map(|kind| (kind.name(), ended(kind)));
        let told = Kind::ALL.map(Kind::name).into_iter();
        let told: Vec<_> = told.zip(indexer.view.figures.requests).collect();
        assert_eq!(told, counts, "{}", indexer.name);
        let started = book.of_run_about(&indexer.name);
        let open = started
            .filter(|record| matches!(record.what, What::Started { .. }) && record.end.is_none());
        let in_flight = indexer.view.status.in_flight as usize;
        assert_eq!(open.count(), in_flight, "{}", indexer.name);
    }
}
