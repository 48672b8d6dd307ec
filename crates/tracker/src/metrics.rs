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
use crate::sharing::{Sharing, SharingCount};
use crate::tally::TallyKind;

/// Counts of swarms and peers.
struct SwarmCollector(Look);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FamilyLabels {
    family: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SharedLabels {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NodeLabels {
    node: String,
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
        if let Some(sharing) = self.0.sharing() {
            encode_sharing(sharing, &mut encoder)?;
        }
        ConstCounter::new(self.0.count(TallyKind::Unsent)).encode(encoder.encode_descriptor(
            "tracker_replies_unsent",
            "Replies that the system did not take",
            None,
            ConstCounter::<u64>::TYPE,
        )?)
    }
}

/// What several nodes share; one alone has none of it.
fn encode_sharing(sharing: &Sharing, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut events = encoder.encode_descriptor(
        "swarm_events",
        "Peers that came, went, completed or were told of again: written for the other nodes, read from them, among those came for peers that were new here, dropped because there was no room, ignored because they were not true any more",
        None,
        ConstCounter::<u64>::TYPE,
    )?;
    for (outcome, count) in sharing.events() {
        ConstCounter::new(count).encode(events.encode_family(&SharedLabels { outcome })?)?;
    }
    for (name, help, what) in [
        (
            "swarm_entries_unreadable",
            "Entries of other nodes' streams that could not be read",
            SharingCount::Unreadable,
        ),
        (
            "swarm_answers_read",
            "Answers of other trackers that other nodes told",
            SharingCount::Answers,
        ),
        (
            "swarm_forwards_elsewhere",
            "Announces that were not forwarded because another node had",
            SharingCount::Elsewhere,
        ),
    ] {
        let count = ConstCounter::new(sharing.figures.get(what));
        count.encode(encoder.encode_descriptor(name, help, None, ConstCounter::<u64>::TYPE)?)?;
    }
    let mut lags = encoder.encode_descriptor(
        "swarm_lag_seconds",
        "How long each other node's stream was not read to its end",
        None,
        MetricType::Gauge,
    )?;
    for (node, lag) in sharing.lags() {
        let node = node.to_string();
        let lag = ConstGauge::new(lag.as_secs_f64());
        lag.encode(lags.encode_family(&NodeLabels { node })?)?;
    }
    Ok(())
}
