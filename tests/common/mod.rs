//! Helpers that several test binaries share.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of the sample data that may lie next to the repository. `None`, and a line on the terminal, if it does not exist.
#[allow(dead_code)]
pub(crate) fn shared(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(folder);
    if path.is_dir() {
        return Some(path);
    }
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // This bypasses libtest's capture, so that a skipped test never looks like one that ran.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: there is no {}", path.display());
    None
}

/// A file or folder of this repository.
#[allow(dead_code)]
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A program with signals as a terminal sets them: a shell's background jobs, which tests may be, ignore SIGINT.
#[allow(dead_code)]
pub(crate) fn with_default_signals(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=INT,TERM,HUP").arg(program);
    command
}

/// The graph of the karate club, in two partitions.
#[allow(dead_code)]
pub(crate) fn karate() -> PathBuf {
    repository("data/karate/karate.json")
}

/// The lines of a run's metrics.
#[allow(dead_code)]
pub(crate) fn metrics(run: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The lines of a run's epochs.
#[allow(dead_code)]
pub(crate) fn epochs(run: &Path) -> Vec<serde_json::Value> {
    metrics(run).into_iter().filter(|line| line["event"] == "epoch").collect()
}

/// Every file below a folder, by its path in it, with its bytes.
#[allow(dead_code)]
pub(crate) fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let inside = files(&path).into_iter();
            found.extend(inside.map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            found.push((name, std::fs::read(&path).unwrap()));
        }
    }
    found.sort_unstable();
    found
}

/// Copies a folder's files to a place where they may be changed.
#[allow(dead_code)]
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    for (name, bytes) in files(from) {
        let copy = to.join(name);
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::write(copy, bytes).unwrap();
    }
}

/// Does work into new folders below `folder`: once to its end, which takes more than `least` calls, and once stopped at each call.
/// Then nothing is left.
#[allow(dead_code)]
pub(crate) fn assert_stops(
    folder: &Path,
    least: usize,
    mut work: impl FnMut(&Path, &mut dyn FnMut() -> sar::Result<()>) -> sar::Result<()>,
) {
    let entries = || folder.read_dir().unwrap().count();
    let (before, mut calls) = (entries(), 0);
    work(&folder.join("whole"), &mut || {
        calls += 1;
        Ok(())
    })
    .unwrap();
    assert!(calls > least, "{calls}");
    for stop in 0..calls {
        let mut left = stop;
        let stopped = work(&folder.join("new/folder"), &mut || {
            if left == 0 {
                return Err(sar::Error::interrupted());
            }
            left -= 1;
            Ok(())
        });
        let kind = stopped.as_ref().err().map(sar::Error::kind);
        assert_eq!(kind, Some(sar::ErrorKind::Interrupted), "stopped at {stop}: {stopped:?}");
        assert_eq!(entries(), before + 1, "stopped at {stop}");
    }
}
