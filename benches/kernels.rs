//! Kernels on a graph of 200,000 nodes and 4 million random edges, 128 columns, compared with the bandwidth of memory.
//!
//!     cargo bench --bench kernels
//!
//! Rates are bytes per second that a kernel has to touch (gathered rows count each time). With `KERNEL_EDGES=FILE` the edges
//! come from a file: 32-bit destinations, then as many sources.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use half::bf16;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sar::graph::Csr;
use sar::io::first_not_finite;
use sar::kernels::{
    AdditiveScore, Attention, Destinations, DropoutKey, Matrix, Spmm, WordSize, dropout,
    gather_rows, matmul, matmul_bf16, matmul_over_rows, matmul_over_rows_bf16, pack_words,
    scatter_add_rows, unpack_words,
};

const NODES: usize = 200_000;
const EDGES: usize = 4_000_000;
const WIDTH: usize = 128;
const HEADS: usize = 4;

fn graph() -> Csr {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let random = |_| rng.random_range(0..NODES as u32);
    let ends: Vec<u32> = match std::env::var_os("KERNEL_EDGES") {
        Some(path) => {
            let bytes = std::fs::read(path).unwrap();
            bytes.as_chunks::<4>().0.iter().map(|end| u32::from_le_bytes(*end)).collect()
        }
        None => (0..2 * EDGES).map(random).collect(),
    };
    let (dst, src) = ends.split_at(ends.len() / 2);
    Csr::from_entries(NODES, NODES, dst, src).0
}

fn values(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i % 1009) as f32 / 1009.0 - 0.5).collect()
}

fn narrow(values: &[f32]) -> Vec<bf16> {
    values.iter().map(|value| bf16::from_f32(*value)).collect()
}

fn bench(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    work: Throughput,
    mut run: impl FnMut(),
) {
    group.throughput(work);
    group.bench_function(name, |b| b.iter(&mut run));
}

/// The bandwidth of memory, which bounds all rates below.
fn memory(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("memory");
    group.sample_size(10);
    let (len, block) = (1 << 26, 1 << 16);
    let (from, mut to) = (vec![1.0_f32; len], vec![0.0_f32; len]);
    bench(&mut group, "read", Throughput::Bytes(4 * len as u64), || {
        // One element per cache line.
        let sum = |block: &[f32]| block.iter().step_by(16).sum::<f32>();
        black_box(from.par_chunks(block).map(sum).sum::<f32>());
    });
    bench(&mut group, "copy", Throughput::Bytes(8 * len as u64), || {
        let blocks = to.par_chunks_mut(block).zip(from.par_chunks(block));
        blocks.for_each(|(to, from)| to.copy_from_slice(from));
    });
    group.finish();
}

fn sparse(criterion: &mut Criterion) {
    let graph = graph();
    let edges = graph.num_entries();
    let (transpose, _) = graph.transpose();
    let x = values(NODES * WIDTH);
    let mut y = vec![0.0; NODES * WIDTH];
    let mut group = criterion.benchmark_group("sparse");
    group.sample_size(10);
    // Gathered rows, their indices, and the result, read and written.
    let bytes = |element: usize, passes: usize| {
        let gathered = passes * edges * (WIDTH * element + 4);
        Throughput::Bytes((gathered + 2 * NODES * WIDTH * 4) as u64)
    };
    let spmm = Spmm { graph: &graph, weights: None, row_scale: None, col_scale: None };
    bench(&mut group, "spmm", bytes(4, 1), || spmm.add_to(&x, WIDTH, &mut y));
    let adjoint = Spmm { graph: &transpose, ..spmm };
    bench(&mut group, "spmm adjoint", bytes(4, 1), || adjoint.add_to(&x, WIDTH, &mut y));
    let half = narrow(&x);
    bench(&mut group, "spmm of bf16", bytes(2, 1), || spmm.add_to(&half, WIDTH, &mut y));

    let scores = values(NODES * HEADS);
    let score = AdditiveScore { src: &scores, dst: &scores, heads: HEADS, slope: 0.2 };
    let (heads, width) = (HEADS, WIDTH / HEADS);
    let attention = Attention { score, messages: &x, heads, width, dropout: None };
    let mut largest = vec![f32::NEG_INFINITY; NODES * HEADS];
    let mut sum = vec![0.0; NODES * HEADS];
    bench(&mut group, "attention forward", bytes(4, 1), || {
        attention.accumulate(&graph, &mut largest, &mut sum, &mut y);
    });
    let (largest, log_sum) = (&largest.clone(), &vec![3.0; NODES * HEADS]);
    let of = Destinations { largest, log_sum, delta: &scores, gy: &x };
    let mut gdst = vec![0.0; NODES * HEADS];
    let mut gsrc = vec![0.0; NODES * HEADS];
    bench(&mut group, "attention backward", bytes(4, 2), || {
        attention.destination_adjoint(&graph, of, &mut gdst);
        attention.source_adjoint(&transpose, of, &mut y, &mut gsrc);
    });

    let rows: Vec<u32> = (0..NODES as u32).filter(|row| row % 3 != 0).collect();
    let mut some = vec![0.0; rows.len() * WIDTH];
    let copied = Throughput::Bytes(8 * some.len() as u64);
    bench(&mut group, "gather rows", copied, || gather_rows(&x, WIDTH, &rows, &mut some));
    let added = Throughput::Bytes(12 * some.len() as u64);
    bench(&mut group, "scatter rows", added, || scatter_add_rows(&some, WIDTH, &rows, &mut y));
    group.finish();
}

/// Zeros that are left out of files, and put back; rates are of bytes with zeros.
fn zeros(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("zeros");
    group.sample_size(10);
    let block = 64 << 10;
    for (name, word) in [("f32", WordSize::Four), ("bf16", WordSize::Two)] {
        for percent in [0, 50, 80] {
            let mut rng = ChaCha8Rng::seed_from_u64(0);
            let words = (0..(64 << 20) / word.size()).flat_map(|_| {
                let value = u8::from(rng.random_range(0..100) >= percent);
                std::iter::repeat_n(value, word.size())
            });
            let mut raw: Vec<u8> = words.collect();
            let mut bitmap = vec![0; block / word.group()];
            let mut packed = vec![0; block + word.group()];
            let bytes = Throughput::Bytes(raw.len() as u64);
            bench(&mut group, &format!("pack {name}, {percent} %"), bytes.clone(), || {
                for raw in raw.chunks(block) {
                    black_box(pack_words(raw, word, &mut bitmap, &mut packed));
                }
            });
            bench(&mut group, &format!("unpack {name}, {percent} %"), bytes, || {
                raw.chunks_mut(block).for_each(|raw| unpack_words(&bitmap, &packed, word, raw));
            });
        }
    }
    group.finish();
}

fn dense(criterion: &mut Criterion) {
    let x = values(NODES * WIDTH);
    let mut y = vec![0.0; NODES * WIDTH];
    let mut group = criterion.benchmark_group("dense");
    group.sample_size(10);
    let weight = values(WIDTH * WIDTH);
    let weight = Matrix::new(&weight, WIDTH, WIDTH);
    let operations = Throughput::Elements((2 * NODES * WIDTH * WIDTH) as u64);
    let elements = Throughput::Elements((NODES * WIDTH) as u64);
    bench(&mut group, "matmul", operations.clone(), || matmul(&x, weight, None, &mut y, false));
    bench(&mut group, "matmul over rows", operations.clone(), || {
        black_box(matmul_over_rows(&x, &y, WIDTH, WIDTH));
    });
    let (half, mut half_y) = (narrow(&x), narrow(&y));
    bench(&mut group, "matmul of bf16", operations.clone(), || {
        matmul_bf16(&half, weight, None, &mut half_y, false);
    });
    bench(&mut group, "matmul over rows of bf16", operations, || {
        black_box(matmul_over_rows_bf16(&half, &half_y, WIDTH, WIDTH));
    });
    let key = DropoutKey { seed: 1, epoch: 1, layer: 1 };
    let nodes: Vec<i64> = (0..NODES as i64).collect();
    let bytes = Throughput::Bytes((NODES * WIDTH * 4) as u64);
    bench(&mut group, "check of features", bytes, || {
        black_box(first_not_finite(&x));
    });
    bench(&mut group, "dropout", elements, || dropout(key, 0.5, &nodes, WIDTH, &mut y));
    group.finish();
}

fn kernels(criterion: &mut Criterion) {
    // Two threads, like the other trainers in BENCHMARKS.md.
    rayon::ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
    memory(criterion);
    sparse(criterion);
    zeros(criterion);
    dense(criterion);
}

criterion_group!(benches, kernels);
criterion_main!(benches);
