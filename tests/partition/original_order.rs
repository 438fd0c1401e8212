//! Guards against: predictions on the wrong nodes after the way from an edge list over partitions back to the user's order.

use std::fmt::Write;
use std::path::Path;

use predicates::str::contains;
use sar::formats::dgl::config::PartitionConfig;
use sar::formats::dgl::{InnerEdge, Partition};

use super::common::repository;
use super::program::Program;
use super::support::{lines, write};

fn sar(folder: &Path, arguments: &str) -> assert_cmd::assert::Assert {
    let mut command = Program::new();
    command.current_dir(folder).env("TMPDIR", folder);
    command.args(arguments.split_whitespace()).assert()
}

/// Writes the content of a partition as an edge list and tables, as a user would have them.
fn export(json: &Path, folder: &Path) -> Vec<i64> {
    let config = PartitionConfig::open(json).unwrap();
    let partition = Partition::open(&config, 0).unwrap();
    let mut text = String::new();
    let write_edge = |InnerEdge { src, dst, .. }| {
        writeln!(text, "{src},{dst}").unwrap();
        Ok(())
    };
    partition.each_edge(write_edge).unwrap();
    write(folder, "edges.csv", &text);
    let rows = partition.num_inner_nodes();
    let array = |name: &str| {
        let found = partition.node_features().lookup(name).unwrap();
        found[0].unwrap().array().clone()
    };
    let mut values = vec![0.0; (rows * array("feat").row_len()) as usize];
    array("feat").read_f32(0..rows, &mut values).unwrap();
    let rows_of_text = values
        .chunks(array("feat").row_len() as usize)
        .map(|row| row.iter().map(|value| format!("{value:e}")).collect::<Vec<_>>().join(","));
    write(folder, "feat.csv", &lines(rows_of_text));
    let mut labels = vec![0; rows as usize];
    for name in ["label", "train_mask", "val_mask", "test_mask"] {
        let mut values = vec![0; rows as usize];
        array(name).read_i64(0..rows, &mut values).unwrap();
        write(folder, &format!("{name}.csv"), &lines(values.iter()));
        if name == "label" {
            labels = values;
        }
    }
    labels
}

fn classes(path: &Path, nodes: usize) -> Vec<i64> {
    let bytes = std::fs::read(path).unwrap();
    let data = bytes[bytes.len() - 8 * nodes..].as_chunks::<8>().0;
    data.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()
}

#[test]
fn an_edge_list_comes_back_as_predictions_in_its_own_order() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    sar(here, "generate --nodes 600 --edges 6000 --num-parts 1 --classes 3 --out graph").success();
    let labels = export(&here.join("graph/g.json"), here);
    sar(
        here,
        "partition --edges edges.csv --node-data feat=feat.csv --node-data label=label.csv \
         --node-data train_mask=train_mask.csv --node-data val_mask=val_mask.csv \
         --node-data test_mask=test_mask.csv --num-parts 4 --out parts",
    )
    .success();
    let train = "--epochs 25 --layers 2 --hidden 16 --dropout 0 --spill-dir .";
    sar(here, &format!("--part-json parts/g.json --out run {train}")).success();
    sar(here, "predict --run run --out own.npy").success();
    let own = classes(&here.join("own.npy"), 600);
    let right = own.iter().zip(&labels).filter(|(own, label)| own == label).count();
    assert!(right > 450, "{right} of 600 classes are right");
    // The unpartitioned graph gives the same results in its only order.
    sar(here, &format!("--part-json graph/g.json --out whole {train}")).success();
    sar(here, "predict --run whole --out whole.npy").success();
    let whole = classes(&here.join("whole.npy"), 600);
    let same = own.iter().zip(&whole).filter(|(own, whole)| own == whole).count();
    assert!(same >= 597, "{same} of 600 classes are the same");
    sar(here, "predict --run run --order partition --out moved.npy").success();
    let moved = classes(&here.join("moved.npy"), 600);
    let right = moved.iter().zip(&labels).filter(|(moved, label)| moved == label).count();
    assert!(right < 400, "partition order is the original one, and the test tests nothing");
}

#[test]
fn partitions_that_do_not_tell_original_ids_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let json = repository("data/karate/karate.json");
    let train =
        format!("--part-json {} --epochs 1 --layers 1 --spill-dir . --out run", json.display());
    sar(folder.path(), &train).success();
    let config = PartitionConfig::open(&json).unwrap();
    let known = Partition::open(&config, 0).unwrap().orig_node_ids(0).unwrap().is_some();
    let assert = sar(folder.path(), "predict --run run --order original --out x.npy");
    if known {
        assert.success();
    } else {
        assert.code(1).stderr(contains("original ids")).stderr(contains("--order partition"));
    }
}
