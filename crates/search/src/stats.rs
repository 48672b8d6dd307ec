//! The search front's section of `/stats`.

use std::sync::Arc;

use serde_json::json;
use weir_web::{Section, Stats};

use crate::model::Model;
use crate::upstreams::IndexerViews;

/// The front's figures.
pub(crate) struct SearchStats(pub(crate) Arc<Model>);

impl Stats for SearchStats {
    fn section(&self) -> Section {
        let model = &self.0;
        let counters = model.engine.status().counters;
        let (hits, misses) = model.cache.counts();
        let (parts, bytes) = model.cache.in_memory();
        let fields = [
            ("indexers", json!(model.indexers.all().len())),
            ("asked", json!(counters.asked)),
            ("from_cache", json!(counters.from_memory)),
            ("shared", json!(counters.shared)),
            ("sent", json!(counters.sent)),
            ("skipped", json!(counters.skipped)),
            ("dropped", json!(counters.dropped)),
            ("cache_hits", json!(hits)),
            ("cache_misses", json!(misses)),
            ("cache_answers_in_memory", json!(parts)),
            ("cache_bytes_in_memory", json!(bytes)),
        ];
        let workers = model.rules.load().workers;
        Section::of_engine(&IndexerViews(model.clone()), workers).and(Section::of_fields(fields))
    }
}
