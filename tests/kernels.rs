//! Every kernel compared with a naive loop over edges, and every adjoint checked by its definition: the inner product of an
//! output with its gradient equals that of the input with its gradient.
#![allow(clippy::unwrap_used)]

use half::bf16;
use proptest::prelude::*;
use sar::graph::{GraphShard, ShardBuilder};
use sar::kernels::{
    DropoutKey, EdgeSoftmax, EdgeSum, Element, Matrix, NO_SOURCE, Selection, Spmm, dropout,
    gather_rows, matmul, matmul_bf16, matmul_bf16_in_place, matmul_in_place, relu, relu_adjoint,
    scatter_add_rows, select, select_adjoint, typed_sum, typed_sum_adjoint,
};

#[derive(Debug, Clone)]
struct Problem {
    rows: usize,
    cols: usize,
    width: usize,
    edges: Vec<(u32, u32, f32)>,
    x: Vec<f64>,
    gy: Vec<f64>,
}

/// Small graphs with empty rows, parallel edges and widths that are not multiples of anything; and larger ones, which are cut
/// into blocks for threads.
fn problems() -> impl Strategy<Value = Problem> {
    let sizes =
        prop_oneof![(0..12_usize, 1..9_usize, 1..8_usize, 0..60_usize), Just((900, 700, 33, 6000))];
    sizes.prop_flat_map(|(rows, cols, width, edges)| {
        let edges = if rows == 0 { 0 } else { edges };
        let edge = (0..cols as u32, 0..rows.max(1) as u32, 0.1_f32..2.0);
        let value = -1.0_f64..1.0;
        (
            prop::collection::vec(edge, edges),
            prop::collection::vec(value.clone(), cols * width),
            prop::collection::vec(value, rows * width),
        )
            .prop_map(move |(edges, x, gy)| Problem { rows, cols, width, edges, x, gy })
    })
}

impl Problem {
    fn shard(&self) -> GraphShard {
        let mut builder = ShardBuilder::default();
        for &(src, dst, weight) in &self.edges {
            builder.push(src, dst);
            builder.push_weight(weight);
        }
        builder.build(self.rows, self.cols, true).unwrap().0
    }
}

fn factors(len: usize) -> Vec<f64> {
    (0..len).map(|i| 0.5 + (i % 7) as f64).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn assert_close(ours: &[f64], expected: &[f64]) {
    assert_eq!(ours.len(), expected.len());
    for (i, (a, b)) in ours.iter().zip(expected).enumerate() {
        assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "[{i}]: {a} instead of {b}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn spmm_is_the_sum_over_edges_and_the_transpose_is_its_adjoint(
        p in problems(), weighted: bool, row_scaled: bool, col_scaled: bool,
    ) {
        let shard = p.shard();
        let (row_scale, col_scale) = (factors(p.rows), factors(p.cols));
        let mut expected = vec![1.0; p.rows * p.width];
        for &(src, dst, weight) in &p.edges {
            let mut factor = if weighted { f64::from(weight) } else { 1.0 };
            factor *= if row_scaled { row_scale[dst as usize] } else { 1.0 };
            factor *= if col_scaled { col_scale[src as usize] } else { 1.0 };
            for j in 0..p.width {
                expected[dst as usize * p.width + j] += factor * p.x[src as usize * p.width + j];
            }
        }
        let [by_dst, by_src] = [&shard.by_dst, &shard.by_src]
            .map(|edges| (&edges.ends, edges.weights.as_deref().filter(|_| weighted)));
        let row_scale = row_scaled.then_some(&*row_scale);
        let col_scale = col_scaled.then_some(&*col_scale);
        let forward =
            Spmm { graph: by_dst.0, weights: by_dst.1, row_scale, col_scale };
        let mut y = vec![1.0; p.rows * p.width];
        forward.add_to(&p.x, p.width, &mut y);
        assert_close(&y, &expected);

        let adjoint = Spmm {
            graph: by_src.0,
            weights: by_src.1,
            row_scale: col_scale,
            col_scale: row_scale,
        };
        let mut gx = vec![0.0; p.cols * p.width];
        adjoint.add_to(&p.gy, p.width, &mut gx);
        let sums: Vec<f64> = y.iter().map(|y| y - 1.0).collect();
        assert_close(&[dot(&gx, &p.x)], &[dot(&p.gy, &sums)]);
    }

    #[test]
    fn selection_is_the_extreme_over_edges_and_its_gradient_goes_to_one_of_them(
        p in problems(), min: bool,
    ) {
        let shard = p.shard();
        let selection = if min { Selection::Min } else { Selection::Max };
        let mut expected: Vec<Option<f64>> = vec![None; p.rows * p.width];
        for &(src, dst, _) in &p.edges {
            for j in 0..p.width {
                let x = p.x[src as usize * p.width + j];
                let best = &mut expected[dst as usize * p.width + j];
                *best = Some(best.map_or(x, |b| if min { b.min(x) } else { b.max(x) }));
            }
        }
        let base = 100;
        let mut value = vec![0.0; p.rows * p.width];
        let mut argument = vec![NO_SOURCE; value.len()];
        select(&shard.by_dst.ends, selection, &p.x, p.width, base, &mut value, &mut argument);
        let filled: Vec<f64> = expected.iter().map(|v| v.unwrap_or(0.0)).collect();
        assert_close(&value, &filled);

        let mut naive = vec![0.0; p.cols * p.width];
        for (i, &argument) in argument.iter().enumerate() {
            assert_eq!(argument == NO_SOURCE, expected[i].is_none());
            if argument != NO_SOURCE {
                naive[(argument - base) as usize * p.width + i % p.width] += p.gy[i];
            }
        }
        let mut gx = vec![0.0; naive.len()];
        select_adjoint(&shard.by_src.ends, &argument, &p.gy, p.width, base, &mut gx);
        assert_close(&gx, &naive);
    }

    #[test]
    fn a_sum_by_edge_type_is_the_loop_over_edges_and_the_transpose_is_its_adjoint(
        p in problems(), types in 1..4_usize,
    ) {
        let edge_types: Vec<u16> = (0..p.edges.len()).map(|i| (i * 5 % types) as u16).collect();
        let mut builder = ShardBuilder::default();
        let columns = types * p.width;
        let mut expected = vec![1.0; p.rows * columns];
        for (&(src, dst, _), &etype) in p.edges.iter().zip(&edge_types) {
            builder.push(src, dst);
            builder.push_type(etype);
            for j in 0..p.width {
                let place = dst as usize * columns + etype as usize * p.width + j;
                expected[place] += p.x[src as usize * p.width + j];
            }
        }
        let shard = builder.build(p.rows, p.cols, true).unwrap().0;
        let [by_dst, by_src] = [&shard.by_dst, &shard.by_src]
            .map(|edges| (&edges.ends, edges.types.as_deref().unwrap_or_default()));
        let mut y = vec![1.0; expected.len()];
        typed_sum(by_dst.0, by_dst.1, types, p.width, &p.x, &mut y);
        assert_close(&y, &expected);

        let gy = factors(y.len());
        let mut gx = vec![0.0; p.x.len()];
        typed_sum_adjoint(by_src.0, by_src.1, types, p.width, &gy, &mut gx);
        let sums: Vec<f64> = y.iter().map(|y| y - 1.0).collect();
        assert_close(&[dot(&gx, &p.x)], &[dot(&gy, &sums)]);
    }

    /// The edges come in two shards, as from two ranks.
    #[test]
    fn softmax_over_in_edges_is_the_loop_over_edges_and_so_is_its_adjoint(p in problems()) {
        let (heads, half) = (p.width, p.edges.len() / 2);
        let shards = [&p.edges[..half], &p.edges[half..]].map(|edges| {
            Problem { edges: edges.to_vec(), ..p.clone() }.shard().by_dst.ends
        });
        let softmax = || shards.iter().map(|by_dst| EdgeSoftmax { by_dst, heads });
        // In the order of the shards: the destination of each edge.
        let destinations: Vec<Vec<usize>> = shards.iter().map(|by_dst| {
            let rows = by_dst.rows().iter().enumerate();
            rows.flat_map(|(i, &row)| by_dst.columns(i).iter().map(move |_| row as usize)).collect()
        }).collect();
        let values = |shard: usize, step: f64| -> Vec<f64> {
            let len = destinations[shard].len() * heads;
            (0..len).map(|i| 3.0 * ((i + 50 * shard) as f64 * step).sin()).collect()
        };
        let mut scores = [values(0, 0.7), values(1, 0.7)];
        // Some destinations have masked edges only in the first shard.
        for (edge, dst) in destinations[0].iter().enumerate() {
            if dst % 2 == 0 && destinations[1].contains(dst) {
                scores[0][edge * heads..][..heads].fill(f64::NEG_INFINITY);
            }
        }
        let gy = [values(0, 1.3), values(1, 1.3)];
        // Of each edge and value: its place in an array, and in one with a row for each destination.
        let places = |shard: usize| {
            let edges = destinations[shard].iter().enumerate();
            edges.flat_map(move |(edge, dst)| (0..heads).map(move |h| (edge * heads + h, dst * heads + h)))
        };

        let mut total = vec![0.0; p.rows * heads];
        for (shard, scores) in scores.iter().enumerate() {
            places(shard).for_each(|(edge, dst)| total[dst] += scores[edge].exp());
        }
        let mut largest = vec![f64::NEG_INFINITY; p.rows * heads];
        let mut sum = vec![0.0; p.rows * heads];
        softmax().zip(&scores).for_each(|(s, scores)| s.accumulate(scores, &mut largest, &mut sum));
        let mut y = [vec![0.0; scores[0].len()], vec![0.0; scores[1].len()]];
        for (shard, softmax) in softmax().enumerate() {
            softmax.normalise(&scores[shard], &largest, &sum, &mut y[shard]);
            let expected: Vec<f64> =
                places(shard).map(|(edge, dst)| scores[shard][edge].exp() / total[dst]).collect();
            assert_close(&y[shard], &expected);
        }

        let mut expected_delta = vec![0.0; p.rows * heads];
        let mut delta = expected_delta.clone();
        for (shard, softmax) in softmax().enumerate() {
            softmax.inner_products(&y[shard], &gy[shard], &mut delta);
            places(shard).for_each(|(edge, dst)| expected_delta[dst] += y[shard][edge] * gy[shard][edge]);
        }
        assert_close(&delta, &expected_delta);
        for (shard, softmax) in softmax().enumerate() {
            let mut gscores = vec![0.0; scores[shard].len()];
            softmax.adjoint(&y[shard], &gy[shard], &delta, &mut gscores);
            let expected: Vec<f64> = places(shard)
                .map(|(edge, dst)| y[shard][edge] * (gy[shard][edge] - delta[dst]))
                .collect();
            assert_close(&gscores, &expected);
        }
    }

    #[test]
    fn rows_are_gathered_and_added_back(p in problems(), step in 1..4_usize) {
        let rows: Vec<u32> = (0..p.cols as u32).step_by(step).collect();
        let mut picked = vec![0.0; rows.len() * p.width];
        gather_rows(&p.x, p.width, &rows, &mut picked);
        for (i, &row) in rows.iter().enumerate() {
            let source = &p.x[row as usize * p.width..][..p.width];
            assert_close(&picked[i * p.width..][..p.width], source);
        }
        let mut sum = p.x.clone();
        scatter_add_rows(&picked, p.width, &rows, &mut sum);
        for (i, (sum, x)) in sum.iter().zip(&p.x).enumerate() {
            let times = if (i / p.width).is_multiple_of(step) { 2.0 } else { 1.0 };
            assert_close(&[*sum], &[times * x]);
        }
    }
}

#[test]
fn dropout_depends_on_node_and_column_alone_and_keeps_the_right_share() {
    let key = DropoutKey { seed: 9, epoch: 3, layer: 1 };
    let (nodes, width) = (5000, 37);
    let x = vec![1.0_f64; nodes * width];
    let mut whole = x.clone();
    let ids: Vec<i64> = (0..nodes as i64).map(|i| (1 << 40) + i).collect();
    dropout(key, 0.3, &ids, width, &mut whole);
    let kept = whole.iter().filter(|v| **v != 0.0).count() as f64 / x.len() as f64;
    // 185,000 draws: five standard deviations are 0.0053.
    assert!((kept - 0.7).abs() < 0.0053, "{kept}");
    assert!(whole.iter().all(|v| *v == 0.0 || (v - 1.0 / 0.7).abs() < 1e-12));

    // The same nodes in another partition.
    let mut part = x[..1000 * width].to_vec();
    dropout(key, 0.3, &ids[2000..3000], width, &mut part);
    assert_eq!(part, whole[2000 * width..3000 * width]);

    for other in [
        DropoutKey { seed: 10, ..key },
        DropoutKey { epoch: 4, ..key },
        DropoutKey { layer: 2, ..key },
    ] {
        let mut different = x.clone();
        dropout(other, 0.3, &ids, width, &mut different);
        let kept = |mask: &[f64]| mask.iter().map(|v| *v != 0.0).collect::<Vec<_>>();
        let pairs = kept(&different).into_iter().zip(kept(&whole));
        let same = pairs.filter(|(a, b)| a == b).count() as f64;
        // Independent masks agree on 0.7 * 0.7 + 0.3 * 0.3 of the elements.
        assert!((same / x.len() as f64 - 0.58).abs() < 0.006);
    }
}

#[test]
fn the_adjoint_of_relu_and_dropout_takes_their_result_for_their_input() {
    let key = DropoutKey { seed: 9, epoch: 3, layer: 1 };
    let (nodes, width) = (700, 37);
    let ids: Vec<i64> = (0..nodes as i64).collect();
    let x: Vec<f64> = (0..nodes * width).map(|i| (i as f64 * 0.7).sin()).collect();
    let gy: Vec<f64> = (0..nodes * width).map(|i| (i as f64 * 0.3).cos()).collect();
    let mut y = x.clone();
    relu(&mut y);
    assert_eq!(y, x.iter().map(|x| x.max(0.0)).collect::<Vec<_>>());
    dropout(key, 0.5, &ids, width, &mut y);
    let mut ours = gy.clone();
    relu_adjoint(&y, 2.0, &mut ours);
    // The mask, applied to the gradient, and then the derivative at the input.
    let mut gx = gy;
    dropout(key, 0.5, &ids, width, &mut gx);
    let gx: Vec<f64> = gx.iter().zip(&x).map(|(g, x)| if *x > 0.0 { *g } else { 0.0 }).collect();
    assert_eq!(ours, gx);
}

#[test]
fn a_product_in_place_has_the_bits_of_one_beside_it() {
    for (rows, side) in [(2500, 48), (3, 7), (0, 5), (1024, 1)] {
        let values = |len: usize| (0..len).map(|i| (i as f32 * 0.37).sin()).collect::<Vec<_>>();
        let (mut x, weight) = (values(rows * side), values(side * side));
        let weight = Matrix::new(&weight, side, side).transpose();
        let mut y = vec![0.0; x.len()];
        matmul(&x, weight, None, &mut y, false);
        let mut narrow: Vec<bf16> = x.iter().map(|x| bf16::nearest(*x)).collect();
        let mut narrow_y = narrow.clone();
        matmul_bf16(&narrow, weight, None, &mut narrow_y, false);
        matmul_in_place(&mut x, weight);
        assert_eq!(x, y);
        matmul_bf16_in_place(&mut narrow, weight);
        assert_eq!(narrow, narrow_y);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_sum_with_factors_per_edge_is_the_loop_over_edges_and_its_adjoints_match(
        p in problems(), heads in 1..4_usize,
    ) {
        let columns = heads * p.width;
        let repeat = |v: &[f64]| -> Vec<f64> { v.chunks(p.width).flat_map(|row| row.repeat(heads)).collect() };
        let (x, gy) = (repeat(&p.x), repeat(&p.gy));
        let (by_dst, _) = {
            let (dst, src): (Vec<u32>, Vec<u32>) = p.edges.iter().map(|e| (e.1, e.0)).unzip();
            sar::graph::Csr::from_entries(p.rows, p.cols, &dst, &src)
        };
        let (by_src, places) = by_dst.transpose();
        let factors: Vec<f64> = (0..p.edges.len() * heads).map(|i| (i as f64 * 0.7).sin()).collect();
        let forward = EdgeSum { graph: &by_dst, places: None, heads, width: p.width };
        let backward = EdgeSum { graph: &by_src, places: Some(&places), heads, width: p.width };

        let mut expected = vec![1.0; p.rows * columns];
        let mut entry = 0;
        for (i, &row) in by_dst.rows().iter().enumerate() {
            for &col in by_dst.columns(i) {
                for j in 0..columns {
                    let factor = factors[entry * heads + j / p.width];
                    expected[row as usize * columns + j] += factor * x[col as usize * columns + j];
                }
                entry += 1;
            }
        }
        let mut y = vec![1.0; p.rows * columns];
        forward.add_to(&factors, &x, &mut y);
        for (y, e) in y.iter().zip(&expected) {
            prop_assert!((y - e).abs() < 1e-9, "{y} {e}");
        }
        let mut gx = vec![0.0; p.cols * columns];
        backward.add_to(&factors, &gy, &mut gx);
        let mut gfactors = vec![0.0; factors.len()];
        forward.inner_products(&x, &gy, &mut gfactors);
        let plain: Vec<f64> = y.iter().map(|y| y - 1.0).collect();
        prop_assert!((dot(&plain, &gy) - dot(&gx, &x)).abs() < 1e-6);
        prop_assert!((dot(&plain, &gy) - dot(&gfactors, &factors)).abs() < 1e-6);
    }
}
