//! `examples/from_sar.rs`, the loop of SAR's guide: the losses of `sar-single` with the same model, at every budget.

use std::process::Command;

use super::common::{epochs, repository};
use super::example::example;

/// The losses that the example prints.
fn losses(budget: &str) -> Vec<f64> {
    let output = example("from_sar").args(["data/karate/karate.json", budget]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap()
}

pub(crate) fn trains() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sar-single"));
    command.arg("--part-json").arg(repository("data/karate/karate.json")).arg("--out").arg(&out);
    command.args(["--model", "sage", "--layers", "3", "--hidden", "16", "--dropout", "0"]);
    command.args(["--lr", "0.01", "--epochs", "20", "--memory-budget", "min"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let epochs = epochs(&out);
    let expected: Vec<f64> = epochs.iter().map(|line| line["loss"].as_f64().unwrap()).collect();
    assert_eq!(expected.len(), 20);
    assert_eq!(losses("min"), expected);
    assert_eq!(losses("4GiB"), expected);
}
