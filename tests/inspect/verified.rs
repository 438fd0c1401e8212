//! Guards against: a check that passes damaged directories, stops at the first finding, or says nothing about sound ones.

use std::fs;

use predicates::prelude::*;
use predicates::str::{contains, ends_with};

use sar::formats::dgl::Partition;
use sar::formats::dgl::config::PartitionConfig;

use crate::common::repository;
use crate::support::{copy, inspect};

#[test]
fn a_sound_directory_gets_one_line_more() {
    for json in ["data/karate/karate.json", "tests/fixtures/hetero/g.json"] {
        let sound = inspect(&repository(""), json).arg("--verify").assert().success();
        sound.stderr("").stdout(ends_with(
            "whether values are those that were written, as the files have no checksums\n",
        ));
    }
}

#[test]
fn every_finding_is_listed_and_the_exit_code_is_1() {
    let folder = copy("data/karate");
    for part in ["part0", "part1"] {
        let path = folder.path().join(part).join("graph.dgl");
        let mut bytes = fs::read(&path).unwrap();
        // The last thing in the file before the names of types and the trailer is the column of edge ids.
        let at = bytes.windows(3).rposition(|name| name == b"_ID").unwrap() + 3 + 48;
        bytes[at..at + 8].copy_from_slice(&7777u64.to_le_bytes());
        fs::write(&path, bytes).unwrap();
    }
    let checked = inspect(folder.path(), "karate.json").arg("--verify").assert().code(1);
    checked.stdout(contains("verified").not()).stderr(
        contains("error: part0/graph.dgl: ")
            .and(contains("error: part1/graph.dgl: "))
            .and(contains("row 0 is 7777"))
            .and(ends_with(" findings\n")),
    );
}

#[test]
fn features_that_are_not_finite_are_found() {
    let folder = copy("data/karate");
    let config = PartitionConfig::open(&folder.path().join("karate.json")).unwrap();
    let partition = Partition::open(&config, 1).unwrap();
    let features = partition.node_features().lookup("features").unwrap()[0].unwrap().array();
    let path = folder.path().join("part1/node_feat.dgl");
    let mut bytes = fs::read(&path).unwrap();
    let at = features.offset() as usize + 4 * (3 * features.row_len() as usize + 1);
    bytes[at..at + 4].copy_from_slice(&f32::INFINITY.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let found = inspect(folder.path(), "karate.json").arg("--verify").assert().code(1);
    found.stderr(contains("part1/node_feat.dgl: _N/features: row 3, column 1 holds inf"));
    inspect(folder.path(), "karate.json").assert().success();
}
