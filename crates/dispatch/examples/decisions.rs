//! How fast the dispatcher decides: `cargo run --release -p weir-dispatch --example decisions`.
//!
//! For each number of jobs and upstreams all jobs are submitted while held, then released and drained by
//! ten workers; rounds repeat until a second has been measured. Submit, start and finish are one decision
//! each. With `JOBS UPSTREAMS` as arguments one round of that size runs: the form for `valgrind`.

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
    let (mut submitting, mut draining) = (Vec::new(), Vec::new());
    let mut total = Duration::ZERO;
    while total < Duration::from_secs(2) || submitting.len() < 3 {
        let began = Instant::now();
        load.submit_all();
        let submitted = Instant::now();
        load.drain();
        let drained = Instant::now();
        submitting.push(submitted - began);
        draining.push(drained - submitted);
        total += drained - began;
    }
    let (submit, drain) = (median(submitting), median(draining));
    let per_second = f64::from(jobs) * 3.0 / (submit + drain).as_secs_f64();
    println!(
        "jobs={jobs} upstreams={upstreams} submit_s={:.6} drain_s={:.6} decisions_per_s={per_second:.0}",
        submit.as_secs_f64(),
        drain.as_secs_f64(),
    );
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
