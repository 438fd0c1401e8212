//! SGC and SIGN on batches of labelled nodes as a user sees them.

use std::path::{Path, PathBuf};

use predicates::str::contains;
use sar::testing::assert_near;

use super::common::{metrics, repository};
use super::program::sar;

const MODELS: [&str; 2] = ["--model sign --hops 2 --hidden 8 --layers 2", "--model sgc --hops 2"];

/// Trains with SGD, whose updates are proportional to gradients.
fn train(folder: &Path, json: &Path, flags: &str) {
    let how = "--optimizer sgd --lr 0.002 --seed 3 --overwrite --spill-dir spill --out run";
    sar(folder, &format!("--part-json {} {how} {flags}", json.display())).success();
}

fn weights(folder: &Path) -> Vec<u8> {
    std::fs::read(folder.join("run/model.safetensors")).unwrap()
}

/// All values of the weights.
fn values(folder: &Path) -> Vec<f64> {
    let bytes = weights(folder);
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let values = bytes[8 + header..].chunks_exact(4);
    values.map(|value| f64::from(f32::from_le_bytes(value.try_into().unwrap()))).collect()
}

/// A graph in partitions of very different sizes; the last one has no labelled nodes.
fn uneven(folder: &Path) -> PathBuf {
    let list = |name: &str, of: &dyn Fn(u32) -> String| {
        let lines: Vec<String> = (0..40).map(of).filter(|line| !line.is_empty()).collect();
        std::fs::write(folder.join(name), lines.join("\n") + "\n").unwrap();
    };
    list("edges.txt", &|node| {
        format!("{node} {}\n{node} {}", (node * 7 + 3) % 40, (node + 1) % 40)
    });
    list("feat.txt", &|node| {
        format!("{} {}", f64::from(node * node % 17) / 17.0, f64::from(node % 5))
    });
    list("label.txt", &|node| (node % 3).to_string());
    list("part.txt", &|node| (u32::from(node >= 6) + u32::from(node >= 30)).to_string());
    for (name, rest) in [("train.txt", 0), ("val.txt", 1)] {
        list(name, &|node| {
            if node < 30 && node % 2 == rest { node.to_string() } else { String::new() }
        });
    }
    let files = "--node-data feat=feat.txt --node-data label=label.txt --split train=train.txt \
                 --split val=val.txt --method file --assignment part.txt";
    sar(folder, &format!("partition --edges edges.txt {files} --num-parts 3 --out graph"))
        .success();
    folder.join("graph/g.json")
}

#[test]
fn batches_of_all_labelled_nodes_are_training_on_the_full_graph() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sar(folder, "generate --nodes 200 --edges 900 --classes 3 --num-parts 1 --out one").success();
    let karate = repository("data/karate/karate.json");
    for json in [karate, uneven(folder), folder.join("one/g.json")] {
        for model in MODELS {
            let train = |more: &str| {
                train(folder, &json, &format!("{model} --epochs 4 {more}"));
                let lines = metrics(&folder.join("run"));
                let losses = lines.iter().map(|line| line["loss"].as_f64().unwrap());
                (values(folder), losses.collect::<Vec<f64>>())
            };
            let (full, losses) = train("");
            let (same, same_losses) = train("--batch-size 1000");
            assert_near(&same, &full);
            assert_near(&same_losses, &losses);
            assert!(train("--batch-size 2").0 != full, "several updates in an epoch");
        }
    }
}

#[test]
fn the_same_bits_come_from_all_ways_to_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let json = uneven(folder);
    for model in MODELS {
        let run = |more: &str| {
            train(folder, &json, &format!("{model} --epochs 3 --batch-size 3 {more}"));
            weights(folder)
        };
        let usual = run("");
        for way in [
            "--memory-budget min",
            "--resident 1 --threads 1",
            "--resident 3",
            "--sampler-threads 2",
            "--log-every 1",
        ] {
            assert!(run(way) == usual, "{model} {way}");
        }
        run("--checkpoint-every 1");
        sar(folder, "--resume run --epochs 5").success();
        assert!(weights(folder) == run("--epochs 5"), "{model}, resumed");
    }
}

#[test]
fn predictions_are_those_of_the_model_on_the_full_graph() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let json = uneven(folder);
    for model in MODELS {
        train(folder, &json, &format!("{model} --epochs 3 --batch-size 3"));
        let last = metrics(&folder.join("run")).pop().unwrap();
        // The evaluation sees labelled nodes only; the prediction propagates over the graph again.
        let accuracy = format!("{:.2} %", 100.0 * last["val_acc"].as_f64().unwrap());
        sar(folder, "predict --run run --out classes.npy --overwrite")
            .success()
            .stderr(contains(accuracy));
    }
}
