//! Guards against: archives of a whole graph, masks of several splits, one-hot labels and adjacency lists that are misread.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use sar::io::{Dtype, npy_header};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::as_they_are::{edges, tables};
use super::columns::{refused, sar};
use super::support::write;

/// A `.npy` file of integers.
pub(crate) fn array(dtype: Dtype, shape: &[u64], values: &[i64]) -> Vec<u8> {
    let mut content = npy_header(dtype, shape).unwrap();
    content.extend(values.iter().flat_map(|value| value.to_le_bytes()[..dtype.size()].to_vec()));
    content
}

pub(crate) fn whole(values: &[i64]) -> Vec<u8> {
    array(Dtype::I64, &[values.len() as u64], values)
}

pub(crate) fn write_npz(folder: &Path, name: &str, arrays: &[(&str, Vec<u8>)]) {
    let mut zip = ZipWriter::new(File::create(folder.join(name)).unwrap());
    for (name, array) in arrays {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default()).unwrap();
        zip.write_all(array).unwrap();
    }
    zip.finish().unwrap();
}

#[test]
fn an_archive_of_a_graph_is_read_by_the_names_of_its_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let mask = |values: &[i64]| array(Dtype::U8, &[2, 3], values);
    let arrays = [
        ("edge_index", array(Dtype::I64, &[2, 3], &[0, 1, 2, 1, 2, 0])),
        ("x", array(Dtype::U8, &[3, 2], &[1, 2, 3, 4, 5, 6])),
        ("node_labels", whole(&[1, 0, 1])),
        ("train_masks", mask(&[1, 0, 0, 0, 1, 0])),
        ("test_masks", mask(&[0, 1, 1, 1, 0, 1])),
        ("edge_weight", whole(&[7, 8, 9])),
        ("idx_val", whole(&[2])),
        ("num_nodes", array(Dtype::I64, &[], &[3])),
        ("words", whole(&[5])),
    ];
    write_npz(here, "g.npz", &arrays);
    let words = "--npz g.npz --split-index 1";
    assert_eq!(edges(here, words), [(0, 1), (1, 2), (2, 0)]);
    let found = tables(here, words);
    let due = [
        ("_N/feat uint8 [2]", vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ("_N/label int64 []", vec![1.0, 0.0, 1.0]),
        ("_N/test_mask uint8 []", vec![1.0, 0.0, 1.0]),
        ("_N/train_mask uint8 []", vec![0.0, 1.0, 0.0]),
        ("_N/val_mask uint8 []", vec![0.0, 0.0, 1.0]),
        ("_N:_E:_N/weight int64 []", vec![7.0, 8.0, 9.0]),
    ];
    assert_eq!(found, due.map(|(name, values)| (name.to_owned(), values)));
    sar(here, &format!("{words} --num-parts 1 --out noted")).success().stderr(contains(
        "note: g.npz: edges are edge_index; feat is x; label is node_labels; train_mask is train_masks; test_mask is \
         test_masks; weight is edge_weight; val is idx_val; the number of nodes is num_nodes; left out: words",
    ));
    refused(here, "--npz g.npz", "g.npz/test_masks: test_mask holds 2 splits")
        .stderr(contains("choose one, from --split-index 0 to --split-index 1"));
    refused(here, "--npz g.npz --split-index 2", "is 2, but test_mask holds 2 splits");
    write_npz(here, "x.npz", &[("x", whole(&[1])), ("y", whole(&[1]))]);
    refused(here, "--npz x.npz", "x.npz: holds no array named edge_index or edges or edge_list")
        .stderr(contains("it holds x, y"));
    write(here, "e.csv", "0,1\n");
    let words = "--edges e.csv --npz g.npz --split-index 0";
    assert_eq!(edges(here, words), [(0, 1)]);
    assert_eq!(tables(here, words).len(), 5);
    sar(here, &format!("{words} --num-parts 1 --out both")).success().stderr(
        contains("note: g.npz: feat is x;")
            .and(contains("left out: edge_index, edge_weight, words")),
    );
    refused(here, "--npz e.csv", "e.csv: is not an archive of arrays (.npz)");
    // Splits find their array, too.
    write(here, "e.csv", "0,1\n1,2\n2,0\n");
    write_npz(here, "t.npz", &[("train_idx", whole(&[0, 1])), ("valid", whole(&[2]))]);
    let words = "--edges e.csv --split train=t.npz";
    let found = tables(here, &format!("{words} --split valid=t.npz"));
    assert_eq!((&found[0].1[..], &found[1].1[..]), (&[1.0, 1.0, 0.0][..], &[0.0, 0.0, 1.0][..]));
    refused(
        here,
        &format!("{words} --split test=t.npz"),
        "t.npz: holds several arrays, but none named test",
    );
}

#[test]
fn an_array_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let edges = array(Dtype::I64, &[2, 3], &[0, 1, 2, 1, 2, 0]);
    let mut labels = whole(&[1, 0, 1]);
    let at = labels.windows(3).position(|text| text == b"<i8").unwrap();
    labels[at..at + 3].copy_from_slice(b"<U2");
    write_npz(folder.path(), "g.npz", &[("edge_index", edges), ("y", labels)]);
    refused(folder.path(), "--npz g.npz", "g.npz/y: npy header: is not an array of integers");
}

#[test]
fn sparse_matrices_of_an_archive_are_edges_and_features() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let arrays = [
        ("adj_data", whole(&[1, 1])),
        ("adj_indices", whole(&[1, 2])),
        ("adj_indptr", whole(&[0, 1, 2, 2])),
        ("adj_shape", whole(&[3, 3])),
        ("attr_data", whole(&[4, 5])),
        ("attr_indices", whole(&[1, 0])),
        ("attr_indptr", whole(&[0, 1, 1, 2])),
        ("attr_shape", whole(&[3, 2])),
        ("labels", whole(&[2, 0, 1])),
    ];
    write_npz(here, "g.npz", &arrays);
    assert_eq!(edges(here, "--npz g.npz"), [(0, 1), (1, 2)]);
    let found = tables(here, "--npz g.npz");
    assert_eq!(found[0].1, [0.0, 4.0, 0.0, 0.0, 5.0, 0.0]);
    assert_eq!(found[1].1, [2.0, 0.0, 1.0]);
    sar(here, "--npz g.npz --num-parts 1 --out noted")
        .success()
        .stderr(contains("edges are adj; feat is attr; label is labels\n"))
        .stderr(contains("g.npz: --edge-columns NAME keeps the values of the edges"));
    assert_eq!(
        tables(here, "--edges g.npz --node-data attr=g.npz"),
        [found[0].clone()].map(|(_, values)| ("_N/attr int64 [2]".to_owned(), values))
    );
}

#[test]
fn a_mask_of_several_splits_needs_a_choice() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.csv", "0,1\n1,2\n");
    let columns = array(Dtype::U8, &[3, 2], &[1, 0, 0, 1, 1, 1]);
    fs::write(here.join("m.npy"), columns).unwrap();
    let words = "--edges e.csv --node-data train_mask=m.npy";
    assert_eq!(tables(here, &format!("{words} --split-index 1"))[0].1, [0.0, 1.0, 1.0]);
    refused(here, words, "train_mask holds 2 splits");
    // Where the number of nodes is known, the shape does not decide.
    let known = format!("{words} --num-nodes 2 --split-index 2");
    write(here, "e.csv", "0,1\n");
    assert_eq!(tables(here, &known)[0].1, [1.0, 1.0]);
    let square = array(Dtype::U8, &[2, 2], &[1, 0, 0, 1]);
    fs::write(here.join("m.npy"), square).unwrap();
    refused(here, &format!("{words} --split-index 0"), "rows and columns may be splits");
    fs::write(here.join("m.npy"), whole(&[1, 0])).unwrap();
    refused(here, &format!("{words} --split-index 0"), "no mask holds several");
}

#[test]
fn the_number_of_nodes_tells_splits_from_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let index = || array(Dtype::I64, &[2, 2], &[0, 1, 1, 2]);
    let by_node = || array(Dtype::U8, &[3, 4], &[1, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1, 0]);
    let (masks, words) = (("train_mask", by_node()), "--npz g.npz --split-index 3");
    // A mask of one split has as many rows as there are nodes.
    let one = ("test_mask", array(Dtype::U8, &[3], &[0, 0, 1]));
    write_npz(here, "g.npz", &[("edge_index", index()), masks, one]);
    let due = [("_N/test_mask", [0.0, 0.0, 1.0]), ("_N/train_mask", [1.0, 1.0, 0.0])]
        .map(|(name, values)| (format!("{name} uint8 []"), values.to_vec()));
    assert_eq!(tables(here, words), due);
    // Edges with the nodes 0 to 2 fit both sides: there may be four nodes, of which one has no edge.
    write_npz(here, "g.npz", &[("edge_index", index()), ("train_mask", by_node())]);
    refused(here, words, "g.npz/train_mask: has shape (3, 4), so rows and columns may be splits")
        .stderr(contains("state the number of nodes: --num-nodes N"));
    assert_eq!(tables(here, &format!("{words} --num-nodes 3"))[0], due[1]);
    refused(here, &format!("{words} --num-nodes 5"), "but there are 5 nodes");
    let four = array(Dtype::I64, &[2, 2], &[0, 1, 1, 3]);
    write_npz(here, "g.npz", &[("edge_index", four), ("train_mask", by_node())]);
    let due = ("_N/train_mask uint8 []".to_owned(), vec![1.0, 0.0, 0.0, 1.0]);
    assert_eq!(tables(here, "--npz g.npz --split-index 0"), [due]);
}

#[test]
fn labels_with_a_column_for_each_class_become_class_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "e.csv", "0,1\n1,2\n2,3\n");
    let words = "--edges e.csv --node-data label=y.npy";
    let one = array(Dtype::U8, &[4, 3], &[0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0]);
    fs::write(here.join("y.npy"), one).unwrap();
    let due = ("_N/label int64 []".to_owned(), vec![2.0, 0.0, -1.0, 1.0]);
    assert_eq!(tables(here, words), [due]);
    sar(here, &format!("{words} --num-parts 1 --out noted")).success().stderr(contains(
        "label has a 1 for one of 3 classes in each row: stored as class numbers",
    ));
    let several = array(Dtype::U8, &[4, 3], &[0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1]);
    fs::write(here.join("y.npy"), several).unwrap();
    assert_eq!(tables(here, words)[0].0, "_N/label uint8 [3]");
    let numbers = array(Dtype::U8, &[4, 2], &[0, 2, 1, 0, 0, 1, 0, 1]);
    fs::write(here.join("y.npy"), numbers).unwrap();
    assert_eq!(tables(here, words)[0].0, "_N/label uint8 [2]");
}

#[test]
fn adjacency_lists_are_read_with_nodes_that_stand_alone() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(here, "g.adjlist", "#/usr/bin/python\n# GMT\n0 1 2\n1\n2 1\n4\n");
    assert_eq!(edges(here, "--edges g.adjlist"), [(0, 1), (0, 2), (2, 1)]);
    sar(here, "--edges g.adjlist --num-parts 1 --out noted")
        .success()
        .stderr(contains("adjacency lists; one of an undirected graph").and(contains("5      3 ")));
    write(here, "g.adjlist", "a b\nc\nd a\n");
    sar(here, "--edges g.adjlist --node-ids string --num-parts 1 --out named")
        .success()
        .stderr(contains("4      2 "));
    write(here, "g.adjlist", "0 1\nx\n");
    refused(here, "--edges g.adjlist", "g.adjlist: line 2: column source: \"x\" is not");
    write(here, "n.npy", "");
    refused(here, "--edges g.adjlist --node-data x=g.adjlist", "holds adjacency lists");
    sar(here, "--edges g.adjlist --bad-rows skip --num-parts 1 --out skipped").success();
}

#[test]
fn two_pairs_of_a_data_set_of_graphbolt_are_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let metadata = "graph:\n  nodes:\n    - type: n\n      num: 3\n  edges:\n    - type: n:r:n\n      format: numpy\n      path: e.npy\ntasks:\n- train_set:\n  - type: n:r:n\n    data:\n    - name: seeds\n      format: numpy\n      path: seeds.npy\n";
    write(here, "metadata.yaml", metadata);
    let words = "--chunked metadata.yaml";
    let square = |values: &[i64]| array(Dtype::I64, &[2, 2], values);
    // Sources 0 and 1, destinations 1 and 2; the pairs 0, 1 and 1, 2.
    fs::write(here.join("e.npy"), square(&[0, 1, 1, 2])).unwrap();
    fs::write(here.join("seeds.npy"), square(&[0, 1, 1, 2])).unwrap();
    assert_eq!(edges(here, words), [(0, 1), (1, 2)]);
    fs::write(here.join("e.npy"), square(&[0, 1, 2, 0])).unwrap();
    fs::write(here.join("seeds.npy"), square(&[0, 2, 1, 0])).unwrap();
    assert_eq!(edges(here, words), [(0, 2), (1, 0)]);
    assert_eq!(tables(here, words)[0].1, [1.0, 1.0]);
    // Arrays with other shapes are not what GraphBolt reads.
    let pairs = array(Dtype::I64, &[3, 2], &[0, 2, 1, 0, 1, 2]);
    fs::write(here.join("e.npy"), &pairs).unwrap();
    refused(here, words, "has shape [3, 2], but edges are an array of shape (2, E)");
}

#[test]
fn an_array_of_two_edges_does_not_show_which_are_sources() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let edges_of = |shape: [u64; 2], values: &[i64]| {
        fs::write(here.join("e.npy"), array(Dtype::I64, &shape, values)).unwrap();
    };
    edges_of([2, 2], &[0, 1, 1, 2]);
    refused(here, "--edges e.npy", "its rows may be two edges, or sources and targets");
    // A column of two nodes looks like an edge.
    fs::write(here.join("train.npy"), array(Dtype::I64, &[2, 1], &[0, 2])).unwrap();
    write(here, "e.txt", "0 1\n1 2\n");
    refused(here, "--edges e.txt --split train=train.npy", "it may list two nodes or an edge");
    edges_of([3, 3], &[0, 1, 0, 0, 0, 1, 1, 0, 0]);
    refused(here, "--edges e.npy", "edges are an array").stderr(contains("numpy.argwhere(matrix)"));
    edges_of([2, 3], &[0, 1, 2, 1, 2, 0]);
    assert_eq!(edges(here, "--edges e.npy"), [(0, 1), (1, 2), (2, 0)]);
    edges_of([3, 2], &[0, 1, 1, 2, 2, 0]);
    assert_eq!(edges(here, "--edges e.npy"), [(0, 1), (1, 2), (2, 0)]);
}
