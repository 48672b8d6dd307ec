//! How long announces can be kept waiting by what goes on beside them: each lock that the sweep and the snapshot take
//! is timed, over swarms of every size.
//!
//! ```sh
//! cargo run --release -p weir-tracker --features bench --example pauses
//! ```
//!
//! A busy machine takes the processor away in the middle of some of them: then the largest say more about the machine.

use std::collections::BTreeMap;
use std::time::Duration;

use weir_tracker::bench::Listeners;
use weir_tracker::swarm::Minute;

#[expect(clippy::print_stdout, reason = "a program that measures and prints")]
fn main() {
    for (swarms, peers) in [
        (1_000_000, 1),
        (100_000, 10),
        (1_000, 1_000),
        (1, 1_000_000),
    ] {
        let listeners = Listeners::with(swarms, peers);
        // Everyone is fresh, then everyone is silent for too long.
        for (state, now) in [("fresh", Minute::START), ("stale", Minute::START.plus(200))] {
            let mut held: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
            listeners
                .swarms()
                .time_locks(now, |what, time| held.entry(what).or_default().push(time));
            for (what, times) in &mut held {
                times.sort_unstable();
                let at = |share: f64| {
                    times[((times.len() - 1) as f64 * share) as usize].as_nanos() as f64 / 1e3
                };
                println!(
                    "swarms={swarms} peers={peers} {state} {what} locks={} p50_us={:.1} p99_us={:.1} p99.9_us={:.1} max_us={:.1}",
                    times.len(),
                    at(0.5),
                    at(0.99),
                    at(0.999),
                    at(1.0),
                );
            }
        }
    }
}
