//! `/metrics`: one registry of everything.

mod format;

use std::{collections::BTreeMap, fmt, fs, sync::Arc, sync::atomic::AtomicI64};

use parking_lot::RwLock;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, MetricEncoder},
    metrics::{
        MetricType,
        counter::{ConstCounter, Counter},
        gauge::{ConstGauge, Gauge},
        info::Info,
    },
    registry::{Registry, Unit},
};

pub(crate) use self::format::MetricsFormat;
use crate::contribution::CacheCounts;

/// Ticks in a second of `/proc/self/stat`; Linux gives user space 100 on every machine.
const TICKS: f64 = 100.0;

/// `weir_requests_total{front,kind}`, one family for all fronts. Clones share it.
#[derive(Clone, Default)]
pub struct Requests(Arc<CountedRequests>);

#[derive(Default)]
struct CountedRequests {
    counters: RwLock<BTreeMap<RequestLabels, Counter>>,
    /// Fronts that count elsewhere, because their threads must not all write to one counter.
    sources: RwLock<Vec<(&'static str, RequestSource)>>,
}

/// Returns what a front has counted itself, by kind.
type RequestSource = Box<dyn Fn() -> Vec<(&'static str, u64)> + Send + Sync>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct RequestLabels {
    front: &'static str,
    kind: &'static str,
}

impl Requests {
    /// The counter of one kind; hold on to it where counting must be cheap.
    pub fn counter(&self, front: &'static str, kind: &'static str) -> Counter {
        let labels = RequestLabels { front, kind };
        if let Some(counter) = self.0.counters.read().get(&labels) {
            return counter.clone();
        }
        self.0.counters.write().entry(labels).or_default().clone()
    }

    /// Adds what a front counts itself; `read` is called whenever the family is written, and its counts never decrease.
    pub fn source(
        &self,
        front: &'static str,
        read: impl Fn() -> Vec<(&'static str, u64)> + Send + Sync + 'static,
    ) {
        self.0.sources.write().push((front, Box::new(read)));
    }

    pub(crate) fn count(&self, front: &'static str, kind: &'static str) {
        self.counter(front, kind).inc();
    }

    /// Whether anything of another kind than these was counted.
    pub(crate) fn any_but(&self, kinds: &[&str]) -> bool {
        let totals = self.totals();
        let mut others = totals.iter().filter(|(of, _)| !kinds.contains(&of.kind));
        others.any(|(_, count)| *count > 0)
    }

    /// All counts, wherever they were made.
    fn totals(&self) -> BTreeMap<RequestLabels, u64> {
        let counters = self.0.counters.read();
        let mut totals: BTreeMap<RequestLabels, u64> = counters
            .iter()
            .map(|(labels, counter)| (*labels, counter.get()))
            .collect();
        for (front, read) in self.0.sources.read().iter() {
            for (kind, count) in read() {
                *totals.entry(RequestLabels { front, kind }).or_default() += count;
            }
        }
        totals
    }
}

impl fmt::Debug for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Requests").field(&self.totals()).finish()
    }
}

impl EncodeMetric for Requests {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (labels, count) in self.totals() {
            ConstCounter::new(count).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

/// `weir_cache_hits_total{front}` and `weir_cache_misses_total{front}`, read when asked.
pub(crate) struct CacheFigures(pub(crate) Vec<(&'static str, CacheCounts)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, EncodeLabelSet)]
struct CacheLabels {
    front: &'static str,
}

impl CacheFigures {
    fn read(&self) -> Vec<(CacheLabels, u64, u64)> {
        let all = self.0.iter().map(|(front, read)| {
            let (hits, misses) = read();
            (CacheLabels { front }, hits, misses)
        });
        all.collect()
    }
}

impl fmt::Debug for CacheFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CacheFigures").field(&self.read()).finish()
    }
}

impl Collector for CacheFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let all = self.read();
        let kind = MetricType::Counter;
        let help = "Questions answered from the cache";
        let mut family = encoder.encode_descriptor("cache_hits", help, None, kind)?;
        for (front, hits, _) in &all {
            ConstCounter::new(*hits).encode(family.encode_family(front)?)?;
        }
        let help = "Questions that the cache had no fresh answer for";
        let mut family = encoder.encode_descriptor("cache_misses", help, None, kind)?;
        for (front, _, misses) in &all {
            ConstCounter::new(*misses).encode(family.encode_family(front)?)?;
        }
        Ok(())
    }
}

/// Connections open on the web listener.
pub(crate) type Connections = Gauge<i64, AtomicI64>;

/// Whether upstreams and clients are made up.
pub(crate) type DemoMark = Gauge<i64, AtomicI64>;

/// Registers the mark of a demo, and returns it.
pub(crate) fn demo_mark(registry: &mut Registry) -> DemoMark {
    let mark = DemoMark::default();
    let help = "1 if upstreams and clients are made up, as in a demo";
    weir(registry).register("demo", help, mark.clone());
    mark
}

/// A registry with what the web part itself measures.
pub(crate) fn registry(requests: &Requests, connections: &Connections, started: f64) -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Process { started }));
    let ours = weir(&mut registry);
    let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
    ours.register("build", "The running version", build);
    ours.register("requests", "Requests by front and kind", requests.clone());
    ours.register(
        "web_connections",
        "Connections open on the web listener",
        connections.clone(),
    );
    registry
}

/// The part of the registry whose names begin with `weir_`.
pub(crate) fn weir(registry: &mut Registry) -> &mut Registry {
    registry.sub_registry_with_prefix("weir")
}

/// Figures of the process, read on each request, under the names that dashboards know.
#[derive(Debug)]
struct Process {
    started: f64,
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut gauge = |name, help, unit: Unit, value: f64| {
            let gauge = ConstGauge::new(value);
            let metric = encoder.encode_descriptor(name, help, Some(&unit), gauge.metric_type())?;
            gauge.encode(metric)
        };
        gauge(
            "process_start_time",
            "When the process started, in unix time",
            Unit::Seconds,
            self.started,
        )?;
        if let Some(bytes) = resident() {
            gauge(
                "process_resident_memory",
                "Memory in use",
                Unit::Bytes,
                bytes,
            )?;
        }
        if let Some(seconds) = cpu() {
            let counter = ConstCounter::new(seconds);
            let metric = encoder.encode_descriptor(
                "process_cpu",
                "Processor time used",
                Some(&Unit::Seconds),
                counter.metric_type(),
            )?;
            counter.encode(metric)?;
        }
        Ok(())
    }
}

fn resident() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0)
}

fn cpu() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name in brackets may hold spaces; user and system time are fields 14 and 15 of the whole.
    let (_, after) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_here_and_elsewhere_is_one_family() {
        let requests = Requests::default();
        requests.count("web", "page");
        requests.count("tracker", "page");
        requests.source("tracker", || vec![("udp_announce", 7), ("page", 2)]);
        let registry = registry(&requests, &Connections::default(), 0.0);
        let text = MetricsFormat::Text.write(&registry).unwrap();
        let family: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("weir_requests"))
            .collect();
        assert_eq!(
            family,
            [
                "# HELP weir_requests_total Requests by front and kind.",
                "# TYPE weir_requests_total counter",
                "weir_requests_total{front=\"tracker\",kind=\"page\"} 3",
                "weir_requests_total{front=\"tracker\",kind=\"udp_announce\"} 7",
                "weir_requests_total{front=\"web\",kind=\"page\"} 1",
            ]
        );
    }
}
