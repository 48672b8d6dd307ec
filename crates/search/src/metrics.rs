//! What `/metrics` says of the cache's memory, read when asked. Calls, queues and hits are in the families that all
//! fronts share.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::model::Model;

struct CacheMemory(Arc<Model>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FrontLabel {
    front: &'static str,
}

const SEARCH: FrontLabel = FrontLabel { front: "search" };

/// Registers it; names begin with `weir_` already.
pub(crate) fn register(model: Arc<Model>, registry: &mut Registry) {
    registry.register_collector(Box::new(CacheMemory(model)));
}

impl fmt::Debug for CacheMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CacheMemory")
            .field(&self.0.cache.in_memory())
            .finish()
    }
}

impl Collector for CacheMemory {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (_, bytes) = self.0.cache.in_memory();
        let bytes = ConstGauge::new(i64::try_from(bytes).unwrap_or(i64::MAX));
        let help = "Answers kept in memory";
        let unit = Some(&prometheus_client::registry::Unit::Bytes);
        let mut family =
            encoder.encode_descriptor("search_cache", help, unit, MetricType::Gauge)?;
        bytes.encode(family.encode_family(&SEARCH)?)
    }
}
