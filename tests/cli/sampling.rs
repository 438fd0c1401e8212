//! Training on sampled neighbourhoods as a user sees it.

use std::path::Path;

use predicates::str::contains;

use super::common::{metrics, repository};
use super::program::Program;

fn sample(folder: &Path, more: &[&str]) -> Program {
    let mut command = Program::new();
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
fn steps_are_reported_as_often_as_asked_and_change_nothing() {
    let batches = ["--fanouts", "4,3,-1", "--batch-size", "3", "--sampler-threads", "1"];
    let run = |more: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let output = sample(folder.path(), &batches).args(more).assert().success();
        let output = output.get_output();
        let text =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        (std::fs::read(folder.path().join("out/model.safetensors")).unwrap(), text.concat())
    };
    let (plain, silent) = run(&[]);
    assert!(!silent.contains("step"), "{silent}");
    let (same, lines) = run(&["--log-every", "2"]);
    assert_eq!(same, plain);
    let steps: Vec<&str> = lines.lines().filter(|line| line.contains(", step ")).collect();
    let all: u32 = steps[0].split(['/', ':']).nth(2).unwrap().parse().unwrap();
    assert_eq!(steps.len() as u32, 3 * (all / 2), "{lines}");
    assert!(steps[0].starts_with(&format!("epoch 1/3, step 2/{all}: loss ")), "{lines}");
    assert!(steps[0].contains(" % with dropout, "), "{lines}");
    let (_, events) = run(&["--log-every", "1", "--json"]);
    let events = events.lines().filter_map(|line| serde_json::from_str(line).ok());
    let events: Vec<serde_json::Value> = events.collect();
    let of = |name: &str| events.iter().filter(|e| e["event"] == name).collect::<Vec<_>>();
    let steps = of("step");
    assert_eq!(steps.len() as u32, 3 * all);
    // An epoch's loss is the mean over its batches; with as many batches on each rank in each step, that of its steps.
    for epoch in of("epoch") {
        let own = steps.iter().filter(|step| step["epoch"] == epoch["epoch"]);
        let own: Vec<f64> = own.map(|step| step["loss"].as_f64().unwrap()).collect();
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        assert!((mean - epoch["loss"].as_f64().unwrap()).abs() < 1e-9, "{own:?} {epoch}");
    }
    let last = steps[steps.len() - 1];
    assert!(last["train_acc_with_dropout"].as_f64().is_some(), "{last}");
    assert_eq!((&last["step"], &last["steps"]), (&all.into(), &all.into()));
}

#[test]
fn steps_of_links_are_reported_too() {
    let folder = tempfile::tempdir().unwrap();
    sample(folder.path(), &["--fanouts", "4,3,-1", "--batch-size", "20", "--log-every", "1"])
        .args(["--task", "link"])
        .assert()
        .success()
        .stderr(contains("epoch 3/3, step 1/"));
}

#[test]
fn batches_of_seeds_with_common_neighbours_read_fewer_rows() {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("graph");
    let mut generate = Program::new();
    generate.args(["generate", "--nodes", "4000", "--edges", "30000", "--classes", "40"]);
    generate.args(["--num-parts", "2", "--out"]).arg(&graph).assert().success();
    let run = |out: &str, more: &[&str]| {
        let out = folder.path().join(out);
        let mut command = Program::new();
        command.arg("--part-json").arg(graph.join("g.json")).arg("--out").arg(&out);
        command.args(["--mode", "sample", "--layers", "2", "--hidden", "8", "--epochs", "2"]);
        command.args(["--fanouts", "5,5", "--batch-size", "100"]).args(more);
        command.assert().success();
        let epoch = metrics(&out).swap_remove(0);
        let weights = std::fs::read(out.join("model.safetensors")).unwrap();
        (weights, epoch["row_bytes_needed"].as_u64().unwrap(), epoch["batches"].as_u64().unwrap())
    };
    let (_, drawn, batches) = run("drawn", &[]);
    let (weights, optimized, same_batches) = run("optimized", &["--optimized-batches"]);
    assert_eq!(batches, same_batches);
    assert!(optimized < drawn, "{optimized} {drawn}");
    let again = ["--optimized-batches", "--sampler-threads", "2"];
    assert_eq!(run("again", &again).0, weights);
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
    let mut predict = Program::new();
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
    refused(&["--optimized-batches", "--task", "link"])
        .stderr(contains("--optimized-batches has no effect"));
    let flags: [&[&str]; 5] = [
        &["--fanouts", "5"],
        &["--batch-size", "3"],
        &["--reduce", "sum"],
        &["--log-every", "1"],
        &["--optimized-batches"],
    ];
    for flag in flags {
        let mut command = sample(folder.path(), flag);
        command.args(["--mode", "full"]).assert().code(1).stderr(contains("or use --mode sample"));
    }
}

#[test]
fn a_batch_whose_classes_have_no_weight_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let batches = ["--fanouts", "4,3", "--layers", "2", "--batch-size", "1"];
    sample(folder.path(), &batches).args(["--class-weights", "0,1"]).assert().success();
}
