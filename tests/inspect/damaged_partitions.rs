//! Guards against: one damaged partition that hides the others, or an error that does not name the wrong file.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;

use crate::support::{copy, inspect};

#[test]
fn the_other_partitions_are_shown_and_the_file_is_named() {
    let folder = copy("data/karate");
    let path = folder.path().join("part1/graph.dgl");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    for flags in [&[][..], &["--verify"]] {
        let shown = inspect(folder.path(), "karate.json").args(flags).assert().code(1);
        let rows = contains("\n        0           17").and(contains("\n        1            ?"));
        shown.stdout(rows).stderr(contains("part1/graph.dgl: "));
    }
}

#[test]
fn a_feature_of_the_wrong_length_is_named() {
    let folder = copy("data/karate");
    fs::copy(folder.path().join("part0/edge_feat.dgl"), folder.path().join("part1/node_feat.dgl"))
        .unwrap();
    let shown = inspect(folder.path(), "karate.json").assert().code(1);
    shown.stderr(
        contains("part1/node_feat.dgl: _N:_E:_N/weight: ")
            .and(contains("error: karate.json: 1 of 2 partitions cannot be opened")),
    );
}

#[test]
fn a_json_file_that_is_none_is_named() {
    let folder = copy("data/karate");
    let shown = inspect(folder.path(), "part0/graph.dgl").assert().code(1);
    shown.stdout("").stderr(contains("part0/graph.dgl: ").and(contains("graph")));
    inspect(folder.path(), "nowhere.json").assert().code(1).stderr(contains("nowhere.json: "));
}
