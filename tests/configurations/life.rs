//! A run is trained, killed, resumed and predicted, whatever its configuration: its weights equal those of a run that was never
//! stopped.

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use sar::cli::{Flag, flags};
use sar::load::EdgeSplit;
use sar::nn::Task;
use sar::run::config::RunConfig;
use sar::train::Checkpoint;

use super::case::{Case, Mode, cases};
use super::program::Program;

fn sar(args: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sar-single"));
    command.args(args).stdin(Stdio::null());
    command
}

fn succeed(what: &str, case: &Case, args: &[String]) -> Output {
    succeed_with(what, case, args, "on")
}

/// Runs a command whose values and messages are stored without their zeros or, with `packing` off, as they are.
fn succeed_with(what: &str, case: &Case, args: &[String], packing: &str) -> Output {
    let output = Program::new().args(args).env("SAR_PACKING", packing).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what} of {}\n{}\n{stderr}", case.name, args.join(" "));
    output
}

fn args(words: &[&str], paths: &[(&str, &Path)]) -> Vec<String> {
    let paths = paths.iter().map(|(flag, path)| format!("--{flag}={}", path.display()));
    words.iter().map(|word| (*word).to_owned()).chain(paths).collect()
}

/// The flags of the case for `epochs` epochs into a folder.
pub(super) fn training(case: &Case, epochs: u32, out: &Path) -> Vec<String> {
    let mut config = case.config.clone();
    config.epochs = epochs;
    out.clone_into(&mut config.out);
    config.spill_dir = out.with_extension("spill");
    flags(&config).unwrap().iter().map(Flag::word).collect()
}

/// Trains until there is a checkpoint, and kills the launcher; returns the epoch of the checkpoint.
fn kill(case: &Case, out: &Path) -> u32 {
    let mut run = sar(&training(case, 1_000_000, out)).stderr(Stdio::null()).spawn().unwrap();
    let checkpoint = out.join("checkpoint.safetensors");
    let begin = Instant::now();
    while !checkpoint.exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{} writes no checkpoint", case.name);
        assert!(run.try_wait().unwrap().is_none(), "{} ended", case.name);
        std::thread::sleep(Duration::from_millis(1));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    Checkpoint::open(&checkpoint).unwrap().progress.epoch
}

/// The lines of metrics.jsonl without what depends on the clock, memory and disk.
fn metrics(out: &Path) -> Vec<serde_json::Value> {
    let mut lines = super::common::metrics(out);
    for line in &mut lines {
        line.as_object_mut().unwrap().retain(|key, _| {
            !(key.contains("bytes") || key.ends_with("_s") || key == "lock_turns")
        });
    }
    lines
}

fn live(case: &Case) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (out, whole) = (path("stopped"), path("whole"));
    let epochs = if case.mode == Mode::Full {
        kill(case, &out) + 2
    } else {
        succeed("training", case, &training(case, 2, &out));
        case.config.epochs
    };
    let resume = args(&["--epochs", &epochs.to_string()], &[("resume", &out)]);
    succeed("resuming", case, &resume);
    // Zeros that are left out change no bit.
    succeed_with("training at once", case, &training(case, epochs, &whole), "off");
    let weights = |out: &Path| fs::read(out.join("model.safetensors")).unwrap();
    assert!(weights(&out) == weights(&whole), "{}: other weights", case.name);
    assert_eq!(metrics(&out), metrics(&whole), "{}", case.name);

    let text = fs::read_to_string(out.join("config.toml")).unwrap();
    let mut found = RunConfig::from_toml(&out, &text).unwrap();
    let mut expected = case.config.clone();
    expected.epochs = epochs;
    for config in [&mut found, &mut expected] {
        config.out.clone_from(&out);
        config.spill_dir.clone_from(&out);
        // The data decide it.
        if let Some(relations) = &mut config.relations {
            relations.target = None;
        }
    }
    if let (Some(found), Some(expected)) = (&found.link, &mut expected.link)
        && expected.split == EdgeSplit::Usual
    {
        assert_ne!(found.split, EdgeSplit::Usual);
        expected.split.clone_from(&found.split);
    }
    assert_eq!(found, expected);

    let predictions = path("predictions.npy");
    for chosen in case.predictions() {
        let words = [&["predict", "--overwrite"], &chosen[..]].concat();
        succeed("predicting", case, &args(&words, &[("run", &out), ("out", &predictions)]));
    }
    let RunConfig { task, relations, link, .. } = &case.config;
    let propagates = relations.is_none() || case.mode == Mode::Relations;
    if *task == Task::Classification && propagates && link.is_none() {
        let smooth =
            args(&["correct-and-smooth", "--overwrite"], &[("run", &out), ("out", &predictions)]);
        succeed("correcting and smoothing", case, &smooth);
    }
}

#[test]
fn every_run_goes_on_to_the_same_bits_and_is_predicted() {
    let cases = cases();
    let next = Mutex::new(cases.iter());
    let failed = Mutex::new(Vec::new());
    let one = || loop {
        let case = next.lock().unwrap().next();
        let Some(case) = case else { return };
        if catch_unwind(|| live(case)).is_err() {
            failed.lock().unwrap().push(&case.name);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(one);
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "of {} cases: {failed:#?}", cases.len());
}
