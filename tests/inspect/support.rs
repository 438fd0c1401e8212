//! Small tools for tests of the command.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;

/// `sar-single inspect` on a file, with paths relative to `folder`.
pub(crate) fn inspect(folder: &Path, json: &str) -> Command {
    let mut command = cargo_bin_cmd!("sar-single");
    command.current_dir(folder).args(["inspect", json]);
    command
}

/// This repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A copy of a folder of this repository that may be damaged.
pub(crate) fn copy(folder: &str) -> tempfile::TempDir {
    let target = tempfile::tempdir().unwrap();
    copy_into(&repository().join(folder), target.path());
    target
}

fn copy_into(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy_into(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}
