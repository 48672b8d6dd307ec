//! Announces to a tracker as fast as it answers, and counts what came back right:
//!
//! ```sh
//! cargo run --release -p weir-tracker --example load -- udp 127.0.0.1:6969 --torrents 10000 --peers 10
//! cargo run --release -p weir-tracker --example load -- http 127.0.0.1:6969 --connections 64
//! ```
//!
//! A closed loop: each client waits for its reply before it asks again. Peers differ by the address they say they have
//! (`ip`), so one machine can fill a swarm of a million; the tracker believes that from private addresses. A reply
//! counts if it answers what was asked: the right transaction, no error, whole peers, no more than wanted.

mod http;
mod latency;
mod plan;
mod udp;

use std::process::ExitCode;
use std::time::Instant;

use latency::Latency;
use plan::{Plan, Protocol};

/// What a thread measured.
#[derive(Debug, Default)]
struct Measured {
    right: u64,
    wrong: u64,
    /// Asked, and not answered in time.
    lost: u64,
    latency: Latency,
}

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]
fn main() -> ExitCode {
    let plan = match Plan::read(std::env::args().skip(1)) {
        Ok(plan) => plan,
        Err(usage) => {
            eprintln!("{usage}");
            return ExitCode::from(2);
        }
    };
    let began = Instant::now();
    let threads: Vec<_> = (0..plan.threads)
        .map(|thread| {
            let plan = plan.clone();
            std::thread::spawn(move || match plan.protocol {
                Protocol::Udp => udp::run(&plan, thread),
                Protocol::Http => http::run(&plan, thread),
            })
        })
        .collect();
    let mut all = Measured::default();
    for thread in threads {
        match thread.join().map_err(|_| "a thread panicked".into()) {
            Ok(Ok(measured)) => {
                all.right += measured.right;
                all.wrong += measured.wrong;
                all.lost += measured.lost;
                all.latency.add(measured.latency);
            }
            Ok(Err(error)) | Err(error) => {
                let error: Box<dyn std::error::Error + Send + Sync> = error;
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let [p50, p99, p999] = all.latency.percentiles([0.5, 0.99, 0.999]);
    println!(
        "responses/s {:.0} right {} wrong {} lost {} seconds {seconds:.2} p50_us {p50:.1} p99_us {p99:.1} p99.9_us {p999:.1}",
        all.right as f64 / seconds,
        all.right,
        all.wrong,
        all.lost,
    );
    if all.wrong > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
