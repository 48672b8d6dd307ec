//! An engine's part of a front's section of `/stats`.

use std::fmt::Write;

use serde_json::{Value, json};
use weir_engine::UpstreamView;

use super::{Upstreams, day::Day, limit::UpstreamLimit, times::Times};
use crate::Section;

impl Section {
    /// Queue, workers and upstreams of a front, under the names that scripts know. `max_workers` is the configured
    /// maximum. A tracker's upstreams are listed under `forwarders`, others under `upstreams`.
    pub fn of_engine(upstreams: &dyn Upstreams, max_workers: u32) -> Self {
        let engine = upstreams.engine();
        let figures = engine.status();
        let counts = figures.counts;
        let numbers = [
            ("queue_depth", json!(counts.queued)),
            ("queue_capacity", json!(counts.capacity)),
            ("queue_fill_pct", json!(figures.fill_percent)),
            ("active_workers", json!(counts.crew)),
            ("max_workers", json!(max_workers)),
            (
                "dropped_full",
                json!(figures.refused_full + figures.counters.dropped_full),
            ),
            ("rate_limited", json!(figures.rate_limited)),
            ("throttled_forwarders", json!(figures.throttled)),
            ("counters", crate::status::counters(&figures.counters)),
        ];
        let mut section = Self::of_fields(numbers);
        let (list, one, calls) = match upstreams.kind() {
            "tracker" => ("forwarders", "forwarder", "announces"),
            _ => ("upstreams", "upstream", "calls"),
        };
        let times = Times::of(engine);
        let rows = engine.upstreams(0, usize::MAX);
        let rows = rows.iter().filter_map(|row| engine.upstream(row.upstream));
        let rows: Vec<Value> = rows
            .map(|view| {
                let fields = fields(upstreams, &view, &times, calls);
                let limits = UpstreamLimit::all(&view);
                section.text.push(line(one, &fields, &limits));
                let limits: Vec<Value> = limits.iter().map(|limit| limit.json(&times)).collect();
                let quota = ("quota", limits.into());
                fields.into_iter().chain([quota]).collect()
            })
            .collect();
        section.json.insert(list.to_owned(), rows.into());
        section
    }

    /// Fields by name. A number also becomes a line of text, and an object one line for each of its entries.
    pub fn of_fields(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let mut section = Self::default();
        for (name, value) in fields {
            match &value {
                Value::Number(number) => section.text.push(format!("{name} {number}")),
                Value::Object(counts) => {
                    let lines = counts
                        .iter()
                        .map(|(of, count)| format!("{name} {of} {count}"));
                    section.text.extend(lines);
                }
                _ => {}
            }
            section.json.insert(name.to_owned(), value);
        }
        section
    }

    /// Adds the fields and lines of another section; if both have a field, the other's wins.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.json.extend(other.json);
        self.text.extend(other.text);
        self.top_level |= other.top_level;
        self
    }
}

/// Names and values, in the order in which people read them.
fn fields<'a>(
    upstreams: &dyn Upstreams,
    view: &UpstreamView,
    times: &Times,
    calls: &'a str,
) -> Vec<(&'a str, Value)> {
    let upstream = view.figures.upstream;
    let day = Day::of(&view.day, view.at);
    let interval = upstreams.last_interval(upstream);
    let error = view.last_error.as_ref().map(|(_, words)| &**words);
    let off = view.off.as_ref().map(|off| off.reason.as_str());
    let reason = off.or(view.trouble.as_ref().map(|trouble| &*trouble.reason));
    let until = match view.status.cooldown {
        Some(cooldown) if view.off.is_none() && cooldown.until > times.moment => {
            Some(cooldown.until)
        }
        _ => None,
    };
    let total: u64 = view.figures.requests.iter().sum();
    vec![
        ("name", json!(*view.figures.name)),
        ("state", json!(view.figures.standing.name())),
        ("reason", json!(reason)),
        ("until", json!(until.map(|until| times.exact(until)))),
        (
            "response_ms",
            json!(day.p50.map(|time| time.as_millis() as u64)),
        ),
        ("last_interval", json!(interval.map(|time| time.as_secs()))),
        (calls, json!(total)),
        ("last_error", json!(error)),
    ]
}

/// `upstream example: open, response_ms 58, calls 12, 41 of 300 calls in the last 5 min`; what is not known is left out.
fn line(one: &str, fields: &[(&str, Value)], limits: &[UpstreamLimit]) -> String {
    let mut line = one.to_owned();
    for (name, value) in fields {
        let value = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let _ = match *name {
            "name" => write!(line, " {value}:"),
            "state" => write!(line, " {value}"),
            name => write!(line, ", {name} {value}"),
        };
    }
    for limit in limits {
        let _ = write!(line, ", {}", limit.said());
    }
    line
}
