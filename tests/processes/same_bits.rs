//! Trained weights do not depend on a run's use of memory, disk and processors.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::common::metrics;
use super::program::Program;

/// Rows of megabytes, so that spill and exchange files are larger than one request to the disk.
fn graph(folder: &Path) -> std::path::PathBuf {
    let sizes = "generate --nodes 24000 --edges 120000 --features 48 --classes 8 --num-parts 3";
    let out = folder.join("graph");
    let mut command = Program::new();
    command.args(sizes.split(' ')).arg("--out").arg(&out).assert().success();
    out.join("g.json")
}

/// The weights after three epochs and the bytes that were written in the last one.
fn train(json: &Path, flags: &str) -> (Vec<u8>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut command = Program::new();
    command.arg("--part-json").arg(json).arg("--out").arg(&run);
    command.arg("--spill-dir").arg(folder.path().join("spill"));
    command.args("--hidden 96 --epochs 3".split(' ')).args(flags.split(' ')).assert().success();
    // With the zeros, whose number depends on rounding.
    let bytes = |line: serde_json::Value| {
        line["bytes_written_unpacked"].as_u64().or(line["bytes_written"].as_u64())
    };
    let written = metrics(&run).into_iter().filter_map(bytes).next_back();
    (fs::read(run.join("model.safetensors")).unwrap(), written.unwrap())
}

/// The weights, and the bytes that are written if nothing is kept.
fn check(dtype: &str) -> (Vec<u8>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let json = graph(folder.path());
    let train = |flags: &str| train(&json, &format!("{dtype} {flags}"));
    let (weights, least) = train("--memory-budget min");
    let (same, most) = train("--memory-budget 4GiB");
    assert!(same == weights, "all in memory");
    assert!(most < least, "{most} bytes are written with everything in memory, {least} else");
    for flags in [
        "--memory-budget 200MiB --io buffered",
        "--memory-budget min --io buffered --resident 2",
        "--memory-budget 4GiB --resident 3 --threads 1",
    ] {
        assert!(train(flags).0 == weights, "{flags}");
    }
    (weights, least)
}

#[test]
fn budgets_residents_threads_and_ways_to_the_disk_do_not_change_a_bit() {
    let ((_, single), (kept, half)) = (check("--spill-dtype f32"), check("--spill-dtype bf16"));
    // Structure and narrow matrices stay as they are.
    assert!(half < single * 2 / 3, "{half} bytes of bfloat16s, {single} of floats");
    let (computed, bytes) = check("--compute-dtype bf16");
    assert!(computed != kept, "products are of bfloat16s, too");
    assert!(bytes <= half, "{bytes} bytes, {half} with --spill-dtype alone");
}

const PAPERS: usize = 3000;
const WORDS: usize = 400;

/// Papers with four of 400 words each, one of which depends on the label.
fn papers(folder: &Path) -> std::path::PathBuf {
    let hash = |of: usize| of.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
    let entries = 4 * PAPERS;
    let mut words =
        format!("%%MatrixMarket matrix coordinate real general\n{PAPERS} {WORDS} {entries}\n");
    let (mut edges, mut labels) = (String::new(), String::new());
    for paper in 0..PAPERS {
        let label = hash(paper) % 5;
        writeln!(labels, "{label}").unwrap();
        for word in 0..4 {
            let column = word * 100 + if word == 0 { label } else { hash(7 * paper + word) % 100 };
            let value = if word == 0 { "2" } else { "0.1" };
            writeln!(words, "{} {} {value}", paper + 1, column + 1).unwrap();
            writeln!(edges, "{paper} {}", hash(5 * paper + word) % PAPERS).unwrap();
        }
    }
    fs::write(folder.join("words.mtx"), words).unwrap();
    fs::write(folder.join("edges.txt"), edges).unwrap();
    fs::write(folder.join("labels.txt"), labels).unwrap();
    fs::write(folder.join("some.txt"), "5\n1200\n2999\n").unwrap();
    let partition = "partition --edges edges.txt --node-data feat=words.mtx --node-data label=labels.txt \
        --split random:0.6,0.2,0.2 --num-parts 3 --out graph";
    Program::new().args(partition.split_whitespace()).current_dir(folder).assert().success();
    folder.join("graph/g.json")
}

/// The loss of the first epoch.
fn first_loss(json: &Path, flags: &str) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut command = Program::new();
    command.arg("--part-json").arg(json).arg("--out").arg(&run).args(["--dropout", "0"]);
    command.args("--hidden 16 --layers 2 --epochs 2".split(' ')).args(flags.split(' '));
    command.assert().success();
    let lines = metrics(&run);
    let losses: Vec<f64> = lines.iter().filter_map(|line| line["loss"].as_f64()).collect();
    // Updates of the first layer's weights, from entries, have the right sign.
    assert!(losses[1] < losses[0], "{flags}: {losses:?}");
    losses[0]
}

#[test]
fn all_ways_to_train_on_few_words_compute_the_same_loss() {
    let folder = tempfile::tempdir().unwrap();
    let json = papers(folder.path());
    let models = ["--model sage", "--model gcn", "--model gin"];
    // A layer per edge type starts with other values.
    for model in models.map(|model| [model.to_owned(), format!("{model} --hetero sum")]).concat() {
        let loss = |flags: &str| first_loss(&json, &format!("{model} --memory-budget min {flags}"));
        let full = loss("--mode full");
        for (flags, error) in [
            ("--mfg", 1e-5),
            ("--mode sample --fanouts -1,-1 --reduce weighted", 1e-5),
            ("--compute-dtype bf16", 0.03),
            ("--compute-dtype bf16 --mode sample --fanouts -1,-1 --reduce weighted", 0.03),
        ] {
            let found = loss(flags);
            assert!((found / full - 1.0).abs() < error, "{model} {flags}: {found}, not {full}");
        }
    }
}

#[test]
fn features_of_few_words_are_held_and_multiplied_as_such_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let json = papers(folder.path());
    for model in [
        "--model sage",
        "--model gcn --mfg",
        "--model gat --heads 2",
        "--model sage --compute-dtype bf16",
        "--model sage --hetero sum",
        "--model sage --mode sample --fanouts 5,5,5 --batch-size 200",
    ] {
        let train = |flags: &str| train(&json, &format!("{model} {flags}")).0;
        let weights = train("--memory-budget min");
        for flags in ["--memory-budget 4GiB", "--memory-budget 4GiB --resident 3 --threads 1"] {
            assert!(train(flags) == weights, "{model} {flags}");
        }
    }
    let words =
        "--part-json graph/g.json --layers 2 --epochs 30 --hidden 16 --memory-budget min --out run";
    Program::new().args(words.split(' ')).current_dir(folder.path()).assert().success();
    let lines = metrics(&folder.path().join("run"));
    let numbers = |name: &str| lines.iter().filter_map(|line| line[name].as_f64()).next_back();
    // The features alone have 4.8 million bytes as a matrix, which an epoch uses four times.
    let read = numbers("bytes_read").unwrap();
    assert!(read < 4.8e6, "{read} bytes were read");
    let accuracy = numbers("test_acc").unwrap();
    assert!(accuracy > 0.9, "{accuracy}");

    let predict = |nodes: &str| {
        let words = format!("predict --run run --output logits --overwrite --out o.csv {nodes}");
        Program::new().args(words.split_whitespace()).current_dir(folder.path()).assert().success();
        fs::read_to_string(folder.path().join("o.csv")).unwrap()
    };
    let (all, some) = (predict(""), predict("--nodes some.txt"));
    assert_eq!(some.lines().count(), 4);
    some.lines().for_each(|line| assert!(all.lines().any(|other| other == line), "{line}"));
}
