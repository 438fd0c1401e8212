//! Runs of the built binary that predict several node types: DGL's and PyTorch's numbers (tests/fixtures/hetero_targets.py), the
//! same curve on samples, the same bits after a stop, predictions of each type.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/karate.rs"]
#[allow(dead_code)]
mod karate;
#[path = "common/program.rs"]
mod program;
#[path = "common/uneven.rs"]
#[allow(dead_code)]
mod uneven;

use std::path::{Path, PathBuf};

use common::{epochs, metrics, repository};
use karate::{assert_close, case, check_curve, check_step, check_step_with, run, tensors};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use program::Program;
use uneven::{resumed, train, uneven, weights};

const STEPS: &str = "hetero_targets";
/// All of `STEPS`.
const NAMES: [&str; 6] = ["sage", "gcn", "gat", "layer_norm", "jk_max", "rgcn_jk_cat"];
const BOTH: &str = "--target-type author,paper";

fn graph() -> PathBuf {
    repository("tests/fixtures/hetero_two_targets/g.json")
}

/// The graph in other partitions.
fn repartitioned(folder: &Path, parts: usize) -> PathBuf {
    let out = folder.join(format!("p{parts}"));
    let mut command = Program::new();
    command.args(["partition", "--method", "random", "--num-parts", &parts.to_string()]);
    command.arg("--part-json").arg(graph()).arg("--out").arg(&out).assert().success();
    out.join("g.json")
}

fn predict(folder: &Path, name: &str, flags: &str) -> Program {
    let mut command = Program::new();
    command
        .args(["predict", "--overwrite", "--run"])
        .arg(folder.join("run"))
        .arg("--out")
        .arg(folder.join(name));
    command.args(flags.split_whitespace());
    command
}

fn losses(folder: &Path) -> Vec<f64> {
    let epochs = epochs(&folder.join("run"));
    epochs.iter().map(|line| line["loss"].as_f64().unwrap()).collect()
}

#[test]
fn several_types_give_pytorchs_step() {
    for name in NAMES {
        check_step(STEPS, name);
        check_step_with(STEPS, name, &["--one-shot"]);
        check_step_with(STEPS, name, &["--no-remat"]);
    }
}

/// A node in no mask has no logits there.
#[test]
fn message_flow_graphs_of_several_types_give_pytorchs_step() {
    for name in NAMES {
        let case = case(STEPS, name);
        let folder = tempfile::tempdir().unwrap();
        let dump = folder.path().join("step.safetensors");
        run(&case, folder.path(), &["--mfg", "--dump-step", dump.to_str().unwrap()]);
        let ours = tensors(&std::fs::read(dump).unwrap());
        for (key, (_, expected)) in &case.tensors {
            let what = format!("{name} {key}");
            if key.starts_with("logits") {
                let both = ours[key].1.iter().zip(expected).filter(|(ours, _)| !ours.is_nan());
                let (ours, expected): (Vec<f64>, Vec<f64>) = both.unzip();
                let without = if key == "logits.author" { 4 } else { 0 };
                assert_eq!(ours.len() + without, case.tensors[key].1.len(), "{what}");
                assert_close(&what, &ours, &expected);
            } else if !key.starts_with("param.") {
                assert_close(&what, &ours[key].1, expected);
            }
        }
    }
}

#[test]
fn several_types_give_pytorchs_curve() {
    check_curve(STEPS, "curve");
}

#[test]
fn the_order_of_the_types_is_the_graphs() {
    let folder = tempfile::tempdir().unwrap();
    train(&graph(), folder.path(), &format!("{BOTH} --epochs 3"))
        .assert()
        .success()
        .stderr(contains("nodes of types author, paper are predicted").and(contains(
        "classes of all types are numbered one after the other: 0 to 3 of author, 4 to 6 of paper",
    )));
    let (ours, evaluated) = (weights(folder.path()), metrics(&folder.path().join("run")));
    let config = std::fs::read_to_string(folder.path().join("run/config.toml")).unwrap();
    assert!(config.contains("\"author\",\n    \"paper\","), "{config}");
    train(&graph(), folder.path(), "--target-type paper,author --epochs 3").assert().success();
    let tensors = [&ours, &weights(folder.path())].map(|bytes| tensors(bytes));
    assert!(tensors[0] == tensors[1]);
    assert_eq!(
        evaluated.last().unwrap()["val_acc"],
        metrics(&folder.path().join("run")).last().unwrap()["val_acc"]
    );
}

#[test]
fn a_batch_of_everything_gives_the_full_graphs_curve() {
    let folder = tempfile::tempdir().unwrap();
    let graph = repartitioned(folder.path(), 1);
    for model in ["sage", "gcn", "rgcn --jk cat"] {
        let flags = format!("{BOTH} --epochs 4 --lr 0.02 --dropout 0 --model {model}");
        train(&graph, folder.path(), &flags).assert().success();
        let (curve, full) = (losses(folder.path()), tensors(&weights(folder.path())));
        let last = metrics(&folder.path().join("run")).pop().unwrap();
        let sampled =
            format!("{flags} --mode sample --fanouts -1,-1 --eval-every 2 --eval-fanouts -1,-1");
        train(&graph, folder.path(), &sampled).assert().success();
        assert_close(model, &losses(folder.path()), &curve);
        let ours = tensors(&weights(folder.path()));
        for (key, (_, values)) in &full {
            assert_close(&format!("{model} {key}"), &ours[key].1, values);
        }
        let lines = metrics(&folder.path().join("run"));
        let (end, epochs) = lines.split_last().unwrap();
        for key in ["train_acc", "val_acc", "test_acc"] {
            assert_eq!(end[key], last[key], "{model} {key}");
        }
        // Evaluations on samples of everything see what the full graph's see.
        assert_eq!(epochs[3]["val_acc"], last["val_acc"], "{model}");
    }
}

#[test]
fn a_resumed_run_ends_in_the_same_bits_whatever_its_memory() {
    for mode in ["", "--mfg", "--one-shot", "--mode sample --fanouts 2,3 --batch-size 2"] {
        let run = |epochs: &[u32], budget: &str| {
            let flags = format!(
                "{BOTH} {mode} --dropout 0.3 --lr 0.02 --seed 5 --patience 90 --checkpoint-every 1 \
                 --memory-budget {budget}"
            );
            resumed(&graph(), &flags, epochs)
        };
        let whole = run(&[6], "1GiB");
        assert!(whole == run(&[6], "min"), "{mode}");
        assert!(whole == run(&[3, 6], "1GiB"), "{mode}");
    }
}

/// The start weights, which a step of no length keeps, predict what PyTorch does, each type in its own classes.
#[test]
fn predictions_of_a_type_are_those_of_the_weights() {
    for name in ["sage", "jk_max"] {
        let case = case(STEPS, name);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        run(&case, path, &["--optimizer", "sgd", "--lr", "1e-12", "--epochs", "1"]);
        for (ntype, classes) in [("author", 4), ("paper", 3)] {
            let flags = format!("--output logits --target-type {ntype}");
            predict(path, "all.safetensors", &flags).assert().success();
            let all = std::fs::read(path.join("all.safetensors")).unwrap();
            let (shape, logits) = tensors(&all).remove("logits").unwrap();
            let (expected_shape, expected) = &case.tensors[&format!("logits.{ntype}")];
            assert_eq!((&shape, shape[1]), (expected_shape, classes));
            assert_close(name, &logits, expected);
            // Some nodes have the bits of all.
            std::fs::write(path.join("list.txt"), "7\n0\n7\n").unwrap();
            let list = path.join("list.txt");
            for file in ["all.npy", "some.npy"] {
                let mut command = predict(path, file, &flags);
                command.args(["--order", "partition"]);
                if file == "some.npy" {
                    command.arg("--nodes").arg(&list);
                }
                command.assert().success();
            }
            let [all, some] =
                ["all.npy", "some.npy"].map(|file| std::fs::read(path.join(file)).unwrap());
            let row = classes as usize * 4;
            let rows = [7, 0, 7].map(|node| all[128 + node * row..][..row].to_vec());
            assert!(some[128..] == rows.concat(), "{name} {ntype}");
        }
    }
}

/// Scores of both types' predictions, weighted by their nodes, are the run's.
#[test]
fn scores_of_the_types_make_up_those_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    train(&graph(), path, &format!("{BOTH} --epochs 20")).assert().success();
    let mut right = 0.0;
    for (ntype, nodes) in [("author", 4_u32), ("paper", 5)] {
        // Authors 0, 3, 6, 9 and papers 0, 3, 6, 9, 12 are trained on.
        let flags = format!("--json --target-type {ntype} --split train");
        let output = predict(path, "train.csv", &flags).assert().success().get_output().clone();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let mut lines =
            text.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
        let predicted = lines.find(|line| line["event"] == "predicted");
        let predicted = predicted.unwrap_or_else(|| panic!("{text}"));
        let mut sets = predicted["sets"].as_array().unwrap().iter();
        let train = sets.find(|set| set["name"] == "train").unwrap();
        assert_eq!(train["nodes"].as_u64(), Some(u64::from(nodes)), "{text}");
        right += f64::from(nodes) * train["scores"]["acc"].as_f64().unwrap();
        let table = std::fs::read_to_string(path.join("train.csv")).unwrap();
        assert_eq!(table.lines().count(), nodes as usize + 1, "{table}");
    }
    let of_run = metrics(&path.join("run")).pop().unwrap()["train_acc"].as_f64().unwrap();
    assert!((right / 9.0 - of_run).abs() < 1e-6, "{right} of 9, not {of_run}");
}

#[test]
fn what_several_types_cannot_do_is_named_with_its_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let one = "--target-type";
    for (flags, problem, remedy) in [
        (BOTH.replace("paper", "venue"), "the graph has no node type \"venue\"", "hint: "),
        (
            BOTH.replace("paper", "author"),
            "names node type \"author\" twice",
            "name each type once",
        ),
        (BOTH.replace("paper", "field"), "no edge ends at a node of type field", "reverse edges"),
        (format!("{BOTH} --task regression"), "several node types are predicted", one),
        (format!("{BOTH} --task multilabel"), "several node types are predicted", one),
        (format!("{BOTH} --metrics roc_auc"), "roc_auc needs a single target node type", one),
        (format!("{BOTH} --model rgcn"), "outputs of several widths", "--jk cat"),
        (
            format!("{BOTH} --label-key paper/label"),
            "training nodes of type author have no label",
            "--label-key",
        ),
        (
            String::new(),
            "several node types have labels (author, paper)",
            "--target-type author,paper",
        ),
    ] {
        let error = train(&graph(), folder.path(), &flags).assert().code(1);
        error.stderr(contains(problem).and(contains(remedy)));
        assert!(!folder.path().join("run/model.safetensors").exists(), "{flags}");
    }
    let error = train(&uneven(), folder.path(), BOTH).assert().code(1);
    error.stderr(contains("no node of type author has a label"));

    train(&graph(), folder.path(), &format!("{BOTH} --epochs 1")).assert().success();
    for (flags, problem) in [
        ("", "the run predicts nodes of types author, paper"),
        ("--target-type field", "does not predict nodes of type \"field\""),
    ] {
        let error = predict(folder.path(), "x.npy", flags).assert().code(1);
        error.stderr(contains(problem).and(contains("hint: ")));
        assert!(!folder.path().join("x.npy").exists());
    }
}

#[test]
fn correct_and_smooth_works_on_one_of_the_types() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    train(&graph(), path, &format!("{BOTH} --epochs 2")).assert().success();
    let smooth = |ntype: &str| {
        let mut command = Program::new();
        command.args(["correct-and-smooth", "--target-type", ntype]);
        let out = path.join(format!("{ntype}.csv"));
        command.arg("--run").arg(path.join("run")).arg("--out").arg(out);
        command.assert()
    };
    smooth("paper").success();
    smooth("author").code(1).stderr(contains("predicted type author"));
}
