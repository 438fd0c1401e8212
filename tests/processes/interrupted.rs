//! Ctrl-C: the last complete epoch is saved, and the command in the message continues to the same bits.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Signal, kill_process};
use sar::engine::turns::Request;

use super::common::{karate, repository};
use super::run::{Ended, Run, wait_for};
use super::small_disk::SmallDisk;

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
    run.signal(if micros == 0 { Signal::TERM } else { Signal::INT });
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

fn assert_goes_on(graph: &Path, settings: &[&str]) {
    let settings = [&["--epochs", "150"], settings].concat();
    let expected = Run::start(graph, &settings).end();
    assert_eq!(expected.code, Some(0), "{}", expected.stderr);
    let weights = |ended: &Ended| fs::read(out(ended).join("model.safetensors")).unwrap();
    for micros in [0, 1_700, 5_300] {
        let (saved, complete, ended) = interrupted(graph, &settings, micros);
        assert_eq!(saved as usize, complete, "{}", ended.stderr);
        resume(&ended);
        assert_eq!(weights(&ended), weights(&expected), "after epoch {saved} of {complete}");
    }
}

#[test]
fn on_the_full_graph() {
    let judged = ["--patience", "1000", "--schedule", "plateau,patience=5"];
    assert_goes_on(&karate(), &judged);
    assert_goes_on(&karate(), &["--norm", "batch", "--model", "gcn", "--checkpoint-every", "1000"]);
}

#[test]
fn on_sampled_neighbourhoods() {
    let sampled = ["--mode", "sample", "--layers", "2", "--batch-size", "4"];
    assert_goes_on(&karate(), &sampled);
}

#[test]
fn with_predicted_edges() {
    let link = ["--task", "link", "--mode", "sample", "--layers", "2", "--batch-size", "32"];
    assert_goes_on(&karate(), &link);
}

#[test]
fn with_learned_rows_of_which_each_rank_has_a_part() {
    let graph = repository("tests/fixtures/hetero_uneven/g.json");
    let sampled = ["--mode", "sample", "--layers", "2", "--batch-size", "8"];
    assert_goes_on(&graph, &[]);
    assert_goes_on(&graph, &["--checkpoint-every", "3"]);
    assert_goes_on(&graph, &sampled);
}

#[test]
fn with_learned_rows_that_are_saved_a_long_epoch_ends_at_once() {
    // A worker that is stopped makes the first epoch long. An epoch of usual length may end before the worker is stopped again.
    let ended = (0..20).find_map(|_| interrupted_after_a_long_epoch()).unwrap();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("stopping at the next phase"), "{}", ended.stderr);
    assert!(ended.stderr.contains("the run is saved as of epoch "), "{}", ended.stderr);
    ended.assert_no_spill_files();
    resume(&ended);
}

/// A run of which an epoch takes so long that it is saved, and which is interrupted in the next one, unless that has ended.
fn interrupted_after_a_long_epoch() -> Option<Ended> {
    let graph = repository("tests/fixtures/hetero_uneven/g.json");
    let run = Run::start(&graph, &["--epochs", "150"]);
    let control = run.control();
    let worker = run.workers(control.num_ranks())[1];
    wait_for("an epoch", || (control.rank(1).epoch.get() == 1).then_some(()));
    kill_process(worker, Signal::STOP).unwrap();
    wait_for("a request", || control.run().is_asked(Request::Save).then_some(()));
    // A few steps of the worker at a time.
    while control.run().is_asked(Request::Save) {
        kill_process(worker, Signal::CONT).unwrap();
        std::thread::sleep(std::time::Duration::from_micros(200));
        kill_process(worker, Signal::STOP).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    run.signal(Signal::INT);
    let is_asked = || control.stopped().is_some() || control.run().is_asked(Request::End);
    wait_for("the interrupt", || is_asked().then_some(()));
    let at_once = control.stopped().is_some();
    kill_process(worker, Signal::CONT).unwrap();
    let ended = run.end();
    at_once.then_some(ended)
}

#[test]
fn a_state_that_cannot_be_saved_is_the_error() {
    let Some(disk) = SmallDisk::mount(1 << 20) else { return };
    let out = disk.path().join("out");
    let run = Run::endless(&["--out", out.to_str().unwrap()]);
    let control = run.control();
    let worker = run.workers(2)[1];
    wait_for("epochs", || (control.rank(1).epoch.get() > 3).then_some(()));
    // No further epoch ends.
    kill_process(worker, Signal::STOP).unwrap();
    let mut rest = fs::File::create(disk.path().join("rest")).unwrap();
    while rest.write_all(&[0; 4096]).is_ok() {}
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(ended.error().contains("No space left on device"), "{}", ended.stderr);
}

#[test]
fn in_the_evaluation_at_the_end() {
    // An evaluation takes a few milliseconds, which a busy machine may miss.
    let ended = (0..20).find_map(|_| interrupted_at_the_end()).unwrap();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("the run is saved as of epoch 3; resume"), "{}", ended.stderr);
    resume(&ended);
}

/// A run of three epochs that is interrupted when it has recorded them, unless it ends before.
fn interrupted_at_the_end() -> Option<Ended> {
    let run = Run::start(&karate(), &["--epochs", "3"]);
    let control = run.control();
    let worker = run.workers(2)[1];
    let metrics = run.out().join("metrics.jsonl");
    wait_for("the last epoch", || (control.rank(1).epoch.get() == 3).then_some(()));
    // A few steps of the worker at a time; the launcher has time to record an epoch.
    while kill_process(worker, Signal::STOP).is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(10));
        if fs::read_to_string(&metrics).unwrap_or_default().lines().count() >= 3 {
            run.signal(Signal::INT);
            wait_for("the interrupt", || control.stopped().map(drop));
            kill_process(worker, Signal::CONT).unwrap();
            return Some(run.end()).filter(|ended| ended.stderr.contains("resume with"));
        }
        // It may have ended meanwhile.
        kill_process(worker, Signal::CONT).ok()?;
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    None
}
