//! Folders in memory for the files that are read.

use crate::common::{repository, shared};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A new folder, in memory where the system has folders in memory.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// All files below a folder, in order.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Copies a folder, so that its files can be changed.
pub(crate) fn copy(from: &Path, to: &Path) {
    for path in files(from) {
        let copy = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::write(&copy, fs::read(&path).unwrap()).unwrap();
    }
}

/// The JSON files of small partition directories: those of this repository, and of every version of DGL if samples lie next to
/// it.
pub(crate) fn partition_directories() -> Vec<PathBuf> {
    let mut roots = vec![repository("tests/fixtures"), repository("data")];
    roots.extend(shared("dgl-samples"));
    let all = roots.iter().flat_map(|root| files(root));
    let json = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "json")
            && path.with_file_name("part0").is_dir()
    };
    all.filter(json).collect()
}
