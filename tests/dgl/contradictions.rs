//! Guards against: a partition that contradicts itself or its JSON file and is trained on all the same.
//!
//! Each case changes one value of a sound partition.

use crate::common::repository;
use crate::support::{copy_folder, inner_edges};
use sar::Error;
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::graph_file::GraphFile;
use sar::formats::dgl::graph_record::GraphRecord;
use sar::formats::dgl::{ArrayRef, Partition, verify};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A copy of the heterogeneous fixture.
struct Copy {
    folder: TempDir,
}

impl Copy {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy_folder(&repository("tests/fixtures/hetero"), folder.path());
        Copy { folder }
    }

    fn json(&self) -> PathBuf {
        self.folder.path().join("g.json")
    }

    /// Overwrites one element of partition 0's structure.
    fn set(&self, array: impl Fn(&GraphRecord) -> ArrayRef, row: u64, value: u64) {
        let path = self.folder.path().join("part0/graph.dgl");
        let file = GraphFile::open(&path).unwrap();
        set(&path, &array(&file.graphs()[0]), row, value);
    }

    fn replace_in_json(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.json()).unwrap();
        assert!(text.contains(from), "{from} is not in the file");
        fs::write(self.json(), text.replacen(from, to, 1)).unwrap();
    }

    fn open_part_0(&self) -> sar::Result<Partition> {
        Partition::open(&PartitionConfig::open(&self.json())?, 0)
    }

    /// The findings of the full check.
    fn findings(&self) -> Vec<String> {
        let findings = verify(&PartitionConfig::open(&self.json()).unwrap());
        findings.iter().map(ToString::to_string).collect()
    }
}

fn set(path: &Path, array: &ArrayRef, row: u64, value: u64) {
    let size = array.dtype().size();
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&value.to_le_bytes()[..size], array.offset() + row * size as u64).unwrap();
}

fn node_column(name: &'static str) -> impl Fn(&GraphRecord) -> ArrayRef {
    move |graph| graph.node_frames[0].get(name).unwrap().clone()
}

fn edge_column(name: &'static str) -> impl Fn(&GraphRecord) -> ArrayRef {
    move |graph| graph.edge_frames[0].get(name).unwrap().clone()
}

fn sources(graph: &GraphRecord) -> ArrayRef {
    graph.relations[0].coo.as_ref().unwrap().row.clone()
}

fn destinations(graph: &GraphRecord) -> ArrayRef {
    graph.relations[0].coo.as_ref().unwrap().col.clone()
}

fn assert_says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{text:?} lacks one of {words:?}");
}

#[test]
fn node_ids_are_checked_when_a_partition_is_opened() {
    let cases: [(&'static str, u64, u64, &'static [&'static str]); 6] = [
        ("_ID", 1, 0, &["_ID", "row 1 is inner node 0, but must be 1"]),
        ("_ID", 0, 9, &["_ID", "outside", "marked as inner"]),
        ("_ID", 8, 2, &["_ID", "inside", "marked as halo"]),
        ("_ID", 8, 99, &["_ID", "row 8 is 99, but the graph has 15 nodes"]),
        ("inner_node", 0, 0, &["_ID", "inside", "marked as halo"]),
        ("inner_node", 0, 2, &["inner_node", "not 0 or 1"]),
    ];
    for (column, row, value, words) in cases {
        let copy = Copy::new();
        copy.set(node_column(column), row, value);
        assert_says(&copy.open_part_0().unwrap_err(), words);
    }
}

#[test]
fn edges_are_checked_when_they_are_read() {
    let read = |copy: &Copy| inner_edges(&copy.open_part_0().unwrap(), 100).unwrap_err();
    let copy = Copy::new();
    copy.set(sources, 3, 77);
    assert_says(&read(&copy), &["graph.dgl", "ends at node 77"]);
    let copy = Copy::new();
    copy.set(destinations, 3, 14);
    assert_says(
        &read(&copy),
        &["inner_edge", "edge 3 is inner, but its destination is a halo node"],
    );
    let copy = Copy::new();
    copy.set(edge_column("_ID"), 3, 40);
    assert_says(&read(&copy), &["_ID", "row 3 is inner edge 40, outside"]);
    let copy = Copy::new();
    copy.set(edge_column("inner_edge"), 3, 0);
    assert_says(
        &read(&copy),
        &["inner_edge", "edge 3 is not inner, but its destination is an inner node"],
    );
    let copy = Copy::new();
    copy.set(edge_column("inner_edge"), 3, 7);
    assert_says(&read(&copy), &["inner_edge", "not 0 or 1"]);
}

#[test]
fn the_full_check_finds_what_reading_does_not_need_to_notice() {
    let inner_edges = 20;
    let cases: [(&'static str, bool, u64, u64, &'static str); 7] = [
        ("_TYPE", true, 0, 1, "_TYPE: row 0 is 1, but by the JSON file it is 0"),
        ("_TYPE", true, 14, 0, "_TYPE: row 14 is 0, but by the JSON file it is 1"),
        ("part_id", true, 14, 0, "part_id: row 14 is 0, but by the JSON file it is 1"),
        ("_TYPE", false, 0, 2, "_TYPE: row 0 is edge type 2, which is not the type of its id"),
        (
            "_ID",
            false,
            1,
            0,
            "_ID: row 1 is 0, which is outside this partition's range or occurs twice",
        ),
        (
            "_ID",
            false,
            inner_edges,
            0,
            "which belongs to this partition though the edge is marked as foreign",
        ),
        ("inner_edge", false, inner_edges, 1, "outside this partition's range or occurs twice"),
    ];
    for (column, of_nodes, row, value, words) in cases {
        let copy = Copy::new();
        let partition = copy.open_part_0().unwrap();
        assert_eq!(partition.num_inner_edges(), inner_edges);
        if of_nodes {
            copy.set(node_column(column), row, value);
        } else {
            copy.set(edge_column(column), row, value);
        }
        let findings = copy.findings();
        assert!(findings.iter().any(|finding| finding.contains(words)), "{words:?}: {findings:?}");
    }
}

#[test]
fn the_full_check_looks_at_halo_edges_and_at_the_types_of_ends() {
    let copy = Copy::new();
    copy.set(destinations, 20, 0);
    assert!(copy.findings()[0].contains("edge 20 and its destination disagree on being inner"));
    let copy = Copy::new();
    copy.set(sources, 20, 1000);
    assert!(copy.findings()[0].contains("edge 20 ends at a node that does not exist"));
    // Edge 0 has the type author:writes:paper; node 3 is a paper.
    let copy = Copy::new();
    copy.set(sources, 0, 3);
    assert!(
        copy.findings()[0].contains("edge 0 does not join the node types of author:writes:paper")
    );
}

#[test]
fn ranges_and_totals_of_the_json_file_must_agree() {
    let cases = [
        ("\"num_nodes\": 15", "\"num_nodes\": 16", "num_nodes: is 16, but the ranges hold 15"),
        ("\"num_edges\": 41", "\"num_edges\": 40", "num_edges: is 40, but the ranges hold 41"),
        ("\"num_parts\": 2", "\"num_parts\": 3", "\"part-2\" is missing"),
        ("\"num_parts\": 2", "\"num_parts\": 0", "must be at least 1"),
        ("\"num_parts\": 2", "\"num_parts\": 1", "has 2 ranges for 1 partitions"),
        ("\"num_nodes\": 15", "\"num_nodes\": -1", "num_nodes: must be a whole number"),
        ("\"author\": 0", "\"author\": 1", "ids must be 0, 1, 2"),
        (
            "\"author:writes:paper\": 0",
            "\"author:writes:book\": 0",
            "is not `src:rel:dst` of known node types",
        ),
        ("\"graph_name\"", "\"name\"", "\"graph_name\" is missing"),
    ];
    for (from, to, words) in cases {
        let copy = Copy::new();
        copy.replace_in_json(from, to);
        assert_says(&PartitionConfig::open(&copy.json()).unwrap_err(), &["g.json", words]);
    }
}

#[test]
fn feature_rows_must_be_as_many_as_nodes_and_alike_in_all_partitions() {
    let copy = Copy::new();
    let (zero, one) = ("part0/node_feat.dgl", "part1/node_feat.dgl");
    fs::copy(copy.folder.path().join(one), copy.folder.path().join(zero)).unwrap();
    let error = copy.open_part_0().unwrap_err();
    assert_says(&error, &["node_feat.dgl", "paper/feat", "requires 5 rows"]);
    let copy = Copy::new();
    let empty = [0xDD5A_9FBE_3FA2_443Fu64, 0, 0].map(u64::to_le_bytes).concat();
    fs::write(copy.folder.path().join(one), empty).unwrap();
    let findings = copy.findings();
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(
        findings[0].contains("does not have the rows (uint8 []) of the partitions before"),
        "{findings:?}"
    );
}
