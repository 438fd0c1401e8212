//! Small tools for tests of the command.

use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;

use crate::common::{copy_folder, repository};

/// `sar-single inspect` on a file, with paths relative to `folder`.
pub(crate) fn inspect(folder: &Path, json: &str) -> Command {
    let mut command = cargo_bin_cmd!("sar-single");
    command.current_dir(folder).args(["inspect", json]);
    command
}

/// A copy of a folder of this repository that may be damaged.
pub(crate) fn copy(folder: &str) -> tempfile::TempDir {
    let target = tempfile::tempdir().unwrap();
    copy_folder(&repository(folder), target.path());
    target
}
