//! Measures the time of each step of the worker's loop: `cargo bench -p dnsdyno-benchsuite --bench micro`.

mod operations;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use crate::operations::OPERATIONS;

fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("step");
    group.throughput(Throughput::Elements(TIMES));
    for operation in OPERATIONS {
        group.bench_function(operation.name, |bencher| bencher.iter(|| (operation.repeat)(TIMES)));
    }
    group.finish();
}

/// Enough for the preparation to be negligible.
const TIMES: u64 = 100_000;

criterion_group!(benches, steps);
criterion_main!(benches);
