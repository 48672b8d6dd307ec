//! What `/metrics` says of swarms, read when asked. Requests are in the family that all fronts share.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;
use weir_web::Requests;

use crate::look::Look;
use crate::tally::TallyKind;

/// Counts of swarms and peers.
struct SwarmCollector(Look);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FamilyLabels {
    family: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventLabels {
    event: &'static str,
    reason: &'static str,
}

/// Adds what listeners count to the family of requests.
pub(crate) fn count_requests(look: &Look, requests: &Requests) {
    let look = look.clone();
    requests.source("tracker", move || look.requests());
}

/// Registers the rest; names begin with `weir_` already.
pub(crate) fn register(look: Look, registry: &mut Registry) {
    registry.register_collector(Box::new(SwarmCollector(look)));
}

impl fmt::Debug for SwarmCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SwarmCollector")
            .field(&self.0.totals())
            .finish()
    }
}

impl Collector for SwarmCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let totals = self.0.totals();
        let gauge = |value: u32| ConstGauge::new(i64::from(value));
        gauge(totals.swarms).encode(encoder.encode_descriptor(
            "tracker_swarms",
            "Info hashes with at least one peer",
            None,
            MetricType::Gauge,
        )?)?;
        let mut peers = encoder.encode_descriptor(
            "tracker_peers",
            "Peers in all swarms",
            None,
            MetricType::Gauge,
        )?;
        for (family, count) in [("ipv4", totals.v4), ("ipv6", totals.v6)] {
            gauge(count).encode(peers.encode_family(&FamilyLabels { family })?)?;
        }
        gauge(totals.seeders).encode(encoder.encode_descriptor(
            "tracker_seeders",
            "Peers that have everything",
            None,
            MetricType::Gauge,
        )?)?;
        let mut held_back = encoder.encode_descriptor(
            "tracker_events_held_back",
            "Events of clients that did not go on to other trackers, or go later",
            None,
            ConstCounter::<u64>::TYPE,
        )?;
        for (why, count) in self.0.held_back() {
            let (event, reason) = why.labels();
            ConstCounter::new(count)
                .encode(held_back.encode_family(&EventLabels { event, reason })?)?;
        }
        ConstCounter::new(self.0.count(TallyKind::Unsent)).encode(encoder.encode_descriptor(
            "tracker_replies_unsent",
            "Replies that the system did not take",
            None,
            ConstCounter::<u64>::TYPE,
        )?)
    }
}
