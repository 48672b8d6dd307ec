//! What one announce costs with few swarms and with many, in time, misses of the cache included:
//!
//! ```sh
//! cargo run --release -p weir-tracker --features bench --example scale
//! ```
//!
//! Ten million swarms take about 900 MB. Each figure is the median of rounds; a busy machine is no place for it.

use std::hint::black_box;
use std::time::Instant;

use weir_tracker::bench::Listeners;

const ANNOUNCES: usize = 200_000;
const ROUNDS: usize = 9;

#[expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]
fn main() {
    let mut first = None;
    for swarms in [10_000, 1_000_000, 10_000_000] {
        let mut listeners = Listeners::with(swarms, 1);
        let mut random = fastrand::Rng::with_seed(1);
        let packets: Vec<_> = (0..ANNOUNCES)
            .map(|_| listeners.packet(random.u32(..swarms), 0))
            .collect();
        let mut rounds = [0.0; ROUNDS];
        for round in &mut rounds {
            let began = Instant::now();
            for packet in &packets {
                black_box(listeners.udp(packet));
            }
            *round = began.elapsed().as_nanos() as f64 / ANNOUNCES as f64;
        }
        rounds.sort_by(f64::total_cmp);
        let median = rounds[ROUNDS / 2];
        let against = median / *first.get_or_insert(median);
        println!("swarms={swarms} ns_per_announce={median:.0} against_10000={against:.2}");
    }
}
