//! Folders of results are created with their parents, and removed again if the command fails. Those of files are not: most missing ones
//! are typing errors.

use std::fs;
use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::common::repository;
use super::program::Program;

fn on_karate(folder: &Path) -> Program {
    let mut command = Program::new();
    command.arg("--part-json").arg(repository("data/karate/karate.json"));
    command.args(["--hidden", "4", "--layers", "2"]);
    // Where a run without --out would have its results.
    command.current_dir(folder).arg("--spill-dir").arg(folder.join("s/deep"));
    command
}

/// A run of two epochs on karate.
fn training(folder: &Path) -> Program {
    let mut command = on_karate(folder);
    command.args(["--epochs", "2", "--out"]).arg(folder.join("a/run"));
    command
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn folders_of_results_are_made_and_those_of_spilled_data_go() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    training(folder).assert().success();
    assert!(folder.join("a/run/model.safetensors").exists());
    assert_eq!(names(folder), ["a"]);

    let missing = folder.join("rnu");
    let refused = |command: &mut Program| {
        let hint = "create the folder, or name another place with --";
        command.assert().code(1).stderr(contains("rnu: does not exist").and(contains(hint)));
    };
    for file in ["--dump-step", "--trace"] {
        refused(on_karate(folder).arg(file).arg(missing.join("file.json")));
    }
    for command in ["predict", "correct-and-smooth"] {
        let mut command = on_run(command, &folder.join("a/run"));
        refused(command.arg("--out").arg(missing.join("classes.npy")));
    }
    let mut report = Program::new();
    refused(
        report.arg("report").arg(folder.join("a/run")).arg("--out").arg(missing.join("x.html")),
    );
    assert_eq!(names(folder), ["a"]);
}

fn on_run(command: &str, run: &Path) -> Program {
    let mut on_run = Program::new();
    on_run.arg(command).arg("--run").arg(run);
    on_run
}

#[test]
fn folders_go_again_if_the_command_fails() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // A worker finds this out, when all folders exist.
    let nothing = ["--features-key", "nope", "--dump-step"];
    on_karate(folder).args(nothing).arg(folder.join("step.safetensors")).assert().code(1);
    on_karate(folder).args(&nothing[..2]).assert().code(1);
    assert_eq!(names(folder), [""; 0]);

    training(folder).assert().success();
    let run = folder.join("a/run");
    fs::write(folder.join("weights"), "not weights").unwrap();
    for command in ["predict", "correct-and-smooth"] {
        let mut command = on_run(command, &run);
        command.arg("--weights").arg(folder.join("weights"));
        command.arg("--out").arg(folder.join("classes.npy")).assert().failure();
    }
    fs::write(folder.join("edges.csv"), "0,x\n").unwrap();
    for out in [&["--out", "p/new"][..], &[]] {
        let mut partition = Program::new();
        partition.args(["partition", "--num-parts", "2", "edges.csv"]).args(out);
        partition.current_dir(folder).assert().failure();
    }
    assert_eq!(names(folder), ["a", "edges.csv", "weights"]);
}

#[test]
fn a_spill_folder_with_something_of_the_users_stays() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("s")).unwrap();
    training(folder).assert().success();
    assert_eq!(names(folder), ["a", "s"]);
    assert_eq!(names(&folder.join("s")), [""; 0]);
}

#[test]
fn an_empty_tmpdir_is_as_none_and_a_relative_one_is_made_absolute() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let tmp = folder.join("tmp");
    fs::create_dir(&tmp).unwrap();
    for (tmpdir, expected) in [("", Path::new("/var/tmp")), ("tmp", tmp.as_path())] {
        let mut command = Program::new();
        command.arg("--part-json").arg(repository("data/karate/karate.json"));
        command.args(["--epochs", "1", "--hidden", "4", "--out", "run", "--overwrite"]);
        command.current_dir(&folder).env("TMPDIR", tmpdir).assert().success();
        let config = fs::read_to_string(folder.join("run/config.toml")).unwrap();
        let expected = format!("\nspill_dir = \"{}\"\n", expected.display());
        assert!(config.contains(&expected), "{config}");
    }
}
