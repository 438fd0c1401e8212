//! A run that was stopped, in whatever way, continues from its checkpoint to the same bits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Signal, kill_process};
use sar::run::resumable;

use super::common::{karate, repository};
use super::program::Program;
use super::run::{Ended, Run, is_running, wait_for};

/// Flags with everything that has state: moments, the schedule, early stopping, dropout.
const SETTINGS: [&str; 13] = [
    "--epochs",
    "60",
    "--checkpoint-every",
    "3",
    "--patience",
    "1000",
    "--schedule",
    "plateau,patience=5",
    "--clip-norm",
    "0.5",
    "--class-weights",
    "balanced",
    "--lr=0.003",
];

fn out(ended: &Ended) -> PathBuf {
    ended.spill.with_file_name("out")
}

fn resume(out: &Path, more: &[&str]) -> Output {
    let mut command = Program::new();
    command.arg("--resume").arg(out).args(more).output().unwrap()
}

fn weights(out: &Path) -> Vec<u8> {
    fs::read(out.join("model.safetensors")).unwrap()
}

/// The lines of metrics.jsonl without what depends on the clock, memory and disk.
fn metrics(out: &Path) -> Vec<serde_json::Value> {
    let mut lines = super::common::metrics(out);
    for line in &mut lines {
        let fields = line.as_object_mut().unwrap();
        fields.retain(|key, _| !(key.contains("bytes") || key.ends_with("_s")));
    }
    lines
}

/// Runs until `stop` ends the run after some epochs, and resumes it.
fn assert_same_bits(graph: &Path, expected: &Path, stop: impl FnOnce(&Run)) {
    assert_same_bits_with(&SETTINGS, graph, expected, stop);
}

/// Returns the resumed run's folders.
fn assert_same_bits_with(
    settings: &[&str],
    graph: &Path,
    expected: &Path,
    stop: impl FnOnce(&Run),
) -> Ended {
    let run = Run::start(graph, settings);
    let control = run.control();
    let workers = run.workers(2);
    // The launcher may be some epochs behind.
    wait_for("a checkpoint", || {
        let is_there = run.out().join("checkpoint.safetensors").exists();
        (is_there && control.rank(0).epoch.get() > 15).then_some(())
    });
    stop(&run);
    let ended = run.end();
    wait_for("the end of the workers", || (!workers.iter().any(|w| is_running(*w))).then_some(()));
    assert_ne!(ended.code, Some(0), "it was too fast to be stopped");
    let out = out(&ended);
    // A killed launcher says nothing.
    let line = format!("; resume with: sar-single --resume '{}'", out.display());
    assert_eq!(ended.stderr.contains(&line), ended.code.is_some(), "{}", ended.stderr);
    let mut status = Program::new();
    let status = status.arg("status").arg(&out).output().unwrap();
    let how = match ended.code {
        None => "ended without a record (it was killed",
        Some(130) => "interrupted",
        _ => "failed",
    };
    let text = String::from_utf8_lossy(&status.stdout);
    assert!(text.contains(&format!("out: {how}")) && text.contains("resume with: "), "{text}");
    assert!(!out.join("model.safetensors").exists());
    // As if it had been stopped in the middle of writing.
    fs::write(out.join(".partial-killed"), "half").unwrap();
    let resumed = resume(&out, &["--resident", "2"]);
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    assert!(String::from_utf8_lossy(&resumed.stderr).contains("note: continuing after epoch "));
    assert_eq!(weights(&out), weights(expected));
    assert_eq!(metrics(&out), metrics(expected));
    let mut files: Vec<_> = fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name()).collect();
    files.sort();
    let expected = [
        "checkpoint.previous.safetensors",
        "checkpoint.safetensors",
        "config.toml",
        "end.json",
        "metrics.jsonl",
        "model.safetensors",
        "turns.json",
    ];
    assert_eq!(files, expected);
    ended.assert_no_spill_files();
    ended
}

#[test]
fn a_killed_or_interrupted_run_goes_on_to_the_same_bits() {
    let expected = Run::start(&karate(), &SETTINGS).end();
    assert_eq!(expected.code, Some(0), "{}", expected.stderr);
    let expected_out = out(&expected);
    let rates = metrics(&expected_out);
    assert!(rates[0]["lr"] != rates[59]["lr"], "the schedule has done something");
    assert_same_bits(&karate(), &expected_out, |run| run.signal(Signal::KILL));
    assert_same_bits(&karate(), &expected_out, |run| run.signal(Signal::INT));
    assert_same_bits(&karate(), &expected_out, |run| {
        kill_process(run.workers(2)[0], Signal::KILL).unwrap();
    });
}

#[test]
fn learned_rows_go_on_to_the_same_bits_too() {
    let graph = repository("tests/fixtures/hetero_uneven/g.json");
    let expected = Run::start(&graph, &SETTINGS).end();
    assert_eq!(expected.code, Some(0), "{}", expected.stderr);
    assert_same_bits(&graph, &out(&expected), |run| run.signal(Signal::KILL));
    assert_same_bits(&graph, &out(&expected), |run| {
        kill_process(run.workers(2)[1], Signal::KILL).unwrap();
    });
}

/// A graph from tables, in which each node is in a town that has a learned row.
fn towns(folder: &Path) -> PathBuf {
    let rows = |row: &dyn Fn(usize) -> String| (0..90).map(row).collect::<String>();
    let edges = rows(&|i| format!("u{i},u{}\nu{i},u{}\n", (i + 1) % 90, (i * 7 + 3) % 90));
    let nodes = rows(&|i| {
        let kind = ["red", "blue"][usize::from((i * 7 % 13).is_multiple_of(3))];
        let [train, val] = [i % 3 < 2, i % 3 == 2].map(u8::from);
        format!("u{i},{},town {},{kind},{train},{val}\n", i % 5, i * 7 % 13)
    });
    fs::write(folder.join("edges.csv"), edges).unwrap();
    fs::write(folder.join("nodes.csv"), "id,x,town,kind,train_mask,val_mask\n".to_owned() + &nodes)
        .unwrap();
    let words = "partition --edges edges.csv --undirected --node-table nodes.csv --id id --label kind \
                 --embed town --num-parts 2 --out p";
    let mut command = Program::new();
    let output = command.current_dir(folder).args(words.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("p/g.json")
}

#[test]
fn learned_rows_of_columns_go_on_to_the_same_bits_too() {
    let folder = tempfile::tempdir().unwrap();
    let graph = towns(folder.path());
    let expected = Run::start(&graph, &SETTINGS).end();
    assert_eq!(expected.code, Some(0), "{}", expected.stderr);
    let predicted = |ended: &Ended, name: &str| {
        let path = folder.path().join(name);
        let mut command = Program::new();
        command.args(["predict", "--run"]).arg(out(ended)).arg("--out").arg(&path);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read_to_string(path).unwrap()
    };
    let due = predicted(&expected, "expected.csv");
    assert_eq!(due.lines().count(), 91);
    assert!(due.contains("red") && due.contains("blue"), "{due}");
    for worker in [None, Some(1)] {
        let ended = assert_same_bits_with(&SETTINGS, &graph, &out(&expected), |run| match worker {
            None => run.signal(Signal::KILL),
            Some(rank) => kill_process(run.workers(2)[rank], Signal::KILL).unwrap(),
        });
        assert_eq!(predicted(&ended, "resumed.csv"), due);
        fs::remove_file(folder.path().join("resumed.csv")).unwrap();
    }
}

#[test]
fn predicted_edges_go_on_to_the_same_bits_too() {
    for (score, worker) in [("bilinear", None), ("distmult", Some(1)), ("complex", None)] {
        // Edges have no class weights.
        let mut settings = SETTINGS[..10].to_vec();
        settings.extend(["--task", "link", "--mode", "sample", "--layers", "2", "--score", score]);
        settings.extend(["--batch-size", "32", "--lr", "0.003"]);
        let expected = Run::start(&karate(), &settings).end();
        assert_eq!(expected.code, Some(0), "{}", expected.stderr);
        assert_same_bits_with(&settings, &karate(), &out(&expected), |run| match worker {
            None => run.signal(Signal::KILL),
            Some(rank) => kill_process(run.workers(2)[rank], Signal::KILL).unwrap(),
        });
    }
}

/// Parameters of 2 MB, for whose updates ranks take turns.
#[test]
fn batches_with_large_parameters_go_on_to_the_same_bits_too() {
    let samples = ["--mode", "sample", "--layers", "3", "--hidden", "512", "--batch-size", "8"];
    let settings = [&SETTINGS[..], &samples].concat();
    let expected = Run::start(&karate(), &settings).end();
    assert_eq!(expected.code, Some(0), "{}", expected.stderr);
    for worker in [None, Some(1)] {
        assert_same_bits_with(&settings, &karate(), &out(&expected), |run| match worker {
            None => run.signal(Signal::KILL),
            Some(rank) => kill_process(run.workers(2)[rank], Signal::KILL).unwrap(),
        });
    }
}

#[test]
fn a_finished_run_can_have_more_epochs() {
    let long = Run::start(&karate(), &["--epochs", "14"]).end();
    let short = Run::start(&karate(), &["--epochs", "9", "--checkpoint-every", "100"]).end();
    assert_eq!(short.code, Some(0));
    let out = out(&short);
    let resumed = resume(&out, &["--epochs", "14"]);
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    assert_eq!(weights(&out), weights(&self::out(&long)));
    assert_eq!(metrics(&out), metrics(&self::out(&long)));

    let fewer = resume(&out, &["--epochs", "5"]);
    assert_eq!(fewer.status.code(), Some(1));
    let error = String::from_utf8_lossy(&fewer.stderr).into_owned();
    assert!(error.starts_with("error: --epochs: is 5, but the run has completed 14"), "{error}");
}

#[test]
fn a_run_with_more_epochs_that_stops_before_its_next_checkpoint_still_has_them() {
    let short = Run::start(&karate(), &["--epochs", "2", "--checkpoint-every", "100"]).end();
    let out = out(&short);
    let config = || fs::read_to_string(out.join("config.toml")).unwrap();
    // Settings with which no worker can start are not kept.
    let before = config();
    let refused = resume(&out, &["--epochs", "20", "--spill-dir", "/dev/null/spill"]);
    assert!(!refused.status.success());
    assert_eq!(config(), before);
    assert_eq!(resumable(&out).unwrap().epochs, 2);
    let mut command = Command::new(env!("CARGO_BIN_EXE_sar-single"));
    command.arg("--resume").arg(&out).args(["--epochs", "1000000", "--memory-budget", "7GiB"]);
    let mut longer = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("its configuration", || config().contains("epochs = 1000000").then_some(()));
    longer.kill().unwrap();
    longer.wait().unwrap();
    let config = resumable(&out).unwrap();
    assert_eq!(config.epochs, 1_000_000);
    assert_eq!(config.memory_budget, "7GiB".parse().unwrap());
}

#[test]
fn initial_weights_are_not_needed_again() {
    let folder = tempfile::tempdir().unwrap();
    let start = folder.path().join("start.safetensors");
    let first = Run::start(&karate(), &["--epochs", "2"]).end();
    fs::write(&start, weights(&out(&first))).unwrap();
    let from = ["--init-params", start.to_str().unwrap(), "--checkpoint-every", "2"];
    let expected = Run::start(&karate(), &[&from[..], &["--epochs", "4"]].concat()).end();
    let short = Run::start(&karate(), &[&from[..], &["--epochs", "2"]].concat()).end();
    assert_eq!(short.code, Some(0), "{}", short.stderr);
    fs::remove_file(start).unwrap();
    // With this budget, the run is planned.
    let resumed = resume(&out(&short), &["--epochs", "4", "--memory-budget", "280MiB"]);
    let notes = String::from_utf8_lossy(&resumed.stderr);
    assert!(resumed.status.success() && notes.contains("note: planned: "), "{notes}");
    assert_eq!(weights(&out(&short)), weights(&out(&expected)));
}

#[test]
fn a_checkpoint_belongs_to_the_last_run_in_its_folder() {
    let first = Run::start(&karate(), &["--epochs", "4", "--checkpoint-every", "2"]).end();
    let folder = out(&first);
    assert!(folder.join("checkpoint.safetensors").exists());
    let kept = folder.join("notes.txt");
    fs::write(&kept, "mine").unwrap();
    let again = ["--epochs", "1", "--out", folder.to_str().unwrap()];
    let refused = Run::start(&karate(), &again).end();
    assert_eq!(refused.code, Some(1));
    assert!(refused.error().ends_with("out: is not empty"), "{}", refused.error());
    assert!(folder.join("checkpoint.safetensors").exists());
    let second = Run::start(&karate(), &[&again[..], &["--overwrite"]].concat()).end();
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    assert_eq!(fs::read_to_string(kept).unwrap(), "mine");
    assert!(!folder.join("checkpoint.previous.safetensors").exists());
    let refused = resume(&folder, &[]);
    assert_eq!(refused.status.code(), Some(1));
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(error.contains("checkpoint.safetensors: cannot be read"), "{error}");
    assert!(error.contains("hint: --resume takes the folder"), "{error}");
}
