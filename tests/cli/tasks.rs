//! Tasks and the length of training: labels that fit the task or are refused, early stopping, predictions.

use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::common::{metrics, repository};
use super::program::Program;

/// A run of two epochs on karate into `folder`, unless the flags say otherwise.
fn train(folder: &Path, flags: &[&str]) -> assert_cmd::assert::Assert {
    Program::new()
        .arg("--part-json")
        .arg(repository("data/karate/karate.json"))
        .args(["--epochs", "2", "--layers", "2", "--hidden", "8", "--overwrite", "--out"])
        .arg(folder.join("run"))
        .arg("--spill-dir")
        .arg(folder.join("spill"))
        .args(flags)
        .assert()
}

fn predict(folder: &Path, flags: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Program::new();
    command.arg("predict").arg("--run").arg(folder.join("run"));
    command.arg("--out").arg(folder.join("out.npy")).args(flags).assert()
}

/// The text before the data of a .npy file.
fn npy_header(folder: &Path) -> String {
    let bytes = std::fs::read(folder.join("out.npy")).unwrap();
    String::from_utf8_lossy(&bytes[10..80]).into_owned()
}

#[test]
fn labels_that_do_not_fit_the_task_name_the_one_they_fit() {
    let folder = tempfile::tempdir().unwrap();
    let refused = train(folder.path(), &["--label-key", "features"]).code(1);
    refused
        .stderr(contains("_N/features: has shape [17, 34]; one class per node is needed"))
        .stderr(contains("--task multilabel").and(contains("--task regression")));
}

#[test]
fn rows_of_0_and_1_are_learned_evaluated_and_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--task", "multilabel", "--label-key", "features", "--metrics", "roc_auc"];
    train(folder.path(), &flags).success().stderr(contains("F1 macro").and(contains("ROC AUC")));
    let lines = metrics(&folder.path().join("run"));
    assert!(lines[0]["train_f1_micro_with_dropout"].is_number(), "{}", lines[0]);
    let last = lines.last().unwrap();
    assert_eq!(last["test_confusion"].as_array().unwrap().len(), 34);
    let row: Vec<u64> =
        last["test_confusion"][3].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!(row.iter().sum::<u64>(), 16, "every test member once");
    predict(folder.path(), &[]).success();
    assert!(npy_header(folder.path()).contains("'|u1'"), "{}", npy_header(folder.path()));
    assert!(npy_header(folder.path()).contains("(34, 34)"));
}

#[test]
fn numbers_are_predicted_as_they_come() {
    let folder = tempfile::tempdir().unwrap();
    train(folder.path(), &["--task", "regression"]).success();
    let lines = metrics(&folder.path().join("run"));
    assert!(
        lines[0]["val_mse_with_dropout"].is_number() && lines[2]["test_mse"].is_number(),
        "{lines:?}"
    );
    predict(folder.path(), &["--output", "classes"])
        .code(1)
        .stderr(contains("--output: the run is a regression").and(contains("--output logits")));
    predict(folder.path(), &[]).success();
    assert!(npy_header(folder.path()).contains("(34, 1)"));
    train(folder.path(), &["--task", "regression", "--class-weights", "balanced"])
        .code(1)
        .stderr(contains("--class-weights: a regression has no classes"));
}

#[test]
fn class_weights_are_numbers_a_file_or_balanced() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("weights.txt");
    std::fs::write(&file, "0.5\n2\n").unwrap();
    let loss = |weights: &str| {
        train(folder.path(), &["--class-weights", weights]).success();
        metrics(&folder.path().join("run"))[1]["loss"].clone()
    };
    assert_eq!(loss("0.5,2"), loss(file.to_str().unwrap()));
    // As many training members on each side.
    assert_eq!(loss("balanced"), loss("1,1"));
    let config = std::fs::read_to_string(folder.path().join("run/config.toml")).unwrap();
    assert!(config.contains("[class_weights]\nvalues = [\n    1.0,\n    1.0,\n]"), "{config}");

    let refused = |weights: &str, why: &str| {
        train(folder.path(), &["--class-weights", weights]).code(1).stderr(contains(why));
    };
    refused("1,2,3", "--class-weights: 3 weights for 2 classes");
    refused("1,-2", "a weight must be 0 or more, not -2");
    refused("0,0", "the weights of all training nodes are 0");
    refused("equal", "equal is neither numbers nor a file that can be read");
    std::fs::write(&file, "one two").unwrap();
    refused(file.to_str().unwrap(), "weights.txt: holds something other than numbers");
}

#[test]
fn early_stopping_keeps_the_weights_of_the_best_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--epochs", "500", "--patience", "7", "--dropout", "0.2"];
    train(folder.path(), &flags).success().stderr(contains("note: stopped after epoch "));
    let lines = metrics(&folder.path().join("run"));
    let (evaluation, epochs) = lines.split_last().unwrap();
    let scores: Vec<f64> = epochs.iter().map(|e| e["validation"].as_f64().unwrap()).collect();
    let best = scores.iter().copied().fold(0.0, f64::max);
    let first_best = scores.iter().position(|score| *score >= best).unwrap();
    assert_eq!(epochs.len(), first_best + 1 + 7);
    assert_eq!(evaluation["epoch"].as_u64().unwrap() as usize, first_best + 1);
    assert_eq!(evaluation["val_acc"].as_f64().unwrap().to_bits(), best.to_bits());
    assert!(epochs.len() < 500 && first_best > 0, "{first_best}");
}

#[test]
fn what_needs_validation_nodes_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let json = without_validation(folder.path());
    for flags in [["--patience", "3"], ["--schedule", "plateau"]] {
        let graph = ["--part-json", json.to_str().unwrap()];
        train(folder.path(), &[&graph[..], &flags].concat())
            .code(1)
            .stderr(contains(format!("{}: there are no validation nodes", flags[0])))
            .stderr(contains("--val-mask-key"));
    }
}

/// Karate's partitions with `val_mask` under an unusual name.
fn without_validation(folder: &Path) -> std::path::PathBuf {
    let from = repository("data/karate");
    for part in ["part0", "part1"] {
        std::fs::create_dir(folder.join(part)).unwrap();
        for file in ["graph.dgl", "edge_feat.dgl", "node_feat.dgl"] {
            let mut bytes = std::fs::read(from.join(part).join(file)).unwrap();
            let name = b"val_mask";
            while let Some(at) = bytes.windows(name.len()).position(|window| window == name) {
                bytes[at..][..name.len()].copy_from_slice(b"old_mask");
            }
            std::fs::write(folder.join(part).join(file), bytes).unwrap();
        }
    }
    std::fs::copy(from.join("karate.json"), folder.join("karate.json")).unwrap();
    folder.join("karate.json")
}

#[test]
fn flags_that_make_no_sense_together_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |flags: &[&str], why: &str| {
        train(folder.path(), flags).code(1).stderr(contains(why));
    };
    for (schedule, why) in [
        ("step,step_size=0", "--schedule ...,step_size: must be 1 or more"),
        ("step,step_size=1,gamma=-1", "--schedule ...,gamma: must be above 0, not -1"),
        ("step,step_size=1,gamma=1e308", "--schedule ...,gamma: must be from 0 to 1e6"),
        ("cosine,min=nan", "--schedule ...,min: must be 0 or more, not NaN"),
        ("cosine,t_max=0", "--schedule ...,t_max: must be 1 or more"),
        ("plateau,factor=1.5", "--schedule ...,factor: must be below 1"),
    ] {
        refused(&["--schedule", schedule], why);
    }
    refused(&["--clip-norm", "0"], "--clip-norm: must be a number above 0, not 0");
    refused(&["--patience", "0"], "--patience: must be 1 or more");
    refused(&["--checkpoint-every", "0"], "--checkpoint-every: must be 1 or more");
    train(folder.path(), &["--resume", "runs/x"]).code(2).stderr(contains("--resume"));
    let mut command = Program::new();
    let refused = command.args(["--resume", "runs/x", "--lr", "0.1"]).assert().code(2);
    refused.stderr(contains("--resume takes the settings of the run: --lr cannot be passed"));
}
