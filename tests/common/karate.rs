//! Results of DGL and PyTorch on data/karate (tests/fixtures/karate_steps.py describes how the files are made), or on the graph
//! that a file names, compared with those of the built binary.

use std::path::{Path, PathBuf};

use safetensors::tensor::SafeTensors;

use super::common::{epochs, repository};
use crate::program::Program;

#[path = "tensor_files.rs"]
mod tensor_files;
pub(crate) use tensor_files::{Tensors, tensors};

/// The tolerance of the conformance check: |ours - DGL's| <= 1e-4 + 1e-4 |DGL's|; DGL's own float32 is within 1e-5.
const TOLERANCE: f64 = 1e-4;

pub(crate) struct Case {
    graph: PathBuf,
    flags: Vec<String>,
    pub(crate) tensors: Tensors,
    pub(crate) start: Vec<u8>,
}

/// A file in a folder of tests/fixtures.
pub(crate) fn case(folder: &str, name: &str) -> Case {
    let path = repository("tests/fixtures").join(folder).join(format!("{name}.safetensors"));
    let bytes = std::fs::read(path).unwrap();
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    let texts = metadata.metadata().as_ref().unwrap();
    let flags = serde_json::from_str(&texts["flags"]).unwrap();
    let graph = repository(texts.get("graph").map_or("data/karate/karate.json", String::as_str));
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let start = file.iter().filter_map(|(name, view)| Some((name.strip_prefix("param.")?, view)));
    let start = safetensors::serialize(start, None).unwrap();
    Case { graph, flags, tensors: tensors(&bytes), start }
}

/// Trains with the flags of the case.
pub(crate) fn run(case: &Case, folder: &Path, more: &[&str]) {
    let out = folder.join("run");
    start(case, folder, &[&["--out", out.to_str().unwrap()], more].concat());
}

fn start(case: &Case, folder: &Path, more: &[&str]) {
    let init = folder.join("start.safetensors");
    std::fs::write(&init, &case.start).unwrap();
    // SGC is one linear layer.
    let is_sgc = case.flags.iter().any(|flag| flag == "sgc");
    let hidden = if is_sgc { &[][..] } else { &["--hidden", "5", "--dropout", "0"] };
    Program::new()
        .args(hidden)
        .args(["--world-size", "2", "--part-json"])
        .arg(&case.graph)
        .arg("--init-params")
        .arg(&init)
        .arg("--spill-dir")
        .arg(folder)
        .args(&case.flags)
        .args(more)
        .assert()
        .success();
}

pub(crate) fn assert_close(what: &str, ours: &[f64], expected: &[f64]) {
    tensor_files::assert_close(what, ours, expected, TOLERANCE);
}

/// The losses of all epochs.
pub(crate) fn check_curve(folder: &str, name: &str) {
    let case = case(folder, name);
    let folder = tempfile::tempdir().unwrap();
    run(&case, folder.path(), &[]);
    let epochs = epochs(&folder.path().join("run"));
    let losses: Vec<f64> = epochs.iter().map(|line| line["loss"].as_f64().unwrap()).collect();
    assert_close(name, &losses, &case.tensors["losses"].1);
}

/// Logits, loss and gradients of the first step.
#[allow(dead_code)]
pub(crate) fn check_step(folder: &str, name: &str) {
    check_step_with(folder, name, &[]);
}

/// The same, with further flags.
#[allow(dead_code)]
pub(crate) fn check_step_with(folder: &str, name: &str, flags: &[&str]) {
    let case = case(folder, name);
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("step.safetensors");
    start(&case, folder.path(), &[&["--dump-step", dump.to_str().unwrap()], flags].concat());
    let ours = tensors(&std::fs::read(dump).unwrap());
    for (key, (shape, expected)) in &case.tensors {
        if !key.starts_with("param.") {
            let (our_shape, values) = &ours[key];
            assert_eq!(our_shape, shape, "{name} {key}");
            assert_close(&format!("{name} {key}"), values, expected);
        }
    }
}

/// The scores of Correct & Smooth with the start weights.
#[allow(dead_code)]
pub(crate) fn check_correct_and_smooth(folder: &str) {
    let scaled = "--correction-steps 7 --correction-alpha 0.9 --scale 1.5 --smoothing-steps 5 --smoothing-alpha 0.6";
    for (name, flags) in [("correct_and_smooth", ""), ("correct_and_smooth_scaled", scaled)] {
        let case = case(folder, name);
        let folder = tempfile::tempdir().unwrap();
        run(&case, folder.path(), &[]);
        let output = folder.path().join("scores.safetensors");
        Program::new()
            .args(["correct-and-smooth", "--output", "logits", "--run"])
            .arg(folder.path().join("run"))
            .arg("--out")
            .arg(&output)
            .args(flags.split_whitespace())
            .assert()
            .success();
        let ours = tensors(&std::fs::read(output).unwrap());
        let (shape, expected) = &case.tensors["scores"];
        assert_eq!(&ours["scores"].0, shape, "{name}");
        assert_close(name, &ours["scores"].1, expected);
    }
}
