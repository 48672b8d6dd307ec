//! All engines of a process as one Prometheus collector, read from the same figures as the pages.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use crate::engine::Engine;
use crate::look::{Figures, UpstreamFigures};
use crate::side::Standing;
use crate::tally::{Kind, Latency};
use crate::vital::Vitals;

/// A collector of several engines. One for all of them, because all fronts of a metric must be written together.
#[derive(Clone)]
pub struct Metrics(Vec<Engine>);

impl Metrics {
    /// Collects from these engines, under the contract's metric names without their prefix.
    pub fn new(engines: Vec<Engine>) -> Self {
        Self(engines)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(Engine::front))
            .finish()
    }
}

/// A figure of a front: name, what it is, and how to read it.
type Figure = (&'static str, &'static str, fn(&Figures) -> u64);

const GAUGES: [Figure; 9] = [
    ("queue_depth", "Jobs in the queue", |it| {
        it.counts.queued.into()
    }),
    ("queue_capacity", "Jobs that fit into the queue", |it| {
        it.counts.capacity.into()
    }),
    (
        "queue_fill_pct",
        "Jobs in the queue, in percent of what fits",
        |it| it.fill_percent.into(),
    ),
    ("agenda_depth", "Jobs scheduled for later", |it| {
        it.counts.scheduled.into()
    }),
    ("forwarder_workers", "Workers", |it| it.counts.crew.into()),
    ("busy_workers", "Calls that hold a worker", |it| {
        it.counts.busy.into()
    }),
    (
        "waiting_calls",
        "Calls under way that hold no worker",
        |it| it.counts.waiting.into(),
    ),
    (
        "jobs_waiting",
        "Requests that were neither sent nor ended yet",
        |it| it.counters.waiting(),
    ),
    ("network_down", "1 while our own network is down", |it| {
        it.network_down.into()
    }),
];

const COUNTERS: [Figure; 13] = [
    (
        "queue_dropped_full",
        "Jobs that found the queue full",
        |it| it.refused_full + it.counters.dropped_full,
    ),
    (
        "queue_rate_limited",
        "First announces that found no token",
        |it| it.rate_limited,
    ),
    (
        "queue_throttled_forwarders",
        "Forwarders left out because the queue was filling",
        |it| it.throttled,
    ),
    (
        "flights_shared",
        "Requests answered by a call made for another one",
        |it| it.counters.shared,
    ),
    (
        "jobs_asked",
        "Requests that needed no upstream, and jobs for all others: the sum of all other jobs_ counters, shared flights and jobs_waiting",
        |it| it.counters.asked,
    ),
    (
        "jobs_from_memory",
        "Requests answered from memory or cache",
        |it| it.counters.from_memory,
    ),
    ("jobs_sent", "Jobs sent to their upstream", |it| {
        it.counters.sent
    }),
    ("jobs_skipped", "Jobs skipped", |it| it.counters.skipped),
    ("jobs_dropped", "Jobs dropped", |it| it.counters.dropped),
    ("jobs_duplicate", "Jobs that were already pending", |it| {
        it.counters.duplicates
    }),
    ("jobs_refused", "Requests that were refused", |it| {
        it.counters.refused
    }),
    (
        "jobs_cancelled",
        "Jobs cancelled before they were sent",
        |it| it.counters.cancelled,
    ),
    (
        "jobs_shut_down",
        "Jobs that a stop ended before they were sent",
        |it| it.counters.shut_down,
    ),
];

impl Collector for Vitals {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "How often a part of Weir failed and was kept running";
        let mut family =
            encoder.encode_descriptor("part_failures", help, None, MetricType::Counter)?;
        for (front, part, count) in self.failures() {
            let labels = [("front", front), ("part", part)];
            let mut metric = family.encode_family(&labels)?;
            metric.encode_counter::<NoLabelSet, u64, u64>(&count, None)?;
        }
        Ok(())
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let fronts: Vec<Figures> = self.0.iter().map(Engine::status).collect();
        for (name, help, read) in GAUGES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for figures in &fronts {
                let value = i64::try_from(read(figures)).unwrap_or(i64::MAX);
                family
                    .encode_family(&[("front", figures.front)])?
                    .encode_gauge(&value)?;
            }
        }
        for (name, help, read) in COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for figures in &fronts {
                let labels = [("front", figures.front)];
                let mut metric = family.encode_family(&labels)?;
                metric.encode_counter::<NoLabelSet, u64, u64>(&read(figures), None)?;
            }
        }
        let upstreams: Vec<(&str, UpstreamFigures)> = self
            .0
            .iter()
            .flat_map(|engine| {
                let rows = engine.upstreams(0, usize::MAX);
                rows.into_iter().map(|row| (engine.front(), row))
            })
            .collect();
        states(&mut encoder, &upstreams)?;
        requests(&mut encoder, &upstreams)?;
        latencies(&mut encoder, &upstreams)
    }
}

fn states(
    encoder: &mut DescriptorEncoder<'_>,
    upstreams: &[(&str, UpstreamFigures)],
) -> fmt::Result {
    let help = "1 for the state the upstream is in";
    let mut family = encoder.encode_descriptor("upstream_state", help, None, MetricType::Gauge)?;
    for (front, row) in upstreams {
        for state in Standing::ALL {
            let labels = [
                ("front", *front),
                ("upstream", &row.name),
                ("state", state.name()),
            ];
            family
                .encode_family(&labels)?
                .encode_gauge(&i64::from(row.standing == state))?;
        }
    }
    Ok(())
}

fn requests(
    encoder: &mut DescriptorEncoder<'_>,
    upstreams: &[(&str, UpstreamFigures)],
) -> fmt::Result {
    let help = "Calls by outcome";
    let mut family =
        encoder.encode_descriptor("upstream_requests", help, None, MetricType::Counter)?;
    for (front, row) in upstreams {
        for (kind, count) in Kind::ALL.into_iter().zip(row.requests) {
            let labels = [
                ("front", *front),
                ("upstream", &row.name),
                ("outcome", kind.name()),
            ];
            let mut metric = family.encode_family(&labels)?;
            metric.encode_counter::<NoLabelSet, u64, u64>(&count, None)?;
        }
    }
    Ok(())
}

fn latencies(
    encoder: &mut DescriptorEncoder<'_>,
    upstreams: &[(&str, UpstreamFigures)],
) -> fmt::Result {
    let help = "How long calls took";
    let unit = Some(&Unit::Seconds);
    let mut family =
        encoder.encode_descriptor("upstream_request", help, unit, MetricType::Histogram)?;
    for (front, row) in upstreams {
        let bounds = Latency::BOUNDS
            .iter()
            .map(|&millis| millis as f64 / 1000.0)
            .chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(row.latency.buckets).collect();
        let labels = [("front", *front), ("upstream", &row.name)];
        let mut metric = family.encode_family(&labels)?;
        metric.encode_histogram::<NoLabelSet>(
            row.latency.sum.as_secs_f64(),
            row.latency.total(),
            &buckets,
            None,
        )?;
    }
    Ok(())
}
