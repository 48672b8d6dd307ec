//! The tracker's section of `/stats`.

use serde_json::{Map, Value, json};
use weir_web::{Section, Stats};

use crate::look::Look;
use crate::tally::TallyKind;

impl Stats for Look {
    fn section(&self) -> Section {
        let mut own = Section::of_fields(self.fields());
        own.top_level = true;
        for (protocol, address) in self.listening() {
            own.text.push(format!("listening {protocol} {address}"));
        }
        let forwarders = self.forwarders();
        Section::of_engine(forwarders, forwarders.max_workers()).and(own)
    }
}

impl Look {
    fn fields(&self) -> Vec<(&'static str, Value)> {
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
        let mut fields = vec![
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
        if let Some(sharing) = self.sharing() {
            let events = sharing.events().into_iter();
            let events: Map<String, Value> = events
                .map(|(outcome, count)| (outcome.to_owned(), count.into()))
                .collect();
            let lags = sharing.lags().into_iter();
            let lags: Map<String, Value> = lags
                .map(|(node, lag)| (node.to_string(), lag.as_secs_f64().into()))
                .collect();
            fields.push(("swarm_events", Value::Object(events)));
            fields.push(("swarm_lag_seconds", Value::Object(lags)));
        }
        fields
    }
}
