//! What `/metrics` says of the cache, read when asked. Calls and queues are in the families that all fronts share.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;

use crate::model::Model;

struct CacheFigures(Arc<Model>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FrontLabel {
    front: &'static str,
}

const SEARCH: FrontLabel = FrontLabel { front: "search" };

/// Registers it; names begin with `weir_` already.
pub(crate) fn register(model: Arc<Model>, registry: &mut Registry) {
    registry.register_collector(Box::new(CacheFigures(model)));
}

impl fmt::Debug for CacheFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cached")
            .field(&self.0.cache.counts())
            .finish()
    }
}

impl Collector for CacheFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (hits, misses) = self.0.cache.counts();
        let counted = [
            ("cache_hits", "Questions answered from the cache", hits),
            (
                "cache_misses",
                "Questions that the cache had no fresh answer for",
                misses,
            ),
        ];
        for (name, help, count) in counted {
            let kind = ConstCounter::<u64>::TYPE;
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            ConstCounter::new(count).encode(family.encode_family(&SEARCH)?)?;
        }
        let (_, bytes) = self.0.cache.in_memory();
        let bytes = ConstGauge::new(i64::try_from(bytes).unwrap_or(i64::MAX));
        let help = "Answers kept in memory";
        let unit = Some(&prometheus_client::registry::Unit::Bytes);
        let mut family =
            encoder.encode_descriptor("search_cache", help, unit, MetricType::Gauge)?;
        bytes.encode(family.encode_family(&SEARCH)?)
    }
}
