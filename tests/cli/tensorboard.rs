//! `--tensorboard` writes files that TensorBoard reads.

use std::io::Write;
use std::path::Path;

use predicates::str::contains;

use super::common::{epochs, repository};
use super::program::sar;

fn train(folder: &Path, words: &str) -> assert_cmd::assert::Assert {
    let json = repository("data/karate/karate.json");
    sar(folder, &format!("--part-json {} --layers 2 --hidden 8 {words}", json.display()))
}

const READ: &str = r#"
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
events.Reload()
tags = events.Tags()["scalars"]
print(json.dumps({tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in tags}))
"#;

/// Steps and values by tag that TensorBoard's own reader finds in a folder. `None`, and a line on the terminal, without it.
fn read(folder: &Path) -> Option<serde_json::Value> {
    let Ok(python) = std::env::var("SAR_TENSORBOARD_PYTHON") else {
        // This bypasses libtest's capture, so that a skipped test never looks like one that ran.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: SAR_TENSORBOARD_PYTHON names no Python with tensorboard"
        );
        return None;
    };
    let output =
        std::process::Command::new(python).args(["-c", READ]).arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// The values of a field by epoch, as metrics.jsonl has them.
fn metrics(folder: &Path, field: &str) -> Vec<(u64, f64)> {
    let epochs = epochs(folder);
    let lines = epochs.iter();
    lines.map(|line| (line["epoch"].as_u64().unwrap(), line[field].as_f64().unwrap())).collect()
}

fn check(folder: &Path, run: &str, events: &str) {
    let Some(found) = read(&folder.join(events)) else { return };
    let expected = metrics(&folder.join(run), "loss");
    let loss = found["loss"].as_array().unwrap();
    assert_eq!(loss.len(), expected.len(), "{found}");
    for (point, (epoch, value)) in loss.iter().zip(expected) {
        assert_eq!(point[0].as_u64(), Some(epoch));
        assert!((point[1].as_f64().unwrap() - value).abs() < 1e-6 * value.abs().max(1.0));
    }
    assert_eq!(found["evaluation/acc/test"].as_array().unwrap().len(), 1, "{found}");
}

#[test]
fn tensorboards_reader_finds_every_epoch_once_even_after_a_resume() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    train(folder, "--epochs 5 --checkpoint-every 2 --out a --tensorboard tb").success();
    check(folder, "a", "tb/a");
    // Epochs after the checkpoint are trained, and recorded, again.
    std::fs::remove_file(folder.join("a/checkpoint.safetensors")).unwrap();
    std::fs::rename(
        folder.join("a/checkpoint.previous.safetensors"),
        folder.join("a/checkpoint.safetensors"),
    )
    .unwrap();
    sar(folder, "--resume a --epochs 7").success();
    assert_eq!(metrics(&folder.join("a"), "loss").len(), 7);
    check(folder, "a", "tb/a");
    train(folder, "--epochs 2 --out b --tensorboard tb").success();
    check(folder, "b", "tb/b");
}

#[test]
fn events_of_another_run_are_not_replaced_unless_asked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    train(folder, "--epochs 1 --out x/run --tensorboard tb").success();
    let file = folder.join("tb/run/events.out.tfevents.sar-single");
    let before = std::fs::read(&file).unwrap();
    let refused = train(folder, "--epochs 1 --out y/run --tensorboard tb").code(1);
    refused
        .stderr(contains("holds the events of an earlier run"))
        .stderr(contains("--tensorboard"));
    assert!(std::fs::read(&file).unwrap() == before && !folder.join("y").exists());
    train(folder, "--epochs 1 --out x/run --tensorboard tb --overwrite").success();
    check(folder, "x/run", "tb/run");
    train(folder, "--dump-step s.safetensors --tensorboard tb2")
        .code(1)
        .stderr(contains("--tensorboard has no effect"));
    assert!(!folder.join("tb2").exists());
}
