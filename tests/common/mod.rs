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
