//! How long merging takes: 6,000 releases of 60 indexers must be one list in under 20 ms.
//!
//! ```sh
//! cargo bench -p weir-search --features bench --bench merge
//! ```

use criterion::{Criterion, criterion_group, criterion_main};
use weir_search::bench::Answers;

fn merge(criterion: &mut Criterion) {
    let answers = Answers::of(60, 100);
    criterion.bench_function("6,000 releases of 60 indexers", |bencher| {
        bencher.iter(|| answers.merge());
    });
    let answers = Answers::of(1, 6_000);
    criterion.bench_function("6,000 releases of one indexer", |bencher| {
        bencher.iter(|| answers.merge());
    });
}

criterion_group!(benches, merge);
criterion_main!(benches);
