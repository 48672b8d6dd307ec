//! The tracker's section of `/stats`.

use serde_json::{Map, Value, json};
use weir_web::{Section, Stats};

use crate::look::Look;
use crate::tally::Kind;

/// Nothing forwards yet: its queue is empty, whatever is configured.
const NOT_BUILT: &str = "not built";

impl Stats for Look {
    fn section(&self) -> Section {
        let (json, mut text) = (self.fields(), Vec::new());
        for (name, value) in &json {
            match value {
                Value::Number(number) => text.push(format!("{name} {number}")),
                Value::Object(counts) => {
                    text.extend(
                        counts
                            .iter()
                            .map(|(of, count)| format!("{name} {of} {count}")),
                    );
                }
                _ => {}
            }
        }
        for (protocol, address) in self.listening() {
            text.push(format!("listening {protocol} {address}"));
        }
        text.push("forwarding is not part of this build yet: forwarders are not called".into());
        for name in &self.forwarding().forwarders {
            text.push(format!("forwarder {name}: {NOT_BUILT}"));
        }
        Section {
            json,
            text,
            top_level: true,
        }
    }
}

impl Look {
    fn fields(&self) -> Map<String, Value> {
        let (totals, forwarding) = (self.totals(), self.forwarding());
        let requests: Map<String, Value> = self
            .requests()
            .into_iter()
            .map(|(kind, count)| (kind.to_owned(), count.into()))
            .collect();
        let listening: Vec<Value> = self
            .listening()
            .iter()
            .map(|(protocol, address)| json!({ "protocol": protocol, "address": address.to_string() }))
            .collect();
        let forwarders: Vec<Value> = forwarding
            .forwarders
            .iter()
            .map(|name| {
                json!({
                    "name": name,
                    "state": NOT_BUILT,
                    "reason": "forwarding is not part of this build yet",
                    "response_ms": null,
                    "last_interval": null,
                    "announces": 0,
                    "last_error": null,
                })
            })
            .collect();
        let fields = [
            ("queue_depth", json!(0)),
            ("queue_capacity", json!(forwarding.capacity)),
            ("queue_fill_pct", json!(0)),
            ("active_workers", json!(0)),
            ("max_workers", json!(forwarding.max_workers)),
            ("dropped_full", json!(0)),
            ("rate_limited", json!(0)),
            ("throttled_forwarders", json!(0)),
            ("forwarding", json!(NOT_BUILT)),
            ("forwarders", Value::Array(forwarders)),
            ("swarms", json!(totals.swarms)),
            ("peers", json!(totals.peers())),
            ("peers_v4", json!(totals.v4)),
            ("peers_v6", json!(totals.v6)),
            ("seeders", json!(totals.seeders)),
            ("leechers", json!(totals.leechers())),
            ("requests", Value::Object(requests)),
            ("replies_unsent", json!(self.count(Kind::Unsent))),
            ("listening", Value::Array(listening)),
        ];
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}
