//! Training on sampled neighbourhoods as a user sees it.

use std::path::Path;

use assert_cmd::Command;
use predicates::str::contains;

use super::common::repository;

fn sample(folder: &Path, more: &[&str]) -> Command {
    let mut command = Command::cargo_bin("sar-single").unwrap();
    command.arg("--part-json").arg(repository("data/karate/karate.json"));
    command.arg("--out").arg(folder.join("out")).arg("--spill-dir").arg(folder.join("spill"));
    command.args(["--mode", "sample", "--hidden", "8", "--epochs", "3", "--overwrite"]).args(more);
    command
}

#[test]
fn the_same_seed_gives_the_same_weights_whatever_runs_them() {
    let ways: [&[&str]; 6] = [
        &[],
        &["--sampler-threads", "1"],
        &["--sampler-threads", "3", "--threads", "1"],
        &["--resident", "1"],
        &["--resident", "2"],
        &["--seed", "1"],
    ];
    let weights = ways.map(|way| {
        let folder = tempfile::tempdir().unwrap();
        let batches = ["--fanouts", "4,3,-1", "--batch-size", "3"];
        sample(folder.path(), &batches).args(way).assert().success();
        std::fs::read(folder.path().join("out/model.safetensors")).unwrap()
    });
    assert!(weights[1..5].iter().all(|other| *other == weights[0]));
    assert!(weights[5] != weights[0], "another seed");
}

#[test]
fn a_run_leaves_its_configuration_metrics_and_nothing_in_the_spill_folder() {
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path(), &["--fanouts", "4,4,4", "--reduce", "sum"]).assert().success();
    let config = std::fs::read_to_string(folder.path().join("out/config.toml")).unwrap();
    assert!(config.contains("[sampling]") && config.contains("reduce = \"sum\""), "{config}");
    let metrics = std::fs::read_to_string(folder.path().join("out/metrics.jsonl")).unwrap();
    assert_eq!(metrics.lines().count(), 4);
    assert!(metrics.contains("\"val_acc\""));
    assert!(!folder.path().join("spill").exists());
    // Full-graph inference with the weights.
    let mut predict = Command::cargo_bin("sar-single").unwrap();
    predict.arg("predict").arg("--run").arg(folder.path().join("out"));
    predict.arg("--out").arg(folder.path().join("classes.npy")).assert().success();
}

#[test]
fn what_makes_no_sense_names_its_flag() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |more: &[&str]| sample(folder.path(), more).assert().code(1);
    refused(&["--fanouts", "5,5"])
        .stderr(contains("2 fan-outs for 3 layers"))
        .stderr(contains("hint: name one per layer"));
    refused(&["--batch-size", "0"]).stderr(contains("batch-size"));
    refused(&["--dump-step", "step.safetensors"]).stderr(contains("dump-step"));
    for flag in [["--fanouts", "5"], ["--batch-size", "3"], ["--reduce", "sum"]] {
        let mut command = sample(folder.path(), &flag);
        command.args(["--mode", "full"]).assert().code(1).stderr(contains("or use --mode sample"));
    }
}
