//! A planned run takes its disk space before it starts, and returns it when it ends.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use rustix::process::Signal;
use sar::io::{Reserve, SpaceAccount};
use sar::platform::free_space;

use super::run::{Run, wait_for};
use super::small_disk::SmallDisk;

/// The file that takes the space, once a run has one.
fn reserve_in(spill: &Path) -> PathBuf {
    wait_for("a reserve", || {
        let runs = fs::read_dir(spill).ok()?.flatten().map(|entry| entry.path().join("reserve"));
        runs.into_iter().find(|path| path.exists())
    })
}

fn sar(arguments: &str) -> Command {
    let mut command = Command::cargo_bin("sar-single").unwrap();
    command.args(arguments.split(' '));
    command
}

#[test]
fn a_planned_run_holds_its_disk_space_until_it_ends() {
    // Too little for a run without a plan, and enough for this run.
    let run = Run::endless(&["--memory-budget", "280MiB"]);
    let reserve = reserve_in(&run.spill());
    let taken = wait_for("its blocks", || {
        let file = fs::metadata(&reserve).unwrap();
        (file.blocks() > 0).then_some(file.blocks() * 512)
    });
    assert!(taken >= 4096, "{taken}");
    // Workers also write here for a while.
    let control = run.control();
    wait_for("an epoch", || (control.rank(0).epoch.get() > 2).then_some(()));
    assert!(reserve.exists());
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(!ended.stderr.contains("cannot reserve"), "{}", ended.stderr);
    ended.assert_no_spill_files();
}

#[test]
fn what_one_run_has_reserved_is_not_there_for_another() {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("graph");
    let sizes = "generate --nodes 30000 --edges 1800000 --features 16 --classes 5 --num-parts 3";
    sar(sizes).arg("--out").arg(&graph).assert().success();
    let json = graph.join("g.json");
    let mut plan = sar("plan --hidden 256 --json --part-json");
    let plan = plan.arg(&json).arg("--spill-dir").arg(folder.path()).output().unwrap();
    let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).unwrap();
    let planned = plan["disk"]["peak"].as_u64().unwrap();

    // With room for one run, and for the small graphs from which the other is planned.
    let Some(disk) = SmallDisk::mount(planned / 10 * 16) else { return };
    let flags = ["--hidden", "256", "--spill-dir", disk.path().to_str().unwrap()];
    let first = Run::start(&json, &flags);
    reserve_in(disk.path());
    let left = || free_space(disk.path()).unwrap();
    wait_for("the space to be taken", || (left() < planned).then_some(()));
    let second = Run::start(&json, &flags).end();
    assert_eq!(second.code, Some(4), "{}", second.stderr);
    let error = second.error();
    assert!(error.starts_with("error: files of the run take "), "{error}");
    assert!(error.contains(disk.path().to_str().unwrap()), "{error}");
    assert!(second.stderr.contains("hint: free space there"), "{}", second.stderr);
    // The other run has not noticed. Between the removal of a file and the return of its space there may be more room.
    wait_for("the space to be taken", || (left() < planned).then_some(()));
    first.signal(Signal::INT);
    assert_eq!(first.end().code, Some(130));
    assert_eq!(disk.entries(), 0);
    assert!(left() > planned);
}

#[test]
fn space_that_another_program_has_taken_makes_a_reserve_smaller() {
    const SIZE: u64 = 1 << 20;
    let Some(disk) = SmallDisk::mount(2 * SIZE) else { return };
    let path = disk.path().join("reserve");
    Reserve::create(&path, SIZE).unwrap();
    let reserve = Reserve::open(&path, 1).unwrap();
    let left = || fs::metadata(&path).unwrap().len();
    reserve.take(SIZE).unwrap();
    let given = left();
    let other = disk.path().join("other");
    Reserve::create(&other, free_space(disk.path()).unwrap()).unwrap();
    reserve.give_back(SIZE / 2).unwrap();
    assert_eq!(left(), given);
    // As soon as there is room again, it is taken.
    fs::remove_file(&other).unwrap();
    reserve.give_back(SIZE / 2).unwrap();
    assert!(left() > SIZE / 4 * 3, "{}", left());
}

#[test]
fn a_file_system_that_cannot_reserve_is_told_of() {
    let Some(disk) = SmallDisk::mount_simple() else { return };
    assert_eq!(free_space(disk.path()), None);
    let flags = ["--spill-dir", disk.path().to_str().unwrap(), "--memory-budget", "280MiB"];
    let json = super::common::repository("data/karate/karate.json");
    let ended = Run::start(&json, &[&flags[..], &["--epochs", "2"]].concat()).end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let note = format!("note: the file system of {} cannot reserve space", disk.path().display());
    assert!(ended.stderr.contains(&note), "{}", ended.stderr);
    assert_eq!(disk.entries(), 0);
}
