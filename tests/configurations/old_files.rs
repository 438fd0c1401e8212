//! Runs of earlier versions are resumed and predicted. tests/fixtures/old_runs.py describes how their files were made.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use safetensors::SafeTensors;
use sar::nn::{GcnOptions, ModelKind, Norm, NormKind};
use sar::run::config::RunConfig;

use super::common::repository;

/// Placeholder of the graph's path in the files.
const GRAPH: &str = "@GRAPH@";

fn runs() -> Vec<PathBuf> {
    let folder = repository("tests/fixtures/old_runs");
    let mut runs: Vec<_> = fs::read_dir(folder).unwrap().map(|run| run.unwrap().path()).collect();
    runs.sort();
    runs
}

/// A copy of a run whose files name the graph at its present path.
fn copied(run: &Path, folder: &Path) -> PathBuf {
    let out = folder.join(run.file_name().unwrap());
    fs::create_dir(&out).unwrap();
    for file in fs::read_dir(run).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), out.join(file.file_name())).unwrap();
    }
    let config = fs::read_to_string(run.join("config.toml")).unwrap();
    let graph = repository(if config.contains("[relations]") {
        "tests/fixtures/hetero_uneven/g.json"
    } else {
        "data/karate/karate.json"
    });
    let named = |text: &str| text.replace(GRAPH, graph.to_str().unwrap());
    fs::write(out.join("config.toml"), named(&config)).unwrap();
    let bytes = fs::read(run.join("checkpoint.safetensors")).unwrap();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let mut texts = header.metadata().clone().unwrap();
    let config = texts.get_mut("config").unwrap();
    *config = named(config);
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let bytes = safetensors::serialize(tensors.iter(), Some(texts)).unwrap();
    fs::write(out.join("checkpoint.safetensors"), bytes).unwrap();
    out
}

fn succeed(run: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_sar-single")).args(args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {}\n{stderr}", run.display(), args.join(" "));
    stderr
}

#[test]
fn runs_of_earlier_versions_are_predicted_and_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let runs = runs();
    assert!(runs.len() >= 9, "one of each model");
    for run in runs {
        let out = copied(&run, folder.path());
        let (path, file) = (out.to_str().unwrap(), folder.path().join("p.npy"));
        let spill = folder.path().join("spill");
        let (file, spill) = (file.to_str().unwrap(), spill.to_str().unwrap());
        let predict =
            ["predict", "--overwrite", "--run", path, "--out", file, "--spill-dir", spill];
        succeed(&run, &predict);
        succeed(&run, &["--resume", path, "--epochs", "3", "--spill-dir", spill]);
        succeed(&run, &predict);
    }
}

#[test]
fn the_two_norms_of_an_old_gcn_are_told_apart() {
    let path = repository("tests/fixtures/old_runs/gcn/config.toml");
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("norm = ")).count(), 2);
    let config = RunConfig::from_toml(&path, &text).unwrap();
    assert_eq!(
        config.model.kind,
        ModelKind::Gcn(GcnOptions { norm: Norm::Right, edge_weights: false })
    );
    assert_eq!(config.model.norm, NormKind::Layer);
}
