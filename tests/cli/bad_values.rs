//! Values in the input, or results of training, that would make a model useless.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use assert_cmd::assert::Assert;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use sar::formats::dgl::Partition;
use sar::formats::dgl::config::PartitionConfig;

use super::common::{copy_folder, epochs, repository};
use super::program::Program;

/// A copy of the karate club that may be damaged.
fn karate(folder: &Path) -> PathBuf {
    copy_folder(&repository("data/karate"), &folder.join("graph"));
    folder.join("graph/karate.json")
}

/// Overwrites an element of a node feature (or of an edge feature) of partition 1.
fn poke(json: &Path, (of_edges, key): (bool, &str), row: u64, column: u64, bytes: &[u8]) {
    let config = PartitionConfig::open(json).unwrap();
    let partition = Partition::open(&config, 1).unwrap();
    let set = if of_edges { partition.edge_features() } else { partition.node_features() };
    let array = set.lookup(key).unwrap()[0].unwrap().array().clone();
    assert_eq!(array.dtype().size(), bytes.len());
    let place = array.offset() + (row * array.row_len() + column) * bytes.len() as u64;
    let file = OpenOptions::new().write(true).open(set.path()).unwrap();
    file.write_all_at(bytes, place).unwrap();
}

fn train(json: &Path, folder: &Path, more: &str) -> Assert {
    let mut command = Program::new();
    command.arg("--part-json").arg(json).arg("--spill-dir").arg(folder.join("spill"));
    command.arg("--out").arg(folder.join("out")).args(["--hidden", "8", "--epochs", "2"]);
    command.args(more.split_whitespace()).assert()
}

fn predict(json: &Path, folder: &Path) -> Assert {
    let mut command = Program::new();
    command.arg("predict").arg("--overwrite").arg("--run").arg(folder.join("out"));
    command.arg("--part-json").arg(json);
    command.arg("--spill-dir").arg(folder.join("spill"));
    command.arg("--out").arg(folder.join("classes.npy")).assert()
}

const MODES: [&str; 5] = [
    "",
    "--mode sample --batch-size 4",
    "--mfg --normalize-features row",
    "--one-shot --compute-dtype bf16",
    "--task link --mode sample --normalize-features row",
];

#[test]
fn features_that_are_not_finite_are_named_by_file_key_row_and_value() {
    for (bad, shown) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
        for mode in MODES {
            let folder = tempfile::tempdir().unwrap();
            let json = karate(folder.path());
            poke(&json, (false, "features"), 7, 3, &bad.to_le_bytes());
            let place = "part1/node_feat.dgl: _N/features: row 7, column 3 holds ";
            let found = format!("{place}{shown}, which is not a finite number");
            train(&json, folder.path(), mode).code(1).stderr(contains(found));
            assert!(!folder.path().join("out/model.safetensors").exists());
        }
    }
}

#[test]
fn a_prediction_checks_its_features_too() {
    let folder = tempfile::tempdir().unwrap();
    let json = karate(folder.path());
    train(&json, folder.path(), "").success();
    predict(&json, folder.path()).success();
    poke(&json, (false, "features"), 0, 0, &f32::NAN.to_le_bytes());
    predict(&json, folder.path()).code(1).stderr(contains("row 0, column 0 holds NaN"));
}

#[test]
fn edge_weights_that_are_not_finite_are_named() {
    for mode in ["--model gcn", "--model sage --mode sample", "--edge-prob weight --mode sample"] {
        let folder = tempfile::tempdir().unwrap();
        let json = karate(folder.path());
        poke(&json, (true, "weight"), 5, 0, &f32::INFINITY.to_le_bytes());
        let key = if mode.contains("prob") { "" } else { " --edge-weight-key weight" };
        train(&json, folder.path(), &format!("{mode}{key}"))
            .code(1)
            .stderr(contains("part1/edge_feat.dgl: _N:_E:_N/weight: row 5").and(contains("inf")));
    }
}

#[test]
fn a_row_whose_sum_is_too_small_to_divide_by_is_named() {
    for mode in ["", "--mode sample"] {
        let folder = tempfile::tempdir().unwrap();
        let json = karate(folder.path());
        let config = PartitionConfig::open(&json).unwrap();
        let partition = Partition::open(&config, 1).unwrap();
        let features = partition.node_features().lookup("features").unwrap()[0].unwrap();
        for column in 0..features.array().row_len() {
            let value = [3e38_f32, -3e38, 1e-3].get(column as usize).copied().unwrap_or(0.0);
            poke(&json, (false, "features"), 2, column, &value.to_le_bytes());
        }
        train(&json, folder.path(), &format!("{mode} --normalize-features row"))
            .code(1)
            .stderr(contains("_N/features: row 2 sums to "));
    }
}

#[test]
fn a_label_that_is_too_large_for_a_class_is_named() {
    for label in [1_000_000_000, 1_000_000, i64::MAX] {
        for mode in ["", "--mode sample"] {
            let folder = tempfile::tempdir().unwrap();
            let json = karate(folder.path());
            poke(&json, (false, "labels"), 5, 0, &label.to_le_bytes());
            let found = format!("row 5 holds {label}, which is too large for a class");
            train(&json, folder.path(), mode)
                .code(1)
                .stderr(contains("part1/node_feat.dgl: ").and(contains(found)))
                .stderr(contains("34 labelled nodes a number must be below 1000000"));
        }
    }
}

#[test]
fn classes_that_no_node_has_get_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let json = karate(folder.path());
    train(&json, folder.path(), "").success().stderr(contains("labelled node").not());
    poke(&json, (false, "labels"), 5, 0, &40_i64.to_le_bytes());
    train(&json, &folder.path().join("again"), "")
        .success()
        .stderr(contains("of 41 classes have no labelled node: "));
}

#[test]
fn start_weights_that_are_not_finite_are_named_by_tensor() {
    let folder = tempfile::tempdir().unwrap();
    let json = karate(folder.path());
    train(&json, folder.path(), "").success();
    let path = folder.path().join("weights.safetensors");
    let bytes = fs::read(folder.path().join("out/model.safetensors")).unwrap();
    // A file as another program writes it, without a checksum.
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut bytes = safetensors::serialize(tensors.iter(), None).unwrap();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let other = folder.path().join("other");
    train(&json, &other, &format!("--init-params {}", path.display()))
        .code(1)
        .stderr(contains("weights.safetensors: convs.").and(contains(" is NaN, which is not")));
}

#[test]
fn start_weights_of_another_model_show_their_keys_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let json = karate(folder.path());
    train(&json, folder.path(), "").success();
    let path = folder.path().join("weights.safetensors");
    let refused = |content: Vec<u8>, problem: &str, hint: &str| {
        fs::write(&path, content).unwrap();
        let flags = format!("--init-params {}", path.display());
        train(&json, &folder.path().join("other"), &flags)
            .code(1)
            .stderr(contains(problem).and(contains(hint)));
    };
    let bytes = fs::read(folder.path().join("out/model.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let renamed = tensors.iter().map(|(name, tensor)| (format!("module.{name}"), tensor));
    let renamed = safetensors::serialize(renamed, None).unwrap();
    let problem = "is missing; keys in the file: [module.convs.0.";
    refused(renamed, problem, "remove \"module.\" from the beginning of each key");
    let first = tensors.iter().filter(|(name, _)| name.starts_with("convs.0."));
    let first = safetensors::serialize(first, None).unwrap();
    refused(first, "is missing; keys in the file: [convs.0.", "init_params=MODULE");
    refused(b"PK\x03\x04 and more".to_vec(), "torch.save wrote it", "save_file(torch.load(");
    poke(&json, (false, "labels"), 5, 0, &40_i64.to_le_bytes());
    refused(bytes.clone(), "outputs, but labels go up to 40", "--label-key KEY");
}

#[test]
fn outputs_beyond_the_names_of_classes_have_numbers() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [other, own] = [folders[0].path(), folders[1].path()];
    let graphs = [karate(other), karate(own)];
    poke(&graphs[0], (false, "labels"), 5, 0, &40_i64.to_le_bytes());
    train(&graphs[0], other, "").success();
    fs::write(own.join("graph/class_names.txt"), "one\ntwo\n").unwrap();
    let weights = other.join("out/model.safetensors");
    train(&graphs[1], own, &format!("--init-params {}", weights.display()))
        .success()
        .stderr(contains("of 41 classes have no labelled node: "));
    let table = own.join("table.csv");
    let mut command = Program::new();
    command.arg("predict").arg("--run").arg(own.join("out")).arg("--out").arg(&table);
    let predicted = command.args(["--output", "probabilities"]).assert().success();
    predicted.stderr(contains("the graph names 2 classes, but the model has 41"));
    let text = fs::read_to_string(table).unwrap();
    assert!(text.contains(",probability_one,probability_two,probability_2,probability_3,"));
}

#[test]
fn counts_beyond_any_disk_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let json = karate(folder.path());
    let text = fs::read_to_string(&json).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["num_nodes"] = (1_u64 << 62).into();
    fs::write(&json, value.to_string()).unwrap();
    train(&json, folder.path(), "").code(1).stderr(contains("karate.json: num_nodes: "));
    value["node_map"]["_N"][1][1] = (1_u64 << 62).into();
    fs::write(&json, value.to_string()).unwrap();
    train(&json, folder.path(), "").code(1).stderr(contains("at most 2^40 are possible"));
}

fn losses(folder: &Path) -> Vec<serde_json::Value> {
    epochs(&folder.join("out")).iter().map(|line| line["loss"].clone()).collect()
}

/// Whether float32 values are finite.
fn is_finite(values: &[u8]) -> bool {
    values.as_chunks::<4>().0.iter().all(|value| f32::from_le_bytes(*value).is_finite())
}

/// Rates at which each kind of training diverges within a few epochs.
fn diverging() -> Vec<(PathBuf, String)> {
    let karate = repository("data/karate/karate.json");
    let uneven = repository("tests/fixtures/hetero_uneven/g.json");
    let flags = "--optimizer sgd --lr 1000 --weight-decay 1000000 --dropout 0 --epochs 60";
    vec![
        (karate.clone(), flags.to_owned()),
        (karate.clone(), format!("{flags} --mode sample")),
        (karate, format!("{flags} --task link --mode sample")),
        (uneven.clone(), flags.to_owned()),
        (uneven, format!("{flags} --mode sample")),
    ]
}

#[test]
fn a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_good_checkpoint() {
    for (json, flags) in diverging() {
        let folder = tempfile::tempdir().unwrap();
        let run = train(&json, folder.path(), &format!("{flags} --checkpoint-every 1")).code(3);
        let losses = losses(folder.path());
        let stderr = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
        assert!(stderr.contains("hint: lower --lr, or set --clip-norm 1"), "{flags}: {stderr}");
        assert!(!stderr.contains("resume with"), "{flags}: {stderr}");
        let last = losses.len();
        assert!(last < 60, "{flags}: {losses:?}");
        let named = [format!("the loss of epoch {last} is "), format!("update of epoch {last}")];
        assert!(named.iter().any(|text| stderr.contains(text)), "{flags}: {stderr}");
        assert!(losses[..last - 1].iter().all(serde_json::Value::is_number), "{flags}: {losses:?}");
        assert!(!folder.path().join("out/model.safetensors").exists(), "{flags}");
        let checkpoint = folder.path().join("out/checkpoint.safetensors");
        if last > 1 {
            let bytes = fs::read(checkpoint).unwrap();
            let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
            assert!(is_finite(file.tensor("parameters").unwrap().data()), "{flags}");
            let status = Program::new().arg("status").arg(folder.path().join("out")).assert();
            let complete = format!("diverged, {} of 60 epochs complete\n", last - 1);
            status.success().stdout(contains(complete).and(contains("resume with").not()));
            let weights = "hint: training writes weights at its end; `sar-single status ";
            predict(&json, folder.path()).code(1).stderr(contains(weights));
        } else {
            assert!(!checkpoint.exists(), "{flags}");
        }
    }
}

#[test]
fn a_run_may_go_on_with_a_loss_that_is_not_finite_and_notes_it_once() {
    for (json, flags) in diverging() {
        let folder = tempfile::tempdir().unwrap();
        let flags = format!("{flags} --checkpoint-every 1 --on-nan go-on");
        let run = train(&json, folder.path(), &flags).success();
        let stderr = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
        let notes: Vec<&str> = stderr.lines().filter(|line| line.contains("not finite")).collect();
        assert_eq!(notes.len(), 1, "{flags}: {stderr}");
        let losses = losses(folder.path());
        assert_eq!(losses.len(), 60, "{flags}");
        assert!(losses[59].is_null(), "{flags}: {losses:?}");
        assert!(!folder.path().join("out/model.safetensors").exists(), "{flags}");
        assert!(stderr.contains("next: sar-single report"), "{flags}: {stderr}");
    }
}

#[test]
fn the_best_weights_remain_if_later_ones_are_not_finite() {
    let (json, flags) = diverging().swap_remove(0);
    let folder = tempfile::tempdir().unwrap();
    let flags = format!("{flags} --keep best");
    let weights = folder.path().join("out/model.safetensors");
    train(&json, folder.path(), &flags).code(3).stderr(contains("hint: lower --lr"));
    assert!(!weights.exists());
    train(&json, folder.path(), &format!("{flags} --on-nan go-on --overwrite")).success();
    assert!(losses(folder.path())[59].is_null());
    let bytes = fs::read(weights).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert!(file.iter().all(|(_, tensor)| is_finite(tensor.data())));
}
