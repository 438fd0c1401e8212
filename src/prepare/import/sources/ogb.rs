//! Folders of the Open Graph Benchmark (Hu et al. 2020), as its downloads unpack them.

use std::fs;
use std::path::{Path, PathBuf};

use super::ogb_relations::relations;
use crate::error::{Error, Result};
use crate::prepare::import::files::{DataFile, EdgeFile, GraphFiles, NODE, edge};
use crate::prepare::import::readers::{Ask, CellValue, FileRows, TextRules, Wants, holds};

/// Arrays in `raw/data.npz` of large graphs, and the names that they get.
const NODE_ARRAYS: [(&str, &str); 2] = [("node_feat", "feat"), ("node_year", "year")];

/// Data sets whose edges OGB's loader stores in both directions, though the files do not.
const INVERSE: [&str; 5] = ["products", "proteins", "ppa", "collab", "ddi"];

impl GraphFiles {
    /// The files of a node property data set: `raw/edge.csv.gz` or `raw/data.npz`, the tables next to it, and the lists
    /// of nodes in `split/`. Heterogeneous data sets have a folder per relation and per node type.
    ///
    /// # Errors
    /// If the folder is not a data set of OGB, or has several splits.
    pub fn of_ogb(folder: &Path) -> Result<Self> {
        let raw = folder.join("raw");
        let layout = Some(folder.to_owned());
        if raw.join("triplet-type-list.csv.gz").exists() || raw.join("relations").exists() {
            return relations(folder).map(|files| GraphFiles { layout, ..files });
        }
        let mut files = GraphFiles { layout, ..GraphFiles::default() };
        let (edges, arrays) = (raw.join("edge.csv.gz"), raw.join("data.npz"));
        if edges.exists() {
            files.edges.push(EdgeFile { etype: edge(), path: edges });
        } else if arrays.exists() {
            files.edges.push(EdgeFile { etype: edge(), path: arrays.clone() });
            for (array, name) in NODE_ARRAYS {
                if holds(&arrays, array)? {
                    files.node_data.push(DataFile {
                        array: Some(array.to_owned()),
                        ..DataFile::new(NODE.to_owned(), name, &arrays)
                    });
                }
            }
        } else {
            return Err(Error::input(folder, "", "holds neither raw/edge.csv.gz nor raw/data.npz")
                .with_hint("name the folder of an unpacked OGB data set"));
        }
        for (name, path) in tables(&raw, "node")? {
            files.node_data.push(DataFile::new(NODE.to_owned(), &name, &path));
        }
        for (name, path) in tables(&raw, "edge")? {
            files.edge_data.push(DataFile::new(edge(), &name, &path));
        }
        if let Some(count) = read_count(&raw.join("num-node-list.csv.gz"))? {
            files.num_nodes.push((NODE.to_owned(), count));
        }
        if let Some(count) = read_count(&raw.join("num-edge-list.csv.gz"))? {
            files.num_edges.push((edge(), count));
        }
        if let Some(split) = only_split(&folder.join("split"))? {
            files.splits = split_lists(&split, NODE).collect();
            files.notes.extend(unread(&split)?);
        }
        let name = folder.canonicalize().unwrap_or_default();
        let name = name.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if INVERSE.iter().any(|part| name.contains(part)) {
            let problem = "OGB's loader adds the reverse of each edge of this data set";
            files.notes.push(format!("{}: {problem}: pass ‹undirected›", folder.display()));
        }
        Ok(files)
    }
}

/// Format of OGB's tables: text without column names.
pub(super) const PLAIN: TextRules =
    TextRules { header: Some(false), separator: Some(','), comment: None };

/// The tables of nodes or edges in a folder by name: `node-feat.csv.gz` is `feat`, `edge_weight.npz` is `weight`.
pub(super) fn tables(folder: &Path, side: &str) -> Result<Vec<(String, PathBuf)>> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for extension in [".csv.gz", ".npz", ".npy"] {
        for file in names(folder)? {
            let stem = file.strip_suffix(extension).and_then(|stem| stem.strip_prefix(side));
            let Some(name) = stem.and_then(|stem| stem.strip_prefix(['-', '_'])) else { continue };
            if found.iter().all(|(known, _)| known != name) {
                found.push((name.to_owned(), folder.join(&file)));
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
        return Err(rows.fail("announces a second graph; a data set of one graph is needed"));
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

/// A note on unread files of a split.
pub(super) fn unread(split: &Path) -> Result<Option<String>> {
    let mut found = names(split)?;
    found.retain(|name| {
        let is_pickle = Path::new(name).extension().is_some_and(|end| end == "pt");
        is_pickle && !name.contains("dict")
    });
    let list = found.join(", ");
    let problem = "pickles, which can run any code, are not read";
    Ok((!list.is_empty()).then(|| format!("{}: left out: {list}; {problem}", split.display())))
}
