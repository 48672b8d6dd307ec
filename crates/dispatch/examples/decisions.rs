//! How fast the dispatcher decides: `cargo run --release -p weir-dispatch --example decisions`.
//!
//! For each number of jobs and upstreams all jobs are submitted while held, then released and drained by
//! ten workers; after a first round, rounds repeat for a second. Submit, start and finish are one decision
//! each. Time is that of the processor where the system tells it (Linux), so that other programs count
//! little. With `JOBS UPSTREAMS` as arguments one round of that size runs: the form for `valgrind`.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measuring program prints, and reads the clock"
)]

#[path = "../benches/load/mod.rs"]
mod load;

use std::time::{Duration, Instant};

use load::Load;

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    if let (Some(jobs), Some(upstreams)) = (numbers.next(), numbers.next()) {
        let mut load = Load::new(jobs, upstreams);
        load.submit_all();
        load.drain();
        return;
    }
    for jobs in [1_000, 1_000_000] {
        for upstreams in [50, 5_000] {
            measure(jobs, upstreams);
        }
    }
}

fn measure(jobs: u32, upstreams: u32) {
    let mut load = Load::new(jobs, upstreams);
    load.submit_all();
    load.drain();
    let mut rounds = 0;
    let start = Instant::now();
    let before = spent(start);
    while start.elapsed() < Duration::from_secs(1) || rounds < 3 {
        load.submit_all();
        load.drain();
        rounds += 1;
    }
    let seconds = (spent(start) - before).as_secs_f64();
    let per_second = f64::from(jobs) * f64::from(rounds) * 3.0 / seconds;
    println!("jobs={jobs} upstreams={upstreams} rounds={rounds} decisions_per_s={per_second:.0}");
}

/// Processor time of this program, or the time since `start`.
fn spent(start: Instant) -> Duration {
    let nanos = std::fs::read_to_string("/proc/self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| start.elapsed(), Duration::from_nanos)
}
