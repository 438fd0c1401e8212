//! Guards against: edges drawn with a wrong frequency. Seeds are fixed, so a test passes or fails for good; a fair sampler
//! would fall below the p-values required here for one graph in a million.

use sar::sampling::stores::{Fanout, GraphSource, IndexConfig, Sampling};

use crate::support::{Opened, key, open, write_graph};

const SMALLEST_P: f64 = 1e-6;
const NODES: u64 = 40_000;

/// Many nodes with the same in-edges: from nodes 0 to `degree - 1`, with these probabilities.
fn star(degree: u64, probabilities: &[f32]) -> (tempfile::TempDir, Opened) {
    let folder = tempfile::tempdir().unwrap();
    let edges: Vec<(u64, u64)> =
        (0..NODES).flat_map(|node| (0..degree).map(move |source| (source, node))).collect();
    let values: Vec<f32> = edges
        .iter()
        .filter_map(|(source, _)| probabilities.get(*source as usize))
        .copied()
        .collect();
    write_graph(folder.path(), NODES, &edges, &values);
    let probability = (!probabilities.is_empty()).then(|| "p".to_owned());
    let opened = open(
        &folder.path().join("g.json"),
        &IndexConfig { weight: None, probability, ends: false, drawn: false },
    );
    (folder, opened)
}

/// Number of nodes that drew each set of sources: a set is a number with one digit of base 8 per source (how often it was
/// drawn).
fn sets(opened: &Opened, fanout: i64, replace: bool, weighted: bool) -> Vec<u64> {
    let how = Sampling { fanout: Fanout::Total(fanout), replace, weighted };
    let nodes: Vec<u64> = (0..NODES).collect();
    let drawn = opened.graph.sample_neighbors(&nodes, &how, key(0)).unwrap();
    let mut sources = drawn.sources.iter();
    let set = |count: &u32| (0..*count).map(|_| 8_u64.pow(*sources.next().unwrap() as u32)).sum();
    drawn.counts.iter().map(set).collect()
}

/// Pearson's test of outcomes against their exact distribution.
fn check(what: &str, outcomes: &[u64], expected: &[(u64, f64)]) {
    let total: f64 = expected.iter().map(|(_, p)| p).sum();
    assert!((total - 1.0).abs() < 1e-9, "{what}: probabilities sum to {total}");
    let mut statistic = 0.0;
    let mut counted = 0;
    for (outcome, probability) in expected {
        let count = outcomes.iter().filter(|o| *o == outcome).count();
        let due = probability * outcomes.len() as f64;
        assert!(due > 5.0, "{what}: too few of an outcome for the test");
        statistic += (count as f64 - due).powi(2) / due;
        counted += count;
    }
    assert_eq!(counted, outcomes.len(), "{what}: something impossible was drawn");
    if expected.len() == 1 {
        return;
    }
    let p = chi_square_tail(statistic, expected.len() as f64 - 1.0);
    assert!(p > SMALLEST_P, "{what}: p = {p}");
}

/// P(X > statistic) of a chi-square variable, by Wilson and Hilferty's approximation.
fn chi_square_tail(statistic: f64, freedom: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    let z = ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt();
    // The normal tail by Abramowitz and Stegun 26.2.17.
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let polynomial = t
        * (0.319_381_530
            + t * (-0.356_563_782
                + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * polynomial;
    if z > 0.0 { tail } else { 1.0 - tail }
}

/// All ordered draws of `fanout` sources with their probabilities, added up by set.
fn distribution(weights: &[f64], fanout: usize, replace: bool) -> Vec<(u64, f64)> {
    fn draw(
        weights: &[f64],
        left: usize,
        replace: bool,
        (set, probability): (u64, f64),
        all: &mut std::collections::BTreeMap<u64, f64>,
    ) {
        let sum: f64 = weights.iter().sum();
        if left == 0 || sum == 0.0 {
            *all.entry(set).or_default() += probability;
            return;
        }
        for (i, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            let mut rest = weights.to_vec();
            if !replace {
                rest[i] = 0.0;
            }
            let next = (set + 8_u64.pow(i as u32), probability * weight / sum);
            draw(&rest, left - 1, replace, next, all);
        }
    }
    let mut all = std::collections::BTreeMap::new();
    draw(weights, fanout, replace, (0, 1.0), &mut all);
    all.into_iter().collect()
}

#[test]
fn the_test_knows_the_chi_square_distribution() {
    // Table values: the upper 1 % of 10 and of 100 degrees of freedom.
    assert!((chi_square_tail(23.209, 10.0) - 0.01).abs() < 5e-4);
    assert!((chi_square_tail(135.807, 100.0) - 0.01).abs() < 1e-4);
}

#[test]
fn uniform_draws_take_every_set_equally_often() {
    let (_folder, opened) = star(6, &[]);
    for replace in [false, true] {
        for fanout in [1, 2, 3] {
            let expected = distribution(&[1.0; 6], fanout, replace);
            let outcomes = sets(&opened, fanout as i64, replace, false);
            check(&format!("fan-out {fanout}, replace {replace}"), &outcomes, &expected);
        }
    }
}

#[test]
fn weighted_draws_take_sets_with_their_probability() {
    let probabilities = [1.0, 0.5, 0.0, 2.0, 4.0];
    let (_folder, opened) = star(5, &probabilities);
    let weights = probabilities.map(f64::from);
    for replace in [false, true] {
        for fanout in [0, 1, 2, 3] {
            let expected = distribution(&weights, fanout, replace);
            let outcomes = sets(&opened, fanout as i64, replace, true);
            check(&format!("fan-out {fanout}, replace {replace}"), &outcomes, &expected);
        }
    }
    // Edges with probability 0 are never drawn, however many are requested.
    for fanout in [4, 5, -1] {
        let expected = distribution(&weights, 4, false);
        check(&format!("fan-out {fanout}"), &sets(&opened, fanout, false, true), &expected);
    }
}

#[test]
fn draws_of_different_nodes_layers_batches_epochs_and_seeds_are_independent() {
    let (_folder, opened) = star(6, &[]);
    let how = Sampling { fanout: Fanout::Total(1), replace: false, weighted: false };
    let nodes: Vec<u64> = (0..NODES).collect();
    let draw = |key| opened.graph.sample_neighbors(&nodes, &how, key).unwrap().sources;
    let first = draw(key(0));
    let others = [
        sar::sampling::stores::SampleKey { layer: 1, ..key(0) },
        sar::sampling::stores::SampleKey { epoch: 2, ..key(0) },
        sar::sampling::stores::SampleKey { seed: 8, ..key(0) },
        key(1),
    ];
    let uniform: Vec<(u64, f64)> = (0..36).map(|pair| (pair, 1.0 / 36.0)).collect();
    for other in others {
        let pairs: Vec<u64> = first.iter().zip(draw(other)).map(|(a, b)| 6 * a + b).collect();
        check(&format!("{other:?}"), &pairs, &uniform);
    }
    let neighbours: Vec<u64> = first.windows(2).map(|w| 6 * w[0] + w[1]).collect();
    check("neighbouring nodes", &neighbours, &uniform);
}

#[test]
fn a_negative_probability_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_graph(folder.path(), 2, &[(0, 1), (1, 0)], &[0.5, -1.0]);
    let config =
        sar::formats::dgl::config::PartitionConfig::open(&folder.path().join("g.json")).unwrap();
    let keys =
        IndexConfig { weight: None, probability: Some("p".to_owned()), ends: false, drawn: false };
    let index = tempfile::tempdir().unwrap();
    let error =
        sar::sampling::stores::DistGraph::create(&config, &keys, index.path()).err().unwrap();
    assert!(error.to_string().contains("a probability must be finite and at least 0"), "{error}");
    assert_eq!(error.exit_code(), 1);
}
