//! `/metrics`: one registry of everything, in the text form of Prometheus.

use std::{fmt, fs, sync::Arc, sync::atomic::AtomicI64};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric},
    metrics::{
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::{ConstGauge, Gauge},
        info::Info,
    },
    registry::{Registry, Unit},
};

/// Ticks in a second of `/proc/self/stat`; Linux gives user space 100 on every machine.
const TICKS: f64 = 100.0;

/// `weir_requests_total{front,kind}`, one family for all fronts. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Requests(Family<Labels, Counter>);

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    front: &'static str,
    kind: &'static str,
}

impl Requests {
    /// The counter of one kind; keep it where counting must be cheap.
    pub fn counter(&self, front: &'static str, kind: &'static str) -> Counter {
        self.0.get_or_create(&Labels { front, kind }).clone()
    }

    pub(crate) fn count(&self, front: &'static str, kind: &'static str) {
        self.0.get_or_create(&Labels { front, kind }).inc();
    }
}

/// Connections open on the web listener.
pub(crate) type Connections = Gauge<i64, AtomicI64>;

/// A registry with what the web part itself measures.
pub(crate) fn registry(requests: &Requests, connections: &Connections, started: f64) -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Process { started }));
    let ours = weir(&mut registry);
    let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
    ours.register("build", "The running version", build);
    ours.register("requests", "Requests by front and kind", requests.0.clone());
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

/// Writes everything.
pub(crate) fn encode(registry: &Arc<Registry>) -> Result<String, fmt::Error> {
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, registry)?;
    Ok(text)
}

/// Figures of the process, read when asked, under the names that dashboards know.
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
