//! The tracker's section of `/stats`.

use serde_json::{Map, Value, json};
use weir_web::{Section, Stats};

use crate::look::Look;
use crate::tally::TallyKind;

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
        let own = Section {
            json,
            text,
            top_level: true,
        };
        let forwarders = self.forwarders();
        Section::of_engine(forwarders, forwarders.max_workers()).and(own)
    }
}

impl Look {
    fn fields(&self) -> Map<String, Value> {
        let totals = self.totals();
        let (hashes, peers) = self.tracker().forwarding.ledger().totals();
        let requests: Map<String, Value> = self
            .requests()
            .into_iter()
            .map(|(kind, count)| (kind.to_owned(), count.into()))
            .collect();
        let held_back: Map<String, Value> = self
            .held_back()
            .into_iter()
            .map(|(why, count)| {
                let (event, reason) = why.labels();
                (format!("{event}_{reason}"), count.into())
            })
            .collect();
        let listening: Vec<Value> = self
            .listening()
            .iter()
            .map(|(protocol, address)| json!({ "protocol": protocol, "address": address.to_string() }))
            .collect();
        let fields = [
            ("swarms", json!(totals.swarms)),
            ("peers", json!(totals.peers())),
            ("peers_v4", json!(totals.v4)),
            ("peers_v6", json!(totals.v6)),
            ("seeders", json!(totals.seeders)),
            ("leechers", json!(totals.leechers())),
            ("forwarded_hashes", json!(hashes)),
            ("forwarder_peers", json!(peers)),
            ("events_held_back", Value::Object(held_back)),
            ("requests", Value::Object(requests)),
            ("replies_unsent", json!(self.count(TallyKind::Unsent))),
            ("listening", Value::Array(listening)),
        ];
        fields
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}
