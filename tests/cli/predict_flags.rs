//! Flags of `predict` that change nothing are refused: every flag of the parser's definition, for nodes, pairs and partners.

use std::fs;
use std::path::Path;

use clap::Arg;
use sar::cli::definition;

use super::common::repository;
use super::program::Program;

/// Flags about the way to the predictions, which stay the same.
const ABOUT_THE_WAY: [&str; 9] = [
    "run",
    "spill-dir",
    "memory-budget",
    "resident",
    "threads",
    "trace",
    "quiet",
    "verbose",
    "json",
];

/// Values of flags that do not list theirs.
const VALUES: [&str; 4] = ["1", "list.txt", "other/model.safetensors", "other.json"];

fn sar(folder: &Path, words: &[&str]) -> bool {
    let mut command = Program::new();
    command.current_dir(folder).args(words).output().unwrap().status.success()
}

fn train(folder: &Path, out: &str, more: &[&str]) {
    let json = repository("data/karate/karate.json").display().to_string();
    let usual = ["--part-json", &json, "--layers", "3", "--hidden", "4", "--epochs", "2"];
    assert!(sar(folder, &[&usual[..], &["--out", out], more].concat()), "{out}");
}

/// The bytes of the predictions; `None` if the flags are refused.
fn predict(folder: &Path, context: &[&str], more: &[&str]) -> Option<Vec<u8>> {
    let out = folder.join("predictions.npy");
    let words = [&["predict", "--out", "predictions.npy"], context, more].concat();
    let bytes = sar(folder, &words).then(|| fs::read(&out).unwrap());
    fs::remove_file(&out).ok();
    bytes
}

fn values(flag: &Arg) -> Vec<String> {
    match &flag.get_possible_values()[..] {
        [] => VALUES.map(str::to_owned).to_vec(),
        named => named.iter().map(|value| value.get_name().to_owned()).collect(),
    }
}

#[test]
fn every_flag_of_predict_changes_predictions_or_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("list.txt"), "3\n1\n").unwrap();
    fs::write(folder.join("pairs.txt"), "3 1\n2 20\n").unwrap();
    train(folder, "nodes", &[]);
    train(folder, "links", &["--task", "link", "--mode", "sample"]);
    train(folder, "other", &["--seed", "1", "--model", "gcn"]);
    let contexts: [&[&str]; 5] = [
        &["--run", "nodes"],
        &["--run", "nodes", "--output", "embeddings"],
        &["--run", "links"],
        &["--run", "links", "--pairs", "pairs.txt"],
        &["--run", "links", "--top-k", "2"],
    ];
    let definition = definition();
    let command = definition.find_subcommand("predict").unwrap();
    let flags = command.get_arguments().filter_map(|flag| Some((flag.get_long()?, flag)));
    let flags: Vec<_> = flags.filter(|(name, _)| !ABOUT_THE_WAY.contains(name)).collect();
    assert!(flags.len() > 8, "{}", flags.len());
    let mut wrong = Vec::new();
    for context in contexts {
        let usual = predict(folder, context, &[]).expect("the usual predictions");
        for (name, flag) in &flags {
            let dashed = format!("--{name}");
            if *name == "out" || context.contains(&&*dashed) {
                continue;
            }
            let values = values(flag);
            let taken =
                values.iter().filter_map(|value| predict(folder, context, &[&dashed, value]));
            let taken: Vec<_> = taken.collect();
            // Where other values are refused, the flag states what the default is.
            let refused = !flag.get_possible_values().is_empty() && taken.len() < values.len();
            if !taken.is_empty() && !refused && taken.iter().all(|bytes| *bytes == usual) {
                wrong.push(format!("{dashed} changes nothing with {}", context.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
