//! The search front's section of `/stats`.

use serde_json::{Map, Value, json};
use weir_web::{Section, Stats};

use crate::desk::Desk;
use crate::policy;

impl Stats for Desk {
    fn section(&self) -> Section {
        let counters = self.engine.status().counters;
        let (hits, misses) = self.counts.read();
        let (parts, bytes) = self.office.cache.in_memory();
        let fields = [
            ("indexers", json!(self.roster.load().all.len())),
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
        let text = fields.iter().map(|(name, value)| format!("{name} {value}"));
        let text = text.collect();
        let json: Map<String, Value> = fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        let own = Section {
            json,
            text,
            top_level: false,
        };
        let workers = policy::workers(&self.config.load());
        Section::of_engine(self, workers).and(own)
    }
}
