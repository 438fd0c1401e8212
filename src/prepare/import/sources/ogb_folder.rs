//! Files in the folders of a data set of the Open Graph Benchmark.

use std::fs;
use std::path::{Path, PathBuf};

use crate::prepare::import::files::DataFile;
use crate::prepare::import::readers::{Ask, CellValue, FileRows, TextRules, Wants};
use crate::words::error::{Error, Result};

/// Hint for files of several graphs.
pub(super) const ONE_GRAPH: &str = "a data set of one graph is needed";

/// Format of OGB's tables: text without column names.
pub(super) const PLAIN: TextRules =
    TextRules { header: Some(false), separator: Some(','), comment: None };

/// The tables of the nodes or edges of a type in a folder: `node-feat.csv.gz` is `feat`, `edge_weight.npz` is `weight`.
pub(super) fn tables<T: Clone>(folder: &Path, side: &str, ty: &T) -> Result<Vec<DataFile<T>>> {
    let mut found: Vec<DataFile<T>> = Vec::new();
    for extension in [".csv.gz", ".npz", ".npy"] {
        for file in names(folder)? {
            let stem = file.strip_suffix(extension).and_then(|stem| stem.strip_prefix(side));
            let Some(name) = stem.and_then(|stem| stem.strip_prefix(['-', '_'])) else { continue };
            if found.iter().all(|known| known.name != name) {
                found.push(DataFile::new(ty.clone(), name, &folder.join(&file)));
            }
        }
    }
    Ok(found)
}

/// Names of the files in a folder, sorted; empty if the folder does not exist.
pub(super) fn names(folder: &Path) -> Result<Vec<String>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let name = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.map_err(|e| Error::unreadable(folder, &e))?;
        Ok(entry.file_name().to_string_lossy().into_owned())
    };
    let mut names: Vec<String> = entries.map(name).collect::<Result<_>>()?;
    names.sort_unstable();
    Ok(names)
}

/// The number in a file, if the file exists.
pub(super) fn read_count(path: &Path) -> Result<Option<u64>> {
    if !path.exists() {
        return Ok(None);
    }
    let folder = std::env::temp_dir();
    let mut rows =
        FileRows::open_list(path, &Ask { rules: PLAIN, ..Ask::new(Wants::List, &folder) })?;
    let count = if rows.advance()? { rows.value(0).parsed() } else { CellValue::Missing };
    let CellValue::Whole(count @ 0..) = count else {
        return Err(rows.fail_first("must hold the number of nodes or edges"));
    };
    if rows.advance()? {
        return Err(rows.fail("announces a second graph").with_hint(ONE_GRAPH));
    }
    Ok(Some(count as u64))
}

/// The folder of the only split, such as `split/time/`.
pub(super) fn only_split(folder: &Path) -> Result<Option<PathBuf>> {
    if !folder.exists() {
        return Ok(None);
    }
    let mut found = names(folder)?;
    found.retain(|name| folder.join(name).is_dir());
    if found.len() != 1 {
        let problem = format!("holds {} splits, but one is needed", found.len());
        return Err(Error::input(folder, "", problem)
            .with_hint("remove the others, or name the files of one: ‹split=train=FILE›"));
    }
    Ok(found.pop().map(|name| folder.join(name)))
}

/// The lists of nodes of a type in a folder.
pub(super) fn split_lists(folder: &Path, ntype: &str) -> impl Iterator<Item = DataFile<String>> {
    let lists = ["train", "valid", "test"];
    let lists = lists.map(|name| (name, folder.join(format!("{name}.csv.gz"))));
    let there = lists.into_iter().filter(|(_, path)| path.exists());
    there.map(move |(name, path)| DataFile::new(ntype.to_owned(), name, &path))
}
