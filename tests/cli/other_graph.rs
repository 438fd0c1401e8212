//! `--resume` goes on with the graph of the run only, wherever that is.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use sar::formats::dgl::Partition;
use sar::formats::dgl::config::PartitionConfig;

use super::common::copy_folder;
use super::program::sar;

fn generate(folder: &Path, name: &str, words: &str) {
    let graph = "generate --nodes 400 --edges 2000 --features 4 --classes 3";
    sar(folder, &format!("{graph} {words} --out {name}")).success();
}

/// A graph, and a run on it with a checkpoint.
fn trained(folder: &Path) {
    generate(folder, "g", "--num-parts 2");
    let train = "--part-json g/g.json --layers 2 --hidden 4 --checkpoint-every 1 --epochs 2";
    sar(folder, &format!("{train} --out run")).success();
}

#[test]
fn another_graph_another_cut_and_other_data_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    trained(folder);
    fs::rename(folder.join("g"), folder.join("kept")).unwrap();
    generate(folder, "other", "--num-parts 2 --seed 9");
    generate(folder, "cut", "--num-parts 3");
    // One number of one array of one partition.
    for key in ["feat", "label", "train_mask"] {
        let changed = folder.join(key);
        copy_folder(&folder.join("kept"), &changed);
        let config = PartitionConfig::open(&changed.join("g.json")).unwrap();
        let partition = Partition::open(&config, 1).unwrap();
        let array = partition.node_features().lookup(key).unwrap()[0].unwrap().array();
        let path = &config.parts()[1].node_feats;
        let mut bytes = fs::read(path).unwrap();
        bytes[array.offset() as usize + 1] ^= 1;
        fs::write(path, bytes).unwrap();
    }
    for (graph, difference) in [
        ("other", "its partitions have other numbers of nodes and edges"),
        ("cut", "its partitions have other numbers of nodes and edges"),
        ("feat", "node data _N/feat of partition 1 have changed"),
        ("label", "node data _N/label of partition 1 have changed"),
        ("train_mask", "node data _N/train_mask of partition 1 have changed"),
    ] {
        let problem = format!("is not the graph on which the run was trained: {difference}");
        let refused = || contains(problem.as_str()).and(contains("start a new run"));
        let named = format!("--resume run --epochs 4 --part-json {graph}/g.json");
        sar(folder, &named).code(1).stderr(refused());
        fs::rename(folder.join(graph), folder.join("g")).unwrap();
        sar(folder, "--resume run --epochs 4").code(1).stderr(refused());
        fs::rename(folder.join("g"), folder.join(graph)).unwrap();
    }
    let before = fs::read(folder.join("run/model.safetensors")).unwrap();
    fs::rename(folder.join("kept"), folder.join("g")).unwrap();
    sar(folder, "--resume run --epochs 4").success();
    assert!(fs::read(folder.join("run/model.safetensors")).unwrap() != before);
}

/// Cuts a graph whose node `i` is in partition `i % 2` and has one edge, to node `i + step`.
fn cut_ring(folder: &Path, name: &str, step: usize, factor: usize) {
    let write = |file: &str, line: &dyn Fn(usize) -> String| {
        let lines: Vec<String> = (0..12).map(line).collect();
        fs::write(folder.join(file), lines.join("\n") + "\n").unwrap();
    };
    write("edges", &|i| format!("{i} {}", (i + step) % 12));
    write("features", &|i| (i * factor % 12).to_string());
    write("labels", &|i| (i % 3).to_string());
    write("all", &|_| "1".to_owned());
    write("parts", &|i| (i % 2).to_string());
    let data = "--node-data feat=features --node-data label=labels --node-data train_mask=all";
    let cut = "--num-parts 2 --method file --assignment parts";
    sar(folder, &format!("partition --edges edges {data} {cut} --out {name}")).success();
}

#[test]
fn edges_alone_and_features_alone_that_have_changed_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    cut_ring(folder, "g", 1, 1);
    let train = "--part-json g/g.json --layers 1 --checkpoint-every 1 --epochs 1 --out run";
    sar(folder, train).success();
    // The numbers of nodes, edges and neighbours stay what they are.
    cut_ring(folder, "edges-changed", 5, 1);
    cut_ring(folder, "features-changed", 1, 5);
    cut_ring(folder, "same", 1, 1);
    for (graph, data) in [("edges", "edges"), ("features", "node data _N/feat")] {
        let named = format!("--resume run --epochs 2 --part-json {graph}-changed/g.json");
        sar(folder, &named).code(1).stderr(contains(format!("{data} of partition 0 have changed")));
    }
    sar(folder, "--resume run --epochs 2 --part-json same/g.json").success();
}

#[test]
fn a_graph_that_has_moved_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    trained(folder);
    fs::rename(folder.join("g"), folder.join("moved")).unwrap();
    let hint = "if the graph has moved, name its JSON file with --part-json FILE";
    for words in ["--resume run --epochs 3", "predict --run run --out c.csv", "plan --resume run"] {
        sar(folder, words).code(1).stderr(contains("g/g.json").and(contains(hint)));
    }
    sar(folder, "plan --resume run --part-json moved/g.json").success();
    sar(folder, "--resume run --epochs 3 --part-json moved/g.json").success();
    // The run knows the new place.
    sar(folder, "--resume run --epochs 4").success();
    sar(folder, "predict --run run --out c.csv").success();
    sar(folder, "--resume run --part-json moved/g.json --lr 0.5")
        .code(2)
        .stderr(contains("--resume takes the settings of the run: --lr cannot be passed"));
}

#[test]
fn a_link_to_the_json_file_and_a_byte_order_mark_are_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    trained(folder);
    fs::write(folder.join("g/class_names.txt"), "\u{feff}one\ntwo\nthree\n").unwrap();
    fs::create_dir(folder.join("links")).unwrap();
    symlink("../g/g.json", folder.join("links/first.json")).unwrap();
    symlink("links/first.json", folder.join("second.json")).unwrap();
    let json = fs::read(folder.join("g/g.json")).unwrap();
    fs::write(folder.join("g/g.json"), [b"\xef\xbb\xbf", &json[..]].concat()).unwrap();
    sar(folder, "inspect second.json").success();
    sar(folder, "--resume run --epochs 3 --part-json second.json").success();
    sar(folder, "predict --run run --out c.csv").success();
    let table = fs::read_to_string(folder.join("c.csv")).unwrap();
    assert!(table.lines().skip(1).all(|line| !line.ends_with(|c: char| c.is_ascii_digit())));
    // Parts next to the link come before those of its target.
    generate(folder, "own", "--num-parts 2 --seed 5");
    symlink("../g/g.json", folder.join("own/link.json")).unwrap();
    let config = PartitionConfig::open(&folder.join("own/link.json")).unwrap();
    assert!(config.parts()[0].node_feats.starts_with(folder.join("own")));
}
