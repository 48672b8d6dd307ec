//! What each decision costs in time behind a thousand and behind a million queued jobs:
//! `cargo bench -p weir-dispatch --bench decisions`.
//!
//! The backlog stays as it is: what a step takes away or adds is put back outside the measured time.

#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

mod load;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use load::Load;
use weir_dispatch::{Class, JobId};

/// Decisions that are measured together.
const CHUNK: usize = 50;
const UPSTREAMS: u32 = 1_000;

/// A front with a backlog, and where in it the next step looks.
struct Backlog {
    load: Load,
    ids: Vec<JobId>,
    at: usize,
}

impl Backlog {
    fn new(jobs: u32) -> Self {
        let (load, ids) = Load::waiting(jobs, UPSTREAMS);
        Self { load, ids, at: 0 }
    }

    /// Some jobs of the backlog, others each time, spread over it.
    fn some(&mut self) -> Vec<usize> {
        let len = self.ids.len();
        let chosen = (0..CHUNK).map(|n| (self.at + n * (len / CHUNK)) % len);
        let chosen = chosen.collect();
        self.at = (self.at + 7_919) % len;
        chosen
    }

    /// Puts other jobs of the same kind in the places of these.
    fn replace(&mut self, chosen: &[usize]) {
        for &index in chosen {
            self.load.dispatcher.cancel(self.load.now, self.ids[index]);
            self.ids[index] = self.load.submit(self.load.jobs[index]);
        }
        drop(self.load.dispatcher.take_ended());
    }

    fn submit(&mut self) -> Duration {
        let (load, jobs) = (&mut self.load, CHUNK);
        let mut added = Vec::with_capacity(jobs);
        let began = Instant::now();
        for index in 0..jobs {
            added.push(load.submit(load.jobs[index]));
        }
        let spent = began.elapsed();
        for id in added {
            load.dispatcher.cancel(load.now, id);
        }
        drop(load.dispatcher.take_ended());
        spent
    }

    fn cancel(&mut self) -> Duration {
        let chosen = self.some();
        let began = Instant::now();
        for &index in &chosen {
            black_box(self.load.dispatcher.cancel(self.load.now, self.ids[index]));
        }
        let spent = began.elapsed();
        self.replace(&chosen);
        spent
    }

    fn raise(&mut self) -> Duration {
        let mut chosen = self.some();
        chosen.retain(|&index| self.load.jobs[index].class > Class(0));
        let began = Instant::now();
        for &index in &chosen {
            let id = self.ids[index];
            black_box(self.load.dispatcher.raise(self.load.now, id, Class(0)));
        }
        let spent = began.elapsed();
        let share = CHUNK as u32 / chosen.len().max(1) as u32;
        self.replace(&chosen);
        spent * share.max(1)
    }

    /// Starts and ends jobs, each of which another of its kind replaces.
    fn run(&mut self) -> (Duration, Duration) {
        let mut started = Vec::with_capacity(CHUNK);
        let began = Instant::now();
        for _ in 0..CHUNK {
            started.push(self.load.start());
        }
        let starting = began.elapsed();
        let began = Instant::now();
        for &id in &started {
            self.load.finish(id);
        }
        let finishing = began.elapsed();
        for id in started {
            if let Some(index) = self.ids.iter().position(|&other| other == id) {
                self.ids[index] = self.load.submit(self.load.jobs[index]);
            }
        }
        (starting, finishing)
    }
}

fn decisions(criterion: &mut Criterion) {
    for jobs in [1_000, 1_000_000] {
        let mut backlog = Backlog::new(jobs);
        let mut group = criterion.benchmark_group(format!("behind {jobs}"));
        group.throughput(Throughput::Elements(CHUNK as u64));
        let mut measure = |name: &str, mut step: Box<dyn FnMut(&mut Backlog) -> Duration>| {
            group.bench_function(name, |bencher| {
                bencher.iter_custom(|rounds| (0..rounds).map(|_| step(&mut backlog)).sum());
            });
        };
        measure("submit", Box::new(Backlog::submit));
        measure("cancel", Box::new(Backlog::cancel));
        measure("raise", Box::new(Backlog::raise));
        measure("start", Box::new(|backlog| backlog.run().0));
        measure("finish", Box::new(|backlog| backlog.run().1));
        group.finish();
    }
}

/// All three decisions about each of a thousand jobs.
fn lives(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lives");
    group.throughput(Throughput::Elements(3_000));
    group.bench_function("submit, start and finish 1000", |bencher| {
        bencher.iter_batched_ref(
            || Load::new(1_000, 50),
            |load| {
                load.submit_all();
                load.drain();
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, decisions, lives);
criterion_main!(benches);
