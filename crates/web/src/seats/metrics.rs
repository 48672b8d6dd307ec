//! How many connections had to go, as `/metrics` shows it.

use std::fmt;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{TypedMetric, counter::ConstCounter},
    registry::Registry,
};

use super::Seats;

struct EndedSeats {
    name: &'static str,
    listeners: Vec<(&'static str, Seats)>,
}

/// Registers a family under `name` for these listeners.
pub fn register(
    registry: &mut Registry,
    name: &'static str,
    listeners: impl IntoIterator<Item = (&'static str, Seats)>,
) {
    let listeners = listeners.into_iter().collect();
    registry.register_collector(Box::new(EndedSeats { name, listeners }));
}

impl fmt::Debug for EndedSeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ended").field(&self.name).finish()
    }
}

impl Collector for EndedSeats {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut family = encoder.encode_descriptor(
            self.name,
            "Connections ended or turned away because places were needed",
            None,
            ConstCounter::<u64>::TYPE,
        )?;
        for (listener, seats) in &self.listeners {
            for (reason, count) in seats.ended() {
                let labels = [("listener", *listener), ("reason", reason)];
                ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
