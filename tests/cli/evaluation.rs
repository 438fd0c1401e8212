//! The evaluations of runs: their times, the names of metrics, and the weights that are kept.

use std::path::Path;

use assert_cmd::assert::Assert;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::common::{epochs, metrics, repository};
use super::program::Program;

/// A run of six epochs on karate into `out`, unless the flags say otherwise.
fn train(out: &Path, flags: &str) -> Assert {
    let mut command = Program::new();
    command.arg("--part-json").arg(repository("data/karate/karate.json")).arg("--out").arg(out);
    command.args("--epochs 6 --layers 2 --hidden 8 --overwrite".split(' '));
    command.args(flags.split_whitespace()).assert()
}

fn resume(out: &Path, flags: &str) -> Assert {
    let mut command = Program::new();
    command.arg("--resume").arg(out).args(flags.split_whitespace()).assert()
}

fn weights(out: &Path) -> Vec<u8> {
    std::fs::read(out.join("model.safetensors")).unwrap()
}

/// The epochs with an evaluation.
fn evaluated(out: &Path) -> Vec<u64> {
    let epochs = epochs(out);
    epochs
        .iter()
        .filter(|line| line.get("val_acc").is_some())
        .map(|l| l["epoch"].as_u64().unwrap())
        .collect()
}

#[test]
fn the_training_pass_has_names_of_its_own_and_epochs_are_evaluated_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    for mode in ["", "--mode sample --batch-size 4", "--mfg"] {
        train(out, mode)
            .success()
            .stderr(contains(" % with dropout, ").and(contains("best val ").not()));
        assert_eq!(evaluated(out), [0_u64; 0], "{mode}");
        let lines = metrics(out);
        let (last, epochs) = lines.split_last().unwrap();
        for line in epochs {
            assert!(line["train_acc_with_dropout"].is_number(), "{line}");
            assert!(
                line.get("train_acc").is_none() && line.get("evaluation_s").is_none(),
                "{line}"
            );
            assert!(line["system_s"].is_number() && line["epoch_s"].is_number(), "{line}");
        }
        assert!(last["test_acc"].is_number() && last["evaluation_s"].is_number(), "{last}");

        train(out, &format!("{mode} --eval-every 2"))
            .success()
            .stderr(contains(", val ").and(contains(", best val ")));
        assert_eq!(evaluated(out), [2, 4, 6], "{mode}");
        let lines = metrics(out);
        assert!(lines[1]["evaluation_s"].is_number() && lines[1]["train_acc"].is_number());
        // The last epoch's weights are those of the evaluation at the end.
        assert_eq!(lines[5]["val_acc"], lines[6]["val_acc"], "{mode}");
    }
    let link = "--mode sample --task link --batch-size 32";
    train(out, link).success();
    assert!(metrics(out)[0].get("val_mrr").is_none());
    train(out, &format!("{link} --eval-every 3")).success();
    assert!(metrics(out)[2]["val_mrr"].is_number() && metrics(out)[1].get("val_mrr").is_none());
}

#[test]
fn epochs_are_evaluated_on_samples_where_fanouts_are_given() {
    let folder = tempfile::tempdir().unwrap();
    let (full, sampled) = (folder.path().join("full"), folder.path().join("sampled"));
    for threads in ["0", "2"] {
        let flags =
            format!("--mode sample --batch-size 4 --eval-every 1 --sampler-threads {threads}");
        train(&full, &flags).success();
        train(&sampled, &format!("{flags} --eval-fanouts -1,-1")).success();
        assert_eq!(weights(&full), weights(&sampled));
        for (full, sampled) in metrics(&full).iter().zip(&metrics(&sampled)) {
            for key in ["val_acc", "test_acc", "validation"] {
                assert_eq!(full.get(key), sampled.get(key), "all neighbours: the full graph");
            }
        }
        assert!(metrics(&sampled)[0]["train_acc"].is_null());
        // With few neighbours it is an estimate, the same each time.
        let few = format!("{flags} --eval-fanouts 1,1 --keep best --checkpoint-every 2");
        train(&full, &few).success();
        train(&sampled, &format!("{few} --epochs 3")).success();
        resume(&sampled, "--epochs 6").success();
        assert_eq!(weights(&full), weights(&sampled));
        let scores =
            |out: &Path| metrics(out).iter().map(|l| l["val_acc"].clone()).collect::<Vec<_>>();
        assert_eq!(scores(&full), scores(&sampled));
    }
}

#[test]
fn training_ends_with_the_weights_that_are_to_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (out, whole) = (folder.path().join("out"), folder.path().join("whole"));
    for (flags, best) in [
        ("--keep best", true),
        ("--keep best --eval-every 3", true),
        ("--patience 30", true),
        ("--patience 30 --keep last", false),
        ("--keep best --schedule plateau,patience=1 --mode sample --batch-size 4", true),
    ] {
        let flags = format!("{flags} --lr 0.3 --dropout 0.2 --checkpoint-every 7");
        train(&whole, &format!("{flags} --epochs 25")).success();
        let lines = metrics(&whole);
        let (last, epochs) = lines.split_last().unwrap();
        let scores = epochs
            .iter()
            .filter_map(|line| Some((line["epoch"].as_u64()?, line["val_acc"].as_f64()?)));
        let scores: Vec<(u64, f64)> = scores.collect();
        let highest = scores.iter().map(|(_, score)| *score).fold(0.0, f64::max);
        let first = scores.iter().find(|(_, score)| *score >= highest).unwrap().0;
        assert!(first < 25, "{flags}: the last epoch is the best");
        let expected = if best { first } else { 25 };
        assert_eq!(last["epoch"], expected, "{flags}");
        if best {
            assert_eq!(last["val_acc"].as_f64().unwrap().to_bits(), highest.to_bits(), "{flags}");
        }
        train(&out, &format!("{flags} --epochs 14")).success();
        resume(&out, "--epochs 25").success();
        assert_eq!(weights(&out), weights(&whole), "{flags}");
    }
}

#[test]
fn the_area_of_many_classes_is_computed_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    let has_area = |flags: &str| {
        train(out, &format!("--epochs 1 {flags}")).success();
        metrics(out)[1]["test_roc_auc"].is_number()
    };
    assert!(has_area(""), "two classes");
    let many = "--task multilabel --label-key features";
    assert!(!has_area(many));
    assert!(has_area(&format!("{many} --metrics roc_auc")));
}

#[test]
fn what_has_no_effect_or_no_validation_nodes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    for (flags, message) in [
        ("--eval-every 0", "--eval-every: must be 1 or more"),
        ("--eval-fanouts 2,2", "--eval-fanouts has no effect with --mode full"),
        ("--mode sample --eval-fanouts 2,2", "--eval-fanouts: no epoch is evaluated"),
        (
            "--mode sample --eval-every 1 --eval-fanouts 2",
            "--eval-fanouts: 1 fan-outs for 2 layers",
        ),
        (
            "--mode sample --task link --eval-every 1 --eval-fanouts 2,2",
            "--eval-fanouts: is for models of nodes",
        ),
        (
            "--mode sample --task link --metrics roc_auc",
            "--metrics: the area of edges is always computed",
        ),
        ("--task regression --metrics roc_auc", "--metrics: a regression has no classes"),
        (
            "--mode sample --task link --split val=0 --keep best",
            "--keep: there are no validation edges",
        ),
    ] {
        train(out, flags).code(1).stderr(contains(message));
    }
}
