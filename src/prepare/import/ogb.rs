//! Folders of the Open Graph Benchmark (Hu et al. 2020), as its downloads unpack them.

use std::fs;
use std::path::{Path, PathBuf};

use super::files::{DataFile, EdgeFile, GraphFiles, NODE, edge};
use super::ogb_relations::relations;
use super::text::{Lines, parse_id};
use crate::error::{Error, Result};

/// Tables in `raw/` of nodes and of edges, with the names that they get.
pub(super) const NODE_TABLES: [(&str, &str); 3] =
    [("node-feat", "feat"), ("node-label", "label"), ("node_year", "year")];
pub(super) const EDGE_TABLES: [(&str, &str); 1] = [("edge-feat", "feat")];

/// Arrays in `raw/data.npz` of large graphs, with the names that they get.
const NODE_ARRAYS: [(&str, &str); 2] = [("node_feat", "feat"), ("node_year", "year")];

impl GraphFiles {
    /// The files of a data set of node properties: `raw/edge.csv.gz` or `raw/data.npz`, the tables next to it, and the lists of
    /// nodes in `split/`. In heterogeneous data sets, each relation and each node type has a folder.
    ///
    /// # Errors
    /// If the folder is not such a data set, or has several splits.
    pub fn of_ogb(folder: &Path) -> Result<Self> {
        let raw = folder.join("raw");
        if raw.join("triplet-type-list.csv.gz").exists() || raw.join("relations").exists() {
            return relations(folder);
        }
        let mut files = GraphFiles::default();
        let (edges, arrays) = (raw.join("edge.csv.gz"), raw.join("data.npz"));
        if edges.exists() {
            files.edges.push(EdgeFile { etype: edge(), path: edges });
        } else if arrays.exists() {
            files.edges.push(EdgeFile { etype: edge(), path: arrays.clone() });
            for (array, name) in NODE_ARRAYS {
                if super::numpy::holds(&arrays, array)? {
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
        for (file, name) in NODE_TABLES {
            if let Some(path) = table(&raw, file) {
                files.node_data.push(DataFile::new(NODE.to_owned(), name, &path));
            }
        }
        for (file, name) in EDGE_TABLES {
            if let Some(path) = table(&raw, file) {
                files.edge_data.push(DataFile::new(edge(), name, &path));
            }
        }
        let counts = raw.join("num-node-list.csv.gz");
        if counts.exists() {
            files.num_nodes.push((NODE.to_owned(), read_count(&counts)?));
        }
        if let Some(split) = only_split(&folder.join("split"))? {
            files.splits = split_lists(&split, NODE).collect();
        }
        Ok(files)
    }
}

/// The file of a table, as text or as an array.
pub(super) fn table(raw: &Path, name: &str) -> Option<PathBuf> {
    let candidates =
        ["csv.gz", "npz", "npy"].map(|extension| raw.join(format!("{name}.{extension}")));
    candidates.into_iter().find(|path| path.exists())
}

fn read_count(path: &Path) -> Result<u64> {
    let mut lines = Lines::open(path)?;
    let count = if lines.advance()? { parse_id(lines.text()) } else { None };
    let count = count.ok_or_else(|| lines.fail("must hold the number of nodes"))?;
    if lines.advance()? {
        return Err(lines.fail("announces a second graph; a data set of one graph is needed"));
    }
    Ok(count)
}

/// The folder of the only split, such as `split/time/`.
pub(super) fn only_split(folder: &Path) -> Result<Option<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(None) };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| Error::unreadable(folder, &e))?.path();
        found.extend(path.is_dir().then_some(path));
    }
    if found.len() != 1 {
        let problem = format!("holds {} splits, but one is needed", found.len());
        return Err(Error::input(folder, "", problem)
            .with_hint("remove the others, or name the files of one: ‹split=train=FILE›"));
    }
    Ok(found.pop())
}

/// The lists of nodes of a type in a folder.
pub(super) fn split_lists(folder: &Path, ntype: &str) -> impl Iterator<Item = DataFile<String>> {
    let lists = ["train", "valid", "test"];
    let lists = lists.map(|name| (name, folder.join(format!("{name}.csv.gz"))));
    let there = lists.into_iter().filter(|(_, path)| path.exists());
    there.map(move |(name, path)| DataFile::new(ntype.to_owned(), name, &path))
}
