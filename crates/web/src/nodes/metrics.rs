//! How the store and the nodes are doing, for `/metrics`. Without a store there are none of these.

use std::fmt;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
    registry::Unit,
};
use weir_engine::Node;
use weir_store::shared::NodeState;

use super::Replica;

/// Reads everything when asked.
pub(crate) struct NodeMetrics {
    node: Node,
    held: Vec<(&'static str, Replica)>,
}

impl NodeMetrics {
    pub(crate) fn new(node: Node, held: Vec<(&'static str, Replica)>) -> Self {
        Self { node, held }
    }
}

impl fmt::Debug for NodeMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NodeMetrics").field(&self.node.id()).finish()
    }
}

impl Collector for NodeMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (view, gauge) = (self.node.view(), MetricType::Gauge);
        let help = "Whether the shared store answers this node: 1, or 0 while the node is alone";
        let up = ConstGauge::new(u64::from(!self.node.is_alone()));
        up.encode(encoder.encode_descriptor("store_up", help, None, gauge)?)?;
        let help = "1 while the store's clock, which was set back, has not reached the time that it showed before";
        let behind = ConstGauge::new(u64::from(self.node.store_trouble().is_some()));
        let name = "store_clock_set_back";
        behind.encode(encoder.encode_descriptor(name, help, None, gauge)?)?;
        let help = "Nodes that share the store, as it last told";
        let mut family = encoder.encode_descriptor("nodes", help, None, gauge)?;
        for (word, state) in [("here", NodeState::Here), ("silent", NodeState::Silent)] {
            let count = view.members.iter().filter(|one| one.state == state).count();
            let labels = [("state", word)];
            ConstGauge::new(count as u64).encode(family.encode_family(&labels)?)?;
        }
        let help = "How far a node is behind in reading what others write";
        let unit = Some(&Unit::Seconds);
        let mut family = encoder.encode_descriptor("node_lag", help, unit, gauge)?;
        let here = view
            .members
            .iter()
            .filter(|one| one.state == NodeState::Here);
        let mut names = std::collections::BTreeMap::new();
        for member in here {
            // Two nodes may have one name: the one further behind counts.
            let lag = names.entry(member.name.as_str()).or_insert(member.lag);
            *lag = (*lag).max(member.lag);
        }
        for (name, lag) in names {
            let labels = [("node", name)];
            ConstGauge::new(lag.as_secs_f64()).encode(family.encode_family(&labels)?)?;
        }
        self.calls(&mut encoder)?;
        let help = "Rows read from the shared store that mean nothing, such as those of nodes with another secret";
        let kind = MetricType::Counter;
        let mut family = encoder.encode_descriptor("store_rows_ignored", help, None, kind)?;
        for (table, held) in &self.held {
            let labels = [("table", *table)];
            ConstCounter::new(held.ignored()).encode(family.encode_family(&labels)?)?;
        }
        let (labels, ignored) = ([("table", "upstreams")], self.node.figures().ignored());
        ConstCounter::new(ignored).encode(family.encode_family(&labels)?)?;
        Ok(())
    }
}

impl NodeMetrics {
    fn calls(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let figures = self.node.figures();
        let help = "How long calls of the shared store took";
        let (unit, kind) = (Some(&Unit::Seconds), MetricType::Histogram);
        let mut metric = encoder.encode_descriptor("store", help, unit, kind)?;
        let mut buckets: Vec<(f64, u64)> = figures
            .buckets()
            .iter()
            .map(|&(micros, count)| (micros as f64 / 1_000_000.0, count))
            .collect();
        let within: u64 = buckets.iter().map(|(_, count)| count).sum();
        // Read after the buckets, which only grow: never fewer than they hold.
        let calls = figures.calls().max(within);
        buckets.push((f64::INFINITY, calls - within));
        let took = figures.took().as_secs_f64();
        metric.encode_histogram::<NoLabelSet>(took, calls, &buckets, None)?;
        let help = "Calls of the shared store that got no answer";
        let lost = ConstCounter::new(figures.lost());
        let metric =
            encoder.encode_descriptor("store_calls_lost", help, None, lost.metric_type())?;
        lost.encode(metric)
    }
}
