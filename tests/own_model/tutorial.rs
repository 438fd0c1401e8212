//! `examples/from_ddp.rs`, DGL's tutorial of training with DistributedDataParallel: its output, its accuracy, and the weights it keeps.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::example::example;

/// The lines that a run prints.
fn lines(part_json: &Path, best: &Path, more: &[&str]) -> Vec<String> {
    let output = example("from_ddp").arg(part_json).arg(best).args(more).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

pub(crate) fn trains() {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("graph");
    let mut generate = Command::new(env!("CARGO_BIN_EXE_sar-single"));
    generate.args(["generate", "--nodes", "2708", "--edges", "10556", "--features", "64"]);
    generate.args(["--classes", "7", "--num-parts", "2", "--out"]).arg(&graph);
    assert!(generate.output().unwrap().status.success());
    let json = graph.join("g.json");
    let best = folder.path().join("best.safetensors");
    let run = |best: &Path| lines(&json, best, &["30", "64"]);
    let printed = run(&best);
    let steps: Vec<&String> = printed.iter().filter(|line| line.contains(" Step ")).collect();
    assert!(steps[0].starts_with("Epoch 00001 Step 00000 Loss "), "{steps:?}");
    assert!(steps[1].starts_with("Epoch 00001 Step 00010 Loss "), "{steps:?}");
    let judged = printed.iter().filter(|line| line.contains(" Validation Accuracy "));
    let judged: Vec<&str> = judged.map(|line| line.split(" Validation").next().unwrap()).collect();
    let due = ["Epoch 5", "Epoch 10", "Epoch 15", "Epoch 20", "Epoch 25", "Epoch 30", "Best"];
    assert_eq!(judged, due);
    // DGL reaches 0.87 to 0.88 on this graph with batches of 128 (benches/ddp_tutorial.py).
    let last = printed[printed.len() - 1].rsplit(' ').next().unwrap();
    assert!(last.parse::<f64>().unwrap() > 0.83, "{last}");
    let weights = fs::read(&best).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&weights).unwrap();
    let shape = |name: &str| tensors.tensor(name).unwrap().shape().to_vec();
    assert_eq!(shape("layers.0.fc_neigh.weight"), [128, 64]);
    assert_eq!(shape("layers.2.fc_self.weight"), [7, 128]);
    let again = folder.path().join("again.safetensors");
    assert_eq!(run(&again), printed);
    assert_eq!(fs::read(&again).unwrap(), weights);
}
