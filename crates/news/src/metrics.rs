//! What `/metrics` says of connections, read when asked. Calls, queues and caches are in the families that all fronts
//! share.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;

use crate::model::Model;

struct NewsFigures(Arc<Model>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServerLabel {
    upstream: String,
}

/// Registers it; names begin with `weir_` already.
pub(crate) fn register(model: Arc<Model>, registry: &mut Registry) {
    registry.register_collector(Box::new(NewsFigures(model)));
}

impl fmt::Debug for NewsFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NewsFigures")
            .field(&self.0.federation.servers.all())
            .finish()
    }
}

impl Collector for NewsFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let counter = ConstCounter::<u64>::TYPE;
        let servers = self.0.federation.servers.all();
        let help = "Open connections to a news server";
        let mut open =
            encoder.encode_descriptor("news_connections", help, None, MetricType::Gauge)?;
        for server in servers.iter() {
            let (count, _) = server.link.connections();
            let gauge = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
            gauge.encode(open.encode_family(&ServerLabel::of(server.name()))?)?;
        }
        let help = "Connections opened to a news server since its entry last changed";
        let mut opened =
            encoder.encode_descriptor("news_connections_opened", help, None, counter)?;
        for server in servers.iter() {
            let (_, count) = server.link.connections();
            let counter = ConstCounter::new(count as u64);
            counter.encode(opened.encode_family(&ServerLabel::of(server.name()))?)?;
        }
        Ok(())
    }
}

impl ServerLabel {
    fn of(name: &str) -> Self {
        Self {
            upstream: name.to_owned(),
        }
    }
}
