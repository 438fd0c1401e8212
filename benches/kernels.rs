//! Kernels on a graph of 200,000 nodes and 4 million random edges, 128 columns, in single precision.
//!
//!     cargo bench --bench kernels
#![allow(clippy::unwrap_used)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sar::graph::Csr;
use sar::kernels::{
    AdditiveScore, Attention, Destinations, DropoutKey, Matrix, Spmm, dropout, matmul,
    matmul_over_rows,
};

const NODES: usize = 200_000;
const EDGES: usize = 4_000_000;
const WIDTH: usize = 128;
const HEADS: usize = 4;

fn graph() -> Csr {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut ends = || (0..EDGES).map(|_| rng.random_range(0..NODES as u32)).collect::<Vec<_>>();
    Csr::from_entries(NODES, NODES, &ends(), &ends()).0
}

fn values(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i % 1009) as f32 / 1009.0 - 0.5).collect()
}

fn kernels(criterion: &mut Criterion) {
    // Two threads, as the other trainers get in BENCHMARKS.md.
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    let graph = graph();
    let x = values(NODES * WIDTH);
    let mut y = vec![0.0; NODES * WIDTH];

    let mut group = criterion.benchmark_group("sparse");
    group.sample_size(10);
    group.throughput(Throughput::Bytes((EDGES * WIDTH * 4) as u64));
    let spmm = Spmm { graph: &graph, weights: None, row_scale: None, col_scale: None };
    group.bench_function("spmm", |b| b.iter(|| spmm.add_to(&x, WIDTH, &mut y)));

    let scores = values(NODES * HEADS);
    let score = AdditiveScore { src: &scores, dst: &scores, heads: HEADS, slope: 0.2 };
    let (heads, width) = (HEADS, WIDTH / HEADS);
    let attention = Attention { score, messages: &x, heads, width, dropout: None };
    let mut largest = vec![f32::NEG_INFINITY; NODES * HEADS];
    let mut sum = vec![0.0; NODES * HEADS];
    group.bench_function("attention forward", |b| {
        b.iter(|| attention.accumulate(&graph, &mut largest, &mut sum, &mut y));
    });
    let (transpose, _) = graph.transpose();
    let of = Destinations { log_sum: &vec![3.0; NODES * HEADS], delta: &scores, gy: &x };
    let mut gdst = vec![0.0; NODES * HEADS];
    let mut gsrc = vec![0.0; NODES * HEADS];
    group.bench_function("attention backward", |b| {
        b.iter(|| {
            attention.destination_adjoint(&graph, of, &mut gdst);
            attention.source_adjoint(&transpose, of, &mut y, &mut gsrc);
        });
    });
    group.finish();

    let mut group = criterion.benchmark_group("dense");
    group.sample_size(10);
    group.throughput(Throughput::Elements((2 * NODES * WIDTH * WIDTH) as u64));
    let weight = values(WIDTH * WIDTH);
    group.bench_function("matmul", |b| {
        b.iter(|| matmul(&x, Matrix::new(&weight, WIDTH, WIDTH), None, &mut y, false));
    });
    group.bench_function("matmul over rows", |b| {
        b.iter(|| matmul_over_rows(&x, &y, WIDTH, WIDTH));
    });
    group.throughput(Throughput::Elements((NODES * WIDTH) as u64));
    let key = DropoutKey { seed: 1, epoch: 1, layer: 1 };
    let nodes: Vec<i64> = (0..NODES as i64).collect();
    group.bench_function("dropout", |b| {
        b.iter(|| dropout(key, 0.5, (&nodes, WIDTH), &x, &mut y));
    });
    group.finish();
}

criterion_group!(benches, kernels);
criterion_main!(benches);
