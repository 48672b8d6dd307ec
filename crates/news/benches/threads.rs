//! What threading costs: 5,000 articles must be threads in a few milliseconds, and a further article,
//! a page of the list or a short thread must cost the same in a newsgroup of any size.
//!
//! ```sh
//! cargo bench -p weir-news --bench threads
//! ```

mod sample;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use sample::Sample;
use std::hint::black_box;

fn threads(criterion: &mut Criterion) {
    let sample = Sample::of(5_000);
    let mut group = criterion.benchmark_group("threads");
    group.throughput(Throughput::Bytes(sample.wire_length() as u64));
    group.bench_function("of 5,000 articles", |bencher| {
        bencher.iter_with_large_drop(|| sample.table());
    });
    group.finish();
    for size in [5_000, 100_000] {
        let sample = Sample::of(size);
        let mut table = sample.table();
        let headlines: Vec<_> = sample.headlines().collect();
        let mut turn = 0;
        criterion.bench_function(
            &format!("article that goes and comes back, of {size}"),
            |bencher| {
                bencher.iter_batched(
                    || {
                        turn = (turn + 7_919) % size;
                        headlines[turn]
                    },
                    |headline| {
                        table.remove([headline.id]);
                        table.insert(&headline)
                    },
                    BatchSize::SmallInput,
                );
            },
        );
        let last = table.thread_count() - 50;
        for (page, skip) in [("first", 0), ("last", last)] {
            criterion.bench_function(&format!("{page} page of the list, of {size}"), |bencher| {
                bencher.iter(|| {
                    let threads = table.threads(skip).take(50);
                    threads
                        .map(|thread| thread.articles() + thread.last().author().len())
                        .sum::<usize>()
                });
            });
        }
    }
    let table = sample.table();
    let longest = table.threads(0).max_by_key(|thread| thread.articles());
    let root = longest
        .map(|thread| thread.first().id().parse())
        .expect("threads")
        .expect("an ID");
    let rows = table.tree(&root).map_or(0, |tree| tree.len());
    criterion.bench_function(&format!("tree of {rows} rows"), |bencher| {
        bencher.iter(|| black_box(table.tree(&root)).map(|tree| tree.len()));
    });
}

criterion_group!(benches, threads);
criterion_main!(benches);
