//! A folder of results has one writer, and nothing in it is written through a link.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use rustix::process::Signal;
use sar::engine::spill_dir::LivingRun;

use super::common::repository;
use super::program::Program;
use super::run::{Run, wait_for};
use super::small_disk::SmallDisk;

#[test]
fn a_second_run_names_the_first_which_holds_the_folder_until_it_dies() {
    let first = Run::endless(&["--checkpoint-every", "1"]);
    let out = first.out();
    wait_for("a checkpoint", || out.join("checkpoint.safetensors").exists().then_some(()));
    let pid = first.launcher().as_raw_nonzero();
    let expected = format!("another run (process {pid}) writes to this folder");
    let path = out.to_str().unwrap();
    let second = Run::endless(&["--out", path, "--overwrite"]).end();
    assert_eq!(second.code, Some(1));
    assert!(second.error().ends_with(&expected), "{}", second.error());
    let resume = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sar-single"));
        command.args(["--resume", path, "--epochs", "1000000"]);
        command
    };
    let refused = resume().output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains(&expected));
    // The kernel releases the lock; the test waits for the workers, which die a moment later.
    first.signal(Signal::KILL);
    let mut resumed = resume().stderr(std::process::Stdio::null()).spawn().unwrap();
    let before = fs::read_to_string(out.join("metrics.jsonl")).unwrap().len();
    wait_for("another epoch", || {
        assert!(resumed.try_wait().unwrap().is_none(), "it goes on");
        let now = fs::metadata(out.join("metrics.jsonl")).map_or(0, |file| file.len() as usize);
        (now > before).then_some(())
    });
    resumed.kill().unwrap();
    resumed.wait().unwrap();
    let ended = first.end();
    assert_eq!(ended.code, None);
}

#[test]
fn a_run_in_its_first_epoch_has_a_page() {
    let run = Run::endless(&[]);
    wait_for("the run", || LivingRun::find(&run.out()).ok().map(drop));
    // Its launcher writes the metrics.
    run.signal(Signal::STOP);
    let page = run.out().with_file_name("page.html");
    let metrics = run.out().join("metrics.jsonl");
    let mut report = Program::new();
    report.arg("report").arg(run.out()).arg("--out").arg(&page).assert().success();
    if !metrics.exists() {
        assert!(fs::read_to_string(page).unwrap().contains("No epoch is complete yet"));
    }
    run.signal(Signal::KILL);
    run.end();
}

#[test]
fn results_are_not_written_through_links() {
    let folder = tempfile::tempdir().unwrap();
    let (out, victim) = (folder.path().join("run"), folder.path().join("victim"));
    fs::write(&victim, "precious").unwrap();
    let sar = |args: &[&str]| {
        let mut command = Program::new();
        command.args(args).arg("--spill-dir").arg(folder.path().join("spill"));
        command.output().unwrap()
    };
    let graph = repository("data/karate/karate.json");
    let (graph, path) = (graph.to_str().unwrap(), out.to_str().unwrap());
    let train = ["--part-json", graph, "--epochs", "2", "--checkpoint-every", "1", "--out", path];
    let names = ["metrics.jsonl", "config.toml", "model.safetensors", "checkpoint.safetensors"];
    fs::create_dir(&out).unwrap();
    for name in names.iter().filter(|name| **name != "config.toml") {
        symlink(&victim, out.join(name)).unwrap();
    }
    let done = sar(&[&train[..], &["--overwrite"]].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for name in names {
        assert!(fs::symlink_metadata(out.join(name)).unwrap().is_file(), "{name}");
    }
    fs::remove_file(out.join("metrics.jsonl")).unwrap();
    symlink(&victim, out.join("metrics.jsonl")).unwrap();
    let refused = sar(&["--resume", path, "--epochs", "3"]);
    assert_ne!(refused.status.code(), Some(0));
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(error.contains("metrics.jsonl: is not a regular file"), "{error}");
    assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
}

#[test]
fn what_a_killed_run_left_unfinished_does_not_make_a_folder_taken() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    fs::create_dir(&out).unwrap();
    let train = |more: &[&str]| {
        let mut command = Program::new();
        command.arg("--part-json").arg(repository("data/karate/karate.json"));
        command.args(["--epochs", "1"]).arg("--out").arg(&out).args(more);
        let done = command.arg("--spill-dir").arg(folder.path().join("spill")).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(!out.join(".partial-x").exists());
    };
    fs::write(out.join(".partial-x"), "half a configuration").unwrap();
    train(&[]);
    fs::write(out.join(".partial-x"), "half of something else").unwrap();
    train(&["--overwrite"]);
}

#[test]
fn a_read_only_disk_is_an_error_that_names_the_place() {
    let Some(disk) = SmallDisk::mount(16 << 20) else { return };
    let folder = tempfile::tempdir().unwrap();
    let sar = |words: &str| {
        let mut command = Program::new();
        command.current_dir(disk.path()).args(words.split_whitespace());
        command.arg("--spill-dir").arg(folder.path()).assert()
    };
    let graph = repository("data/karate/karate.json");
    let train = format!("--part-json {} --epochs 1 --checkpoint-every 1 --out", graph.display());
    sar(&format!("{train} run")).success();
    fs::create_dir(disk.path().join("empty")).unwrap();
    disk.make_read_only();
    let again = format!("{train} empty");
    for (words, problem, remedy) in [
        ("--resume run --epochs 2", "run: cannot be written to: Read-only", "resume a copy"),
        (again.as_str(), "empty: cannot be written to: Read-only", "--out"),
        ("predict --run run --out x.csv", "x.csv: cannot be created: Read-only", "--out"),
    ] {
        let refused = sar(words).code(1);
        let error = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert!(error.contains(problem) && error.contains(remedy), "{words}: {error}");
    }
}
