//! Folders that commands name themselves.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::event::file_name;
use crate::io::{MadeFolders, OutputFolder};
use crate::words::error::Result;

/// Creates the first of FOLDER-1, FOLDER-2, ... that does not exist, so that commands that start at the same time get
/// different ones.
pub(in crate::cli) fn claim_folder(folder: &Path) -> Result<(PathBuf, MadeFolders)> {
    let mut number = 1_u32;
    loop {
        let mut name = folder.as_os_str().to_owned();
        name.push(format!("-{number}"));
        let numbered = PathBuf::from(name);
        OutputFolder::remove_abandoned(&numbered);
        let made = MadeFolders::create(&numbered, "out")?;
        if made.paths().contains(&numbered) {
            return Ok((numbered, made));
        }
        number += 1;
    }
}

/// The name of the graph of a file of edges, which may begin with their type.
pub(in crate::cli) fn name_of(edges: &OsStr) -> String {
    let edges = edges.to_string_lossy();
    let path = edges.split_once('=').map_or(&*edges, |(_, path)| path);
    let file = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    let stem = file.split('.').find(|part| !part.is_empty()).unwrap_or_default();
    file_name(stem.trim_matches('-'))
}
