//! Ctrl-C with checkpoints on: the last complete epoch is saved, and the command in the message continues to the same bits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use super::common::repository;
use super::run::{Ended, Run, wait_for};

fn out(ended: &Ended) -> PathBuf {
    ended.spill.with_file_name("out")
}

/// Interrupts a run after some epochs; returns the epoch that it reports as saved, and the number of complete ones.
fn interrupted(graph: &Path, settings: &[&str], micros: u64) -> (u32, usize, Ended) {
    let run = Run::start(graph, settings);
    let metrics = run.out().join("metrics.jsonl");
    let lines = || fs::read_to_string(&metrics).unwrap_or_default().lines().count();
    wait_for("epochs", || (lines() > 7).then_some(()));
    // Anywhere in an epoch.
    std::thread::sleep(std::time::Duration::from_micros(micros));
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let saved = ended.stderr.split_once("the run is saved as of epoch ").unwrap().1;
    let epoch = saved.split([';', ' ']).next().unwrap().parse().unwrap();
    let lines = fs::read_to_string(out(&ended).join("metrics.jsonl")).unwrap().lines().count();
    ended.assert_no_spill_files();
    (epoch, lines, ended)
}

/// Runs the command that the note names.
fn resume(ended: &Ended) {
    let command = ended.stderr.split_once("resume with: sar-single ").unwrap().1;
    let command = command.lines().next().unwrap();
    let script = format!("exec {} {command}", env!("CARGO_BIN_EXE_sar-single"));
    let done = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// With `all`, the last complete epoch is saved, not the one of the last regular checkpoint.
fn assert_goes_on(graph: &Path, settings: &[&str], every: &str, all: bool) {
    let settings = [&["--epochs", "150", "--checkpoint-every", every], settings].concat();
    let expected = Run::start(graph, &settings).end();
    assert_eq!(expected.code, Some(0), "{}", expected.stderr);
    let weights = |ended: &Ended| fs::read(out(ended).join("model.safetensors")).unwrap();
    for micros in [0, 1_700, 5_300] {
        let (saved, complete, ended) = interrupted(graph, &settings, micros);
        if all {
            assert_eq!(saved as usize, complete, "{}", ended.stderr);
        } else {
            assert!(saved.is_multiple_of(every.parse().unwrap()), "{}", ended.stderr);
        }
        resume(&ended);
        assert_eq!(weights(&ended), weights(&expected), "after epoch {saved} of {complete}");
    }
}

fn karate() -> PathBuf {
    repository("data/karate/karate.json")
}

#[test]
fn on_the_full_graph() {
    let judged = ["--patience", "1000", "--schedule", "plateau", "--lr-patience", "5"];
    assert_goes_on(&karate(), &judged, "1000", true);
    assert_goes_on(&karate(), &["--norm", "batch", "--model", "gcn"], "1000", true);
}

#[test]
fn on_sampled_neighbourhoods() {
    let sampled = ["--mode", "sample", "--layers", "2", "--batch-size", "4"];
    assert_goes_on(&karate(), &sampled, "1000", true);
}

#[test]
fn with_predicted_edges() {
    let link = ["--task", "link", "--mode", "sample", "--layers", "2", "--batch-size", "32"];
    assert_goes_on(&karate(), &link, "1000", true);
}

#[test]
fn with_learned_rows_from_the_last_regular_checkpoint() {
    let graph = repository("tests/fixtures/hetero_uneven/g.json");
    assert_goes_on(&graph, &[], "3", false);
}
