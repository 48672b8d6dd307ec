//! What each decision costs in instructions, which a busy machine does not change:
//!
//! ```sh
//! cargo install gungraun-runner --version 0.20.0   # once; takes some minutes
//! cargo bench -p weir-dispatch --bench instructions
//! ```
//!
//! It needs valgrind. Each bench makes a hundred decisions behind a thousand or a million queued jobs and
//! is compared with the run before. It is not part of the daily check.

mod load;

use gungraun::prelude::*;
use load::Load;
use std::hint::black_box;
use weir_dispatch::{Class, JobId};

/// Decisions per bench.
const DECISIONS: usize = 100;
const UPSTREAMS: u32 = 1_000;

fn waiting(jobs: u32) -> (Load, Vec<JobId>) {
    let (load, mut ids) = Load::waiting(jobs, UPSTREAMS);
    let mut urgent = load.jobs.iter().map(|job| job.class == Class(0));
    ids.retain(|_| urgent.next() == Some(false));
    let apart = ids.len() / DECISIONS;
    let spread = ids.into_iter().step_by(apart).take(DECISIONS).collect();
    (load, spread)
}

fn running(jobs: u32) -> (Load, Vec<JobId>) {
    let (mut load, _) = waiting(jobs);
    let started = (0..DECISIONS).map(|_| load.start()).collect();
    (load, started)
}

#[library_benchmark(setup = waiting)]
#[bench::behind_1_000(1_000)]
#[bench::behind_1_000_000(1_000_000)]
fn submit((mut load, ids): (Load, Vec<JobId>)) -> Load {
    for index in 0..ids.len() {
        black_box(load.submit(load.jobs[index]));
    }
    load
}

#[library_benchmark(setup = waiting)]
#[bench::behind_1_000(1_000)]
#[bench::behind_1_000_000(1_000_000)]
fn start((mut load, ids): (Load, Vec<JobId>)) -> Load {
    for _ in 0..ids.len() {
        black_box(load.start());
    }
    load
}

#[library_benchmark(setup = running)]
#[bench::behind_1_000(1_000)]
#[bench::behind_1_000_000(1_000_000)]
fn finish((mut load, ids): (Load, Vec<JobId>)) -> Load {
    for id in ids {
        load.finish(id);
    }
    load
}

#[library_benchmark(setup = waiting)]
#[bench::behind_1_000(1_000)]
#[bench::behind_1_000_000(1_000_000)]
fn cancel((mut load, ids): (Load, Vec<JobId>)) -> Load {
    for id in ids {
        black_box(load.dispatcher.cancel(load.now, id));
    }
    load
}

#[library_benchmark(setup = waiting)]
#[bench::behind_1_000(1_000)]
#[bench::behind_1_000_000(1_000_000)]
fn raise((mut load, ids): (Load, Vec<JobId>)) -> Load {
    for id in ids {
        black_box(load.dispatcher.raise(load.now, id, Class(0)));
    }
    load
}

library_benchmark_group!(
    name = decisions,
    benchmarks = [submit, start, finish, cancel, raise]
);

main!(library_benchmark_groups = decisions);
