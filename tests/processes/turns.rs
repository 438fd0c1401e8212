//! Hand-overs depend only on the number of layers, and results do not depend on which ranks are resident when.

use std::path::Path;

use super::common::{epochs, repository, shared};
use super::program::Program;

fn train(json: &Path, out: &Path, more: &[&str]) -> Vec<serde_json::Value> {
    Program::new()
        .arg("--part-json")
        .arg(json)
        .args(["--epochs", "3", "--hidden", "8", "--spill-dir"])
        .arg(out.join("spill"))
        .arg("--out")
        .arg(out)
        .args(more)
        .assert()
        .success();
    epochs(out)
}

#[test]
fn turns_per_epoch_are_bounded_by_the_number_of_layers() {
    let mut graphs = vec![repository("data/karate/karate.json")];
    graphs.extend(shared("golden").map(|golden| golden.join("cora/p4/cora.json")));
    for aggregator in ["mean", "gcn", "pool"] {
        for layers in 1..=4_u64 {
            let turns = graphs.iter().map(|json| {
                let folder = tempfile::tempdir().unwrap();
                let flags = ["--aggregator", aggregator, "--layers", &layers.to_string()];
                let epochs = train(json, folder.path(), &flags);
                let turns: Vec<_> =
                    epochs.iter().map(|e| e["lock_turns"].as_u64().unwrap()).collect();
                assert!(turns[1..].iter().all(|t| *t == turns[1]), "{turns:?}");
                assert!(turns[0] >= turns[1], "{turns:?}");
                turns[1]
            });
            let turns: Vec<_> = turns.collect();
            assert!(turns[0] <= 2 * layers + 4, "{aggregator}, {layers} layers: {turns:?}");
            assert!(turns.iter().all(|t| *t == turns[0]), "depends on the world size: {turns:?}");
        }
    }
}

#[test]
fn features_are_aggregated_in_the_first_epoch_alone() {
    let json = repository("data/karate/karate.json");
    // Wider than the features, so that they are aggregated before they are multiplied.
    for model in ["sage", "gcn", "gin"] {
        let folder = tempfile::tempdir().unwrap();
        let flags = format!("--model {model} --hidden 40 --patience 9 --val-mask-key train_mask");
        let flags: Vec<_> = flags.split(' ').collect();
        let epochs = train(&json, folder.path(), &flags);
        let turns: Vec<_> = epochs.iter().map(|e| e["lock_turns"].as_u64().unwrap()).collect();
        // The first evaluation does not need it any more.
        assert_eq!(turns[0] - 1, turns[1], "{model}: {turns:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_weights_whoever_is_resident() {
    let json = repository("data/karate/karate.json");
    let weights = |more: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        train(&json, folder.path(), more);
        std::fs::read(folder.path().join("model.safetensors")).unwrap()
    };
    let first = weights(&["--resident", "1"]);
    assert_eq!(first, weights(&["--resident", "1"]));
    assert_eq!(first, weights(&["--resident", "2"]));
    assert_eq!(first, weights(&["--threads", "1"]));
    assert_ne!(first, weights(&["--seed", "1"]));
}
