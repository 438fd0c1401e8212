//! Training with bfloat16 compared with training in single precision.
#![cfg(feature = "torch")]
#![allow(clippy::unwrap_used)]

#[path = "common/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;

use program::Program;

/// Features of an odd number of columns, and hidden layers and classes that are wide enough to be narrowed.
fn graph(folder: &Path) -> PathBuf {
    let sizes = "generate --nodes 1500 --edges 20000 --features 33 --classes 20 --num-parts 3";
    let out = folder.join("graph");
    let mut command = Program::new();
    command.args(sizes.split(' ')).arg("--out").arg(&out).assert().success();
    out.join("g.json")
}

/// Logits, loss and gradients of the first step.
fn step(json: &Path, flags: &str) -> BTreeMap<String, Vec<f32>> {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("step.safetensors");
    let mut command = Program::new();
    command.arg("--part-json").arg(json);
    command.arg("--spill-dir").arg(folder.path()).arg("--dump-step").arg(&dump);
    let hidden = if flags.contains("sgc") { "--threads 2" } else { "--threads 2 --hidden 32" };
    command.args(hidden.split(' ')).args(flags.split(' ')).assert().success();
    let bytes = std::fs::read(dump).unwrap();
    let values = |data: &[u8]| {
        let (values, rest) = data.as_chunks::<4>();
        assert!(rest.is_empty());
        values.iter().map(|value| f32::from_le_bytes(*value)).collect::<Vec<_>>()
    };
    let arrays = SafeTensors::deserialize(&bytes).unwrap();
    arrays.iter().map(|(name, view)| (name.to_owned(), values(view.data()))).collect()
}

fn norm(values: impl Iterator<Item = f32>) -> f64 {
    values.map(|x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt()
}

/// The largest norm of a gradient. Gradients that are negligible against it (the gradient of a bias in front of a batch
/// normalisation is 0) are compared with a fraction of it.
fn scale(step: &BTreeMap<String, Vec<f32>>) -> f64 {
    let gradients = step.iter().filter(|(name, _)| name.starts_with("grad."));
    gradients.map(|(_, values)| norm(values.iter().copied())).fold(0.0, f64::max)
}

#[test]
fn every_model_has_the_gradients_of_single_precision_to_some_percent() {
    let folder = tempfile::tempdir().unwrap();
    let json = graph(folder.path());
    for model in [
        "--model sage --layers 3 --norm batch --dropout 0.3",
        "--model sage --aggregator gcn --mfg",
        "--model sage --aggregator pool --no-remat",
        "--model gcn --norm layer --one-shot",
        "--model gat --hidden 8 --attention-dropout 0.2",
        "--model gatv2 --hidden 8 --residual",
        "--model gin --jk cat",
        "--model rgcn",
        "--model appnp",
        "--model sgc",
        "--model sign",
    ] {
        let model = model.replace("--hidden 8", "--heads 4");
        let (exact, ours) =
            (step(&json, &model), step(&json, &format!("{model} --compute-dtype bf16")));
        assert!(exact.keys().eq(ours.keys()), "{model}");
        let scale = scale(&exact);
        for (name, exact) in &exact {
            let floor = if name.starts_with("grad.") { 0.1 * scale } else { 0.0 };
            let difference = norm(exact.iter().zip(&ours[name]).map(|(a, b)| a - b));
            let error = difference / norm(exact.iter().copied()).max(floor);
            let most = if name.starts_with("grad.") { 0.08 } else { 0.01 };
            assert!(error < most, "{model}: {name} is wrong by {error}");
            assert!(name != "logits" || error > 1e-5, "{model}: nothing was rounded");
        }
    }
}
