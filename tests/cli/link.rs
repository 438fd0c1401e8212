//! Link prediction as a user sees it.

use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::common::{metrics, repository};
use super::program::Program;

fn link(folder: &Path, more: &[&str]) -> Program {
    let mut command = Program::new();
    command.arg("--part-json").arg(repository("data/karate/karate.json"));
    command.arg("--out").arg(folder.join("out")).arg("--spill-dir").arg(folder.join("spill"));
    command.args(["--task", "link", "--mode", "sample", "--hidden", "8", "--layers", "2"]);
    command.arg("--overwrite");
    command.args(more);
    command
}

/// The value of a key in the last line of a run's metrics.
fn last(folder: &Path, key: &str) -> f64 {
    let line = metrics(&folder.join("out")).pop().unwrap();
    line[key].as_f64().unwrap_or_else(|| panic!("{key} is missing: {line}"))
}

#[test]
fn held_out_edges_are_told_from_drawn_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let learn = ["--epochs", "60", "--batch-size", "16", "--dropout", "0", "--lr", "0.01"];
    link(folder.path(), &learn).args(["--split", "test=20%"]).assert().success();
    let (auc, mrr) = (last(folder.path(), "test_roc_auc"), last(folder.path(), "test_mrr"));
    // Scores without any knowledge have an AUC of 0.5, and with 5 pairs per edge a reciprocal rank of 0.41.
    assert!(auc > 0.6 && mrr > 0.45, "AUC {auc}, MRR {mrr}");
    assert!(!folder.path().join("spill").exists());
    // The rows that are compared; no classes.
    let predict = |more: &[&str]| {
        let mut command = Program::new();
        command.arg("predict").arg("--run").arg(folder.path().join("out"));
        command.arg("--overwrite").arg("--out").arg(folder.path().join("rows.npy"));
        command.args(more).assert()
    };
    predict(&[]).success();
    let bytes = std::fs::metadata(folder.path().join("rows.npy")).unwrap().len();
    assert_eq!(bytes, 128 + 34 * 8 * 4);
    predict(&["--output", "classes"]).code(1).stderr(contains("no classes"));
}

#[test]
fn the_same_seed_gives_the_same_weights_whatever_runs_them() {
    let ways: [&[&str]; 5] = [
        &[],
        &["--sampler-threads", "1"],
        &["--sampler-threads", "3", "--threads", "1"],
        &["--resident", "2"],
        &["--seed", "1"],
    ];
    let weights = ways.map(|way| {
        let folder = tempfile::tempdir().unwrap();
        let batches = ["--epochs", "3", "--batch-size", "8", "--score", "bilinear"];
        link(folder.path(), &batches).args(way).assert().success();
        std::fs::read(folder.path().join("out/model.safetensors")).unwrap()
    });
    assert!(weights[1..4].iter().all(|other| *other == weights[0]));
    assert!(weights[4] != weights[0], "another seed");
}

#[test]
fn weights_of_a_bilinear_score_are_saved_with_the_model_and_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let once = ["--epochs", "1", "--score", "bilinear", "--patience", "1"];
    link(folder.path(), &once).assert().success();
    let weights = std::fs::read(folder.path().join("out/model.safetensors")).unwrap();
    let saved = safetensors::SafeTensors::deserialize(&weights).unwrap();
    assert_eq!(saved.tensor("score.weight").unwrap().shape(), [8, 8]);
    let mut predict = Program::new();
    predict.arg("predict").arg("--run").arg(folder.path().join("out"));
    predict.arg("--out").arg(folder.path().join("rows.npy")).assert().success();
    let start = folder.path().join("out/model.safetensors");
    let again = folder.path().join("again");
    std::fs::create_dir(&again).unwrap();
    link(&again, &once).arg("--init-params").arg(start).assert().success();
}

#[test]
fn edges_are_split_by_masks_that_files_hold() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // A ring of 40 nodes with chords; every tenth edge is kept for the test.
    let edges: Vec<(u32, u32)> =
        (0..40).flat_map(|i| [(i, (i + 1) % 40), (i, (i + 7) % 40)]).collect();
    let lines: Vec<String> = edges.iter().map(|(a, b)| format!("{a},{b}")).collect();
    std::fs::write(path("edges.csv"), lines.join("\n")).unwrap();
    let mask = |keep: fn(usize) -> bool| {
        let rows: Vec<_> = (0..edges.len()).map(|i| u8::from(keep(i)).to_string()).collect();
        rows.join("\n")
    };
    std::fs::write(path("train.csv"), mask(|i| i % 10 != 0)).unwrap();
    std::fs::write(path("test.csv"), mask(|i| i % 10 == 0)).unwrap();
    let rows: Vec<_> = (0..40).map(|i| format!("{},{}", i % 7, i % 3)).collect();
    std::fs::write(path("feat.csv"), rows.join("\n")).unwrap();
    let mut partition = Program::new();
    partition.arg("partition").arg("--edges").arg(path("edges.csv"));
    for (flag, name, file) in [
        ("--node-data", "feat", "feat.csv"),
        ("--edge-data", "train_mask", "train.csv"),
        ("--edge-data", "test_mask", "test.csv"),
        ("--edge-data", "edge_type", "test.csv"),
    ] {
        partition.arg(flag).arg(format!("{name}={}", path(file).display()));
    }
    partition.args(["--num-parts", "2", "--out"]).arg(path("parts")).assert().success();
    let run = |more: &[&str]| {
        let mut command = Program::new();
        command.arg("--part-json").arg(path("parts/g.json")).arg("--out").arg(path("out"));
        command.arg("--spill-dir").arg(path("spill")).args(["--task", "link", "--mode", "sample"]);
        command
            .args(["--hidden", "8", "--layers", "1", "--epochs", "2", "--overwrite"])
            .args(more)
            .assert()
    };
    let said = "edges are split by their masks: train_mask, test_mask";
    run(&[]).success().stderr(contains(said));
    let of_masks = last(folder.path(), "test_mrr");
    run(&["--train-mask-key", "train_mask", "--test-mask-key", "test_mask"]).success();
    assert!(of_masks > 0.0);
    assert!((of_masks - last(folder.path(), "test_mrr")).abs() < 1e-12);
    run(&["--split", "test=0.1"]).success().stderr(contains("their masks").not());
    run(&["--train-mask-key", "train_mask", "--val-mask-key", "train_mask"])
        .code(1)
        .stderr(contains("is in several masks"));
    run(&["--test-mask-key", "test_mask"]).code(1).stderr(contains("--train-mask-key"));
    run(&["--train-mask-key", "train_mask", "--split", "val=0.1"])
        .code(1)
        .stderr(contains("--split has no effect with --train-mask-key"));
    run(&["--score", "distmult"])
        .code(1)
        .stderr(contains("edge_type: this score has a vector for each edge type"));
    // Added self loops, which are in all masks, only pass messages.
    std::fs::remove_dir_all(path("parts")).unwrap();
    partition.args(["--self-loops", "add"]).assert().success();
    run(&[]).success().stderr(contains(said));
    let mut predict = Program::new();
    predict.args(["predict", "--split", "test", "--run"]).arg(path("out"));
    predict.arg("--out").arg(path("ranks.csv")).assert().success();
    let ranks = std::fs::read_to_string(path("ranks.csv")).unwrap();
    assert_eq!(ranks.lines().count(), 1 + edges.len() / 10, "{ranks}");
}

#[test]
fn what_makes_no_sense_names_its_flag() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |more: &[&str]| link(folder.path(), more).assert().code(1);
    refused(&["--split", "test=70%,val=0.3"]).stderr(contains("none to train on"));
    let unknown = link(folder.path(), &["--split", "valid=5%"]).assert().code(2);
    unknown.stderr(contains("\"valid\" is not a setting: choose from val, test"));
    let text = link(folder.path(), &["--split", "val=many"]).assert().code(2);
    text.stderr(contains("val cannot be \"many\""));
    refused(&["--negatives", "0"]).stderr(contains("--negatives"));
    refused(&["--dump-step", "step.safetensors"]).stderr(contains("dump-step"));
    refused(&["--label-key", "label"]).stderr(contains("no labels"));
    refused(&["--patience", "2", "--split", "val=0"]).stderr(contains("--split val=SHARE"));
    refused(&["--score", "complex", "--hidden", "7"]).stderr(contains("--hidden: is odd"));
    let train = |more: &[&str]| {
        let mut command = Program::new();
        command.arg("--part-json").arg(repository("data/karate/karate.json"));
        command.arg("--out").arg(folder.path().join("out")).args(more).assert().code(1)
    };
    train(&["--task", "link", "--mode", "full"]).stderr(contains("add --mode sample"));
    for flag in [["--score", "dot"], ["--negatives", "3"], ["--split", "test=0.1"]] {
        train(&flag).stderr(contains("add --task link"));
    }
}

/// A plain list of edges: rows are learned, and partners are found along its one edge type.
#[test]
fn edges_without_features_are_predicted_from_learned_rows() {
    let folder = tempfile::tempdir().unwrap();
    let sar = |words: &str| {
        let mut command = Program::new();
        command.current_dir(folder.path()).args(words.split_whitespace()).assert()
    };
    let edges = |i: usize| format!("n{i} n{}\nn{i} n{}\n", (i * 7 + 1) % 40, (i * 3 + 2) % 40);
    std::fs::write(folder.path().join("e.txt"), (0..40).map(edges).collect::<String>()).unwrap();
    sar("partition --edges e.txt --node-ids string --num-parts 2 --out g").success();
    let link = "--part-json g/g.json --task link --mode sample --layers 1 --hidden 4 --fanouts 3";
    sar(&format!("{link} --epochs 2 --out run"))
        .success()
        .stderr(contains("without features, and given learned rows: _N"));
    sar("predict --run run --top-k 2 --out partners.csv").success();
    let found = std::fs::read_to_string(folder.path().join("partners.csv")).unwrap();
    assert_eq!(found.lines().count(), 1 + 2 * 40, "{found}");
    // A first line without nodes names the columns, whatever it calls them.
    let scores = |pairs: &str| {
        std::fs::write(folder.path().join("pairs.csv"), pairs).unwrap();
        sar("predict --run run --pairs pairs.csv --out scores.csv --overwrite")
    };
    scores("gene,disease\nn0,n1\nn2,n3\n").success();
    let found = std::fs::read_to_string(folder.path().join("scores.csv")).unwrap();
    let lines: Vec<&str> = found.lines().map(|line| &line[..5]).collect();
    assert_eq!(lines, ["sourc", "n0,n1", "n2,n3"], "{found}");
    scores("n3,disease\nn0,n1\n").failure().stderr(contains("line 1"));
    scores("gene,disease\n").failure().stderr(contains("\"gene\" is not the name of a node"));
    // As many nodes in each partition, but other ones: in another order in the files, or in another cut.
    std::fs::write(folder.path().join("r.txt"), (0..40).rev().map(edges).collect::<String>())
        .unwrap();
    for (file, method) in [("e", "range"), ("r", "range"), ("e", "random")] {
        let cut = format!("--node-ids string --num-parts 2 --method {method}");
        sar(&format!("partition --edges {file}.txt {cut} --out {file}-{method}")).success();
    }
    let own = link.replace("g/g.json", "e-range/g.json");
    sar(&format!("{own} --epochs 1 --out ranges")).success();
    for (graph, difference) in
        [("r-range", "other names of _N"), ("e-random", "other original ids of _N")]
    {
        sar(&format!("predict --run ranges --part-json {graph}/g.json --out x.csv"))
            .code(1)
            .stderr(contains("other partitions, with ").and(contains(difference)));
    }
    sar("predict --run ranges --out x.csv").success();
    // Added self loops only pass messages, as the run records.
    let cut = "--node-ids string --self-loops add --num-parts 2";
    sar(&format!("partition --edges e.txt {cut} --out l")).success();
    let loops = link.replace("g/g.json", "l/g.json");
    sar(&format!("{loops} --epochs 1 --split val=0,test=50% --out loops")).success();
    std::fs::remove_file(folder.path().join("l/edge_rules.json")).unwrap();
    sar("predict --run loops --split test --out ranks.csv").success();
    let ranks = std::fs::read_to_string(folder.path().join("ranks.csv")).unwrap();
    let ends = ranks.lines().map(|line| line.split(',').take(2).collect());
    let ends: Vec<Vec<&str>> = ends.collect();
    assert!(ends.len() > 10 && ends.iter().all(|ends| ends[0] != ends[1]), "{ranks}");
    // A misspelled key does not mean learned rows.
    sar(&format!("{link} --features-key feet --out other")).failure().stderr(contains("feet"));
}
