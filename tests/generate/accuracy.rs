//! Guards against: graphs on which a graph neural network learns nothing, or no more than features alone show.

use std::path::Path;

use assert_cmd::cargo::cargo_bin_cmd;

use crate::support::{KINDS, Whole, config, ignore, whole};
use sar::prepare::generate::{GeneratorConfig, generate};

/// Test accuracy of the program's own training after 30 epochs.
fn trained(json: &Path, out: &Path) -> f64 {
    let run = cargo_bin_cmd!("sar-single")
        .arg("--part-json")
        .arg(json)
        .args(["--epochs", "30", "--out"])
        .arg(out)
        .assert()
        .success();
    let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    let (_, last) = text.rsplit_once("trained: ").unwrap();
    let (_, test) = last.lines().next().unwrap().rsplit_once("test ").unwrap();
    test.trim().trim_end_matches(" %").parse::<f64>().unwrap() / 100.0
}

/// Test accuracy of the best classifier of single rows for noise that is the same in all directions: the nearest mean of
/// the training nodes of a class.
fn from_features_alone(graph: &Whole, classes: usize) -> f64 {
    let width = graph.features.len() / graph.labels.len();
    let rows: Vec<&[f32]> = graph.features.chunks(width).collect();
    let mut means = vec![vec![0.0; width]; classes];
    let members = |class: usize| {
        let all = graph.labels.iter().zip(&graph.masks[0]).enumerate();
        all.filter(move |(_, (label, train))| **label == class as i64 && **train == 1)
    };
    for (class, mean) in means.iter_mut().enumerate() {
        let size = members(class).count() as f32;
        for (node, _) in members(class) {
            mean.iter_mut().zip(rows[node]).for_each(|(m, x)| *m += x / size);
        }
    }
    let distance =
        |row: &[f32], mean: &[f32]| row.iter().zip(mean).map(|(x, m)| (x - m).powi(2)).sum::<f32>();
    let right = |node: usize| {
        let distances = means.iter().map(|mean| distance(rows[node], mean));
        let nearest = distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
        graph.labels[node] == nearest as i64
    };
    let tested: Vec<usize> = (0..rows.len()).filter(|node| graph.masks[2][*node] == 1).collect();
    tested.iter().filter(|node| right(**node)).count() as f64 / tested.len() as f64
}

#[test]
fn training_classifies_most_test_nodes_and_far_more_than_features_alone() {
    for kind in KINDS {
        let config = GeneratorConfig { num_parts: 1, ..config(kind) };
        let folder = tempfile::tempdir().unwrap();
        let json = generate(&config, &folder.path().join("g"), &mut ignore).unwrap().json;
        let alone = from_features_alone(&whole(&json), 5);
        let trained = trained(&json, &folder.path().join("run"));
        assert!((0.8..0.95).contains(&trained), "{kind:?}: {trained}");
        assert!((0.5..trained - 0.08).contains(&alone), "{kind:?}: {alone}, trained {trained}");
    }
}
