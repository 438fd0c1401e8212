//! Runs of the built binary on a graph whose node types have features of different widths, or none.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{metrics, repository};
use crate::program::{Program, sar};

/// The graph, in two partitions.
pub(crate) fn uneven() -> PathBuf {
    repository("tests/fixtures/hetero_uneven/g.json")
}

/// The graph in other partitions; those of "range" have the original order of nodes.
pub(crate) fn repartitioned(folder: &Path, parts: usize, method: &str) -> PathBuf {
    let out = folder.join(format!("p{parts}"));
    let mut command = Program::new();
    command.args(["partition", "--method", method, "--num-parts", &parts.to_string()]);
    command.arg("--part-json").arg(uneven()).arg("--out").arg(&out).assert().success();
    out.join("g.json")
}

/// Trains and leaves the results in `run` below the folder.
pub(crate) fn train(graph: &Path, folder: &Path, flags: &str) -> Program {
    let mut command = Program::new();
    command.arg("--part-json").arg(graph).arg("--out").arg(folder.join("run"));
    command.arg("--overwrite");
    command.arg("--spill-dir").arg(folder.join("spill")).args(flags.split_whitespace());
    command.args(["--hidden", "6", "--layers", "2"]);
    command
}

/// Writes the first step of a training to a file.
#[allow(dead_code)]
pub(crate) fn step(graph: &Path, folder: &Path, flags: &str, file: &Path) -> Program {
    let mut command = Program::new();
    command.arg("--part-json").arg(graph).arg("--dump-step").arg(file);
    command.arg("--spill-dir").arg(folder.join("spill")).args(flags.split_whitespace());
    command.args(["--hidden", "6", "--layers", "2"]);
    command
}

/// The bytes of the training's weights.
pub(crate) fn weights(folder: &Path) -> Vec<u8> {
    std::fs::read(folder.join("run/model.safetensors")).unwrap()
}

/// The bytes of the weights, and the losses, of a training that ends after the first number of epochs and is resumed for each of
/// the others.
pub(crate) fn resumed(graph: &Path, flags: &str, epochs: &[u32]) -> (Vec<u8>, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    train(graph, folder.path(), &format!("{flags} --epochs {}", epochs[0])).assert().success();
    for epochs in &epochs[1..] {
        sar(folder.path(), &format!("--resume run --epochs {epochs}")).success();
    }
    let run = folder.path().join("run");
    assert_eq!(run.read_dir().unwrap().count(), 7, "nothing is left behind");
    let losses = metrics(&run).iter().map(|line| line["loss"].clone()).collect();
    (weights(folder.path()), losses)
}
