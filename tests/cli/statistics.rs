//! `inspect --statistics` counts what a graph holds.

use std::path::Path;

use predicates::str::contains;

use super::program::sar;

/// 0 -> 1, 0 -> 2, 1 -> 2, 3 -> 2; node 4 is alone.
fn graph(folder: &Path) {
    std::fs::write(folder.join("edges.csv"), "0,1\n0,2\n1,2\n3,2\n").unwrap();
    std::fs::write(folder.join("label.csv"), "0\n1\n1\nnan\n2\n").unwrap();
    // Text with these values would be refused.
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let values = [1.5, 0.0, 0.0, nan, inf, 1.0, 0.0, 0.0, -inf, nan];
    let mut bytes = sar::io::npy_header(sar::io::Dtype::F32, &[5, 2]).unwrap();
    bytes.extend(values.into_iter().flat_map(f32::to_le_bytes));
    std::fs::write(folder.join("feat.npy"), bytes).unwrap();
    std::fs::write(folder.join("train_mask.csv"), "1\n1\n0\n0\n0\n").unwrap();
    std::fs::write(folder.join("parts.txt"), "0\n0\n1\n1\n1\n").unwrap();
    let data = ["label=label.csv", "feat=feat.npy", "train_mask=train_mask.csv"]
        .map(|file| format!("--node-data {file}"));
    let cut = format!(
        "partition --edges edges.csv {} --num-parts 2 --method file --assignment parts.txt --out p",
        data.join(" ")
    );
    sar(folder, &cut).success();
}

#[test]
fn counts_are_those_of_a_graph_made_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    graph(folder);
    let output = sar(folder, "inspect p/g.json --statistics --json").success();
    let found: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let degrees = &found["degrees"];
    assert_eq!(degrees["mean"], 0.8);
    assert_eq!(degrees["percentiles"]["50"], 0);
    assert_eq!(degrees["percentiles"]["100"], 3);
    assert_eq!((&degrees["without_in_edges"], &degrees["isolated"]), (&3.into(), &1.into()));
    // 0 -> 2 and 1 -> 2.
    assert_eq!(found["cut_edges"], 2);
    assert_eq!(found["replication"], 7.0 / 5.0);
    let labels = &found["classes"]["_N/label"];
    assert_eq!(labels["nodes"], serde_json::json!({"0": 1, "1": 2, "2": 1}));
    assert_eq!(labels["unlabelled"], 1);
    assert_eq!(found["masks"]["_N/train_mask"], serde_json::json!({"members": 2, "rows": 5}));
    let values = &found["values"]["_N/feat"];
    assert_eq!(values, &serde_json::json!({"values": 10, "nan": 2, "infinite": 2}));
    assert!(found["training_bytes"]["64"].as_u64().unwrap() > 1 << 20);
    let text = sar(folder, "inspect p/g.json --statistics").success();
    text.stdout(contains("3 nodes have no in-edges, 1 of them no edges at all"))
        .stdout(contains("edge cut 50.00 % of the edges"))
        .stdout(contains("no label"));
    sar(folder, "inspect p/g.json --json").code(2);
}

#[test]
fn graphs_without_data_edges_or_nodes_in_a_partition_have_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("edges.csv"), "0,1\n").unwrap();
    std::fs::write(folder.join("parts.txt"), "1\n1\n").unwrap();
    let cut =
        "partition --edges edges.csv --num-parts 2 --method file --assignment parts.txt --out p";
    sar(folder, cut).success();
    sar(folder, "inspect p/g.json --statistics").success().stdout(contains("edge cut 0.00 %"));
    sar(folder, "generate --nodes 50 --edges 1 --num-parts 1 --out g").success();
    let output = sar(folder, "inspect g/g.json --statistics --json").success();
    let found: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(found["degrees"]["isolated"], 48);
}
