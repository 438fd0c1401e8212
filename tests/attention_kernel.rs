//! Attention in one pass against softmax in two, with extreme scores, cut into shards; dense products against loops.
#![allow(clippy::unwrap_used)]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sar::graph::Csr;
use sar::kernels::{
    AdditiveScore, Attention, AttentionDropout, Destinations, DropoutKey, Matrix, matmul,
    matmul_over_rows,
};

const ROWS: usize = 120;
const COLS: usize = 90;
const HEADS: usize = 3;
/// More than the inner product adds at a time, and no multiple of it.
const WIDTH: usize = 19;
const SLOPE: f64 = 0.2;

struct Problem {
    edges: Vec<(u32, u32)>,
    src: Vec<f64>,
    dst: Vec<f64>,
    messages: Vec<f64>,
}

/// Scores up to `scale`; the last ten rows have no edges, row 0 has thousands.
fn problem(scale: f64) -> Problem {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut edges: Vec<(u32, u32)> = (0..900)
        .map(|_| (rng.random_range(0..ROWS as u32 - 10), rng.random_range(0..COLS as u32)))
        .collect();
    edges.extend((0..3000).map(|i| (0, i % COLS as u32)));
    let mut values = |len: usize, scale: f64| -> Vec<f64> {
        (0..len).map(|_| rng.random_range(-scale..scale)).collect()
    };
    let src = values(COLS * HEADS, scale);
    let dst = values(ROWS * HEADS, scale);
    Problem { edges, src, dst, messages: values(COLS * HEADS * WIDTH, 1.0) }
}

fn graph(edges: &[(u32, u32)]) -> Csr {
    let (rows, cols): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
    Csr::from_entries(ROWS, COLS, &rows, &cols).0
}

impl Problem {
    fn score(&self, (row, col): (u32, u32), head: usize) -> f64 {
        let sum = self.src[col as usize * HEADS + head] + self.dst[row as usize * HEADS + head];
        if sum > 0.0 { sum } else { SLOPE * sum }
    }

    /// Attention that drops a quarter of the edges.
    fn dropping<'a>(
        &'a self,
        ids: &'a [i64],
        epoch: u32,
        messages: &'a [f64],
    ) -> Attention<'a, f64, AdditiveScore<'a, f64>> {
        let key = DropoutKey { seed: 3, epoch, layer: 1 };
        let (src_ids, dst_ids) = (&ids[..COLS], &ids[..ROWS]);
        Attention {
            score: AdditiveScore { src: &self.src, dst: &self.dst, heads: HEADS, slope: SLOPE },
            messages,
            heads: HEADS,
            width: WIDTH,
            dropout: Some(AttentionDropout { key, probability: 0.25, src_ids, dst_ids }),
        }
    }

    /// The attention of each edge and head: maximum first, then exponentials.
    fn two_passes(&self) -> Vec<f64> {
        let mut largest = vec![f64::NEG_INFINITY; ROWS * HEADS];
        let place = |row: u32, head: usize| row as usize * HEADS + head;
        let all = || self.edges.iter().flat_map(|edge| (0..HEADS).map(move |head| (*edge, head)));
        for (edge, head) in all() {
            let largest = &mut largest[place(edge.0, head)];
            *largest = largest.max(self.score(edge, head));
        }
        let exponential = |(edge, head): ((u32, u32), usize)| {
            (self.score(edge, head) - largest[place(edge.0, head)]).exp()
        };
        let mut sums = vec![0.0; ROWS * HEADS];
        for (edge, head) in all() {
            sums[place(edge.0, head)] += exponential((edge, head));
        }
        all().map(|(edge, head)| exponential((edge, head)) / sums[place(edge.0, head)]).collect()
    }
}

fn assert_close(what: &str, ours: &[f64], expected: &[f64]) {
    assert_eq!(ours.len(), expected.len());
    for (i, (a, b)) in ours.iter().zip(expected).enumerate() {
        assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{what}[{i}]: {a} instead of {b}");
    }
}

#[test]
fn one_pass_over_shards_is_softmax_in_two_passes_with_any_scores() {
    for scale in [1.0, 1e4] {
        let p = problem(scale);
        let alpha = p.two_passes();
        let columns = HEADS * WIDTH;
        let mut expected = vec![0.0; ROWS * columns];
        for (i, &(row, col)) in p.edges.iter().enumerate() {
            for j in 0..columns {
                let message = p.messages[col as usize * columns + j];
                expected[row as usize * columns + j] += alpha[i * HEADS + j / WIDTH] * message;
            }
        }

        let attention = || Attention {
            score: AdditiveScore { src: &p.src, dst: &p.dst, heads: HEADS, slope: SLOPE },
            messages: &p.messages,
            heads: HEADS,
            width: WIDTH,
            dropout: None,
        };
        let mut largest = vec![f64::NEG_INFINITY; ROWS * HEADS];
        let mut sum = vec![0.0; ROWS * HEADS];
        let mut y = vec![0.0; ROWS * columns];
        let shards: Vec<Csr> = p.edges.chunks(1000).map(graph).collect();
        for shard in &shards {
            attention().accumulate(shard, &mut largest, &mut sum, &mut y);
        }
        for (row, y) in y.chunks_exact_mut(WIDTH).enumerate() {
            let sum = if sum[row] > 0.0 { sum[row] } else { 1.0 };
            for v in y {
                *v /= sum;
            }
        }
        assert_close("output", &y, &expected);

        // gy is the output of another row, so that it is not a multiple of y.
        let gy: Vec<f64> = (0..y.len()).map(|i| ((i * 7) as f64).sin()).collect();
        let pairs = y.chunks_exact(WIDTH).zip(gy.chunks_exact(WIDTH));
        let delta: Vec<f64> =
            pairs.map(|(y, g)| y.iter().zip(g).map(|(y, g)| y * g).sum()).collect();
        let log_sum: Vec<f64> = sum.iter().map(|sum| sum.ln()).collect();
        let (mut gz, mut gsrc) = (vec![0.0; p.messages.len()], vec![0.0; p.src.len()]);
        let mut gdst = vec![0.0; p.dst.len()];
        let of = Destinations { largest: &largest, log_sum: &log_sum, delta: &delta, gy: &gy };
        for shard in &shards {
            attention().destination_adjoint(shard, of, &mut gdst);
            attention().source_adjoint(&shard.transpose().0, of, &mut gz, &mut gsrc);
        }
        let (mut expected_z, mut expected_src) = (vec![0.0; gz.len()], vec![0.0; gsrc.len()]);
        let mut expected_dst = vec![0.0; gdst.len()];
        for (i, &(row, col)) in p.edges.iter().enumerate() {
            let (row, col) = (row as usize, col as usize);
            for head in 0..HEADS {
                let alpha = alpha[i * HEADS + head];
                let places = (head * WIDTH..(head + 1) * WIDTH)
                    .map(|j| (row * columns + j, col * columns + j));
                let mut product = 0.0;
                for (at_row, at_col) in places {
                    expected_z[at_col] += alpha * gy[at_row];
                    product += gy[at_row] * p.messages[at_col];
                }
                let sum = p.src[col * HEADS + head] + p.dst[row * HEADS + head];
                let slope = if sum > 0.0 { 1.0 } else { SLOPE };
                let ds = alpha * (product - delta[row * HEADS + head]) * slope;
                expected_src[col * HEADS + head] += ds;
                expected_dst[row * HEADS + head] += ds;
            }
        }
        assert_close("messages", &gz, &expected_z);
        assert_close("sources", &gsrc, &expected_src);
        assert_close("destinations", &gdst, &expected_dst);
    }
}

/// Beside scores of 2^24, single precision has no logarithm of 2.
#[test]
fn large_scores_are_divided_as_small_ones() {
    let large = 2f32.powi(24);
    let by_dst = Csr::from_entries(1, 2, &[0, 0], &[0, 1]).0;
    let score = AdditiveScore { src: &[large; 2], dst: &[0.0], heads: 1, slope: 0.2 };
    let attention = Attention { score, messages: &[1.0, 3.0], heads: 1, width: 1, dropout: None };
    let (mut largest, mut sum, mut y) = ([f32::NEG_INFINITY], [0.0], [0.0]);
    attention.accumulate(&by_dst, &mut largest, &mut sum, &mut y);
    assert_eq!((largest, sum, y), ([large], [2.0], [4.0]));
    let log_sum = sum.map(f32::ln);
    let of = Destinations { largest: &largest, log_sum: &log_sum, delta: &[2.0], gy: &[1.0] };
    let (mut messages, mut scores) = ([0.0; 2], [0.0; 2]);
    attention.source_adjoint(&by_dst.transpose().0, of, &mut messages, &mut scores);
    let near = |values: [f32; 2], expected: [f32; 2]| {
        values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() < 1e-6)
    };
    assert!(near(messages, [0.5, 0.5]) && near(scores, [-0.5, 0.5]), "{messages:?} {scores:?}");
}

/// Dropout has the expectation 1, is the same forwards and backwards, and differs between epochs.
#[test]
fn dropped_edges_are_the_same_in_the_adjoint() {
    let p = problem(1.0);
    let shard = graph(&p.edges);
    let ids: Vec<i64> = (0..ROWS.max(COLS) as i64).collect();
    let forward = |epoch, messages: &[f64]| {
        let mut largest = vec![f64::NEG_INFINITY; ROWS * HEADS];
        let (mut sum, mut y) = (vec![0.0; ROWS * HEADS], vec![0.0; ROWS * HEADS * WIDTH]);
        p.dropping(&ids, epoch, messages).accumulate(&shard, &mut largest, &mut sum, &mut y);
        for (y, sum) in y.chunks_exact_mut(WIDTH).zip(&sum) {
            for y in y {
                *y /= if *sum > 0.0 { *sum } else { 1.0 };
            }
        }
        let log_sum: Vec<f64> = sum.iter().map(|sum| sum.ln()).collect();
        (y, largest, log_sum)
    };

    // Of rows of ones remains what the factors of the edges sum to.
    let ones = vec![1.0; p.messages.len()];
    let kept: Vec<f64> = forward(0, &ones).0.into_iter().step_by(WIDTH).collect();
    let with_edges = &kept[..(ROWS - 10) * HEADS];
    let mean = with_edges.iter().sum::<f64>() / with_edges.len() as f64;
    assert!((mean - 1.0).abs() < 0.1, "{mean}");
    assert!(with_edges.iter().any(|kept| (kept - 1.0).abs() > 0.05));
    assert!(kept != forward(1, &ones).0.into_iter().step_by(WIDTH).collect::<Vec<_>>());

    let (y, largest, log_sum) = forward(0, &p.messages);
    let gy: Vec<f64> = (0..y.len()).map(|i| ((i * 7) as f64).sin()).collect();
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let pairs = y.chunks_exact(WIDTH).zip(gy.chunks_exact(WIDTH));
    let delta: Vec<f64> = pairs.map(|(y, g)| product(y, g)).collect();
    let of = Destinations { largest: &largest, log_sum: &log_sum, delta: &delta, gy: &gy };
    let (mut gz, mut gsrc) = (vec![0.0; p.messages.len()], vec![0.0; p.src.len()]);
    p.dropping(&ids, 0, &p.messages).source_adjoint(&shard.transpose().0, of, &mut gz, &mut gsrc);
    // The result is linear in the messages.
    assert_close("messages", &[product(&gz, &p.messages)], &[product(&gy, &y)]);
    let mut gdst = vec![0.0; p.dst.len()];
    p.dropping(&ids, 0, &p.messages).destination_adjoint(&shard, of, &mut gdst);
    // A score is a function of the sum of both ends' terms.
    assert_close("scores", &[gdst.iter().sum()], &[gsrc.iter().sum()]);
}

#[test]
fn products_are_sums_of_products() {
    for (rows, k, n) in [(0, 3, 4), (1, 1, 1), (5, 7, 3), (2500, 16, 33), (3, 0, 2), (4, 2, 0)] {
        let value = |i: usize| ((i * 31) % 17) as f64 - 8.0;
        let a: Vec<f64> = (0..rows * k).map(value).collect();
        let b: Vec<f64> = (0..k * n).map(|i| value(i + 5)).collect();
        let bias: Vec<f64> = (0..n).map(value).collect();
        let cell =
            |i: usize, j: usize| -> f64 { (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum() };
        for add in [false, true] {
            let mut y = vec![2.0; rows * n];
            matmul(&a, Matrix::new(&b, k, n), Some(&bias), &mut y, add);
            let before = if add { 2.0 } else { 0.0 };
            for i in 0..rows {
                for j in 0..n {
                    assert!((y[i * n + j] - before - bias[j] - cell(i, j)).abs() < 1e-9);
                }
            }
        }
        if k > 0 && n > 0 {
            let c: Vec<f64> = (0..rows * n).map(|i| value(i + 3)).collect();
            let product = matmul_over_rows(&a, &c, k, n);
            for i in 0..k {
                for j in 0..n {
                    let sum: f64 = (0..rows).map(|r| a[r * k + i] * c[r * n + j]).sum();
                    assert!((product[i * n + j] - sum).abs() < 1e-9);
                }
            }
        }
    }
}
