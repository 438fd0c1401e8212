//! Locations of each partition's files.

use super::field::Field;
use crate::words::error::Result;
use std::path::{Component, Path, PathBuf};

/// The files of one partition. They need not exist until the partition is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFiles {
    /// Feature file of inner nodes.
    pub node_feats: PathBuf,
    /// Feature file of inner edges.
    pub edge_feats: PathBuf,
    /// Structure in DGL's graph file.
    pub graph: Option<PathBuf>,
    /// Structure in GraphBolt's file.
    pub graphbolt: Option<PathBuf>,
    /// File of original ids of inner nodes, if it exists.
    pub orig_nids: Option<PathBuf>,
    /// File of original ids of inner edges, if it exists.
    pub orig_eids: Option<PathBuf>,
}

impl PartFiles {
    /// The structure file that is read: DGL's or, if that does not exist, GraphBolt's.
    pub fn structure(&self) -> Option<&Path> {
        let dgl = self.graph.as_deref().filter(|dgl| dgl.exists() || self.graphbolt.is_none());
        dgl.or(self.graphbolt.as_deref())
    }
}

/// Searches for the files that a JSON file names, because the directory may have been moved.
pub(super) struct Finder<'a> {
    folder: &'a Path,
    notes: Vec<String>,
}

impl<'a> Finder<'a> {
    /// A search that begins in a folder.
    pub(super) fn new(folder: &'a Path) -> Self {
        Finder { folder, notes: Vec::new() }
    }

    /// Notes on files that were found elsewhere than the JSON file says.
    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes
    }

    /// Returns the stored path or, if only that exists, its last `keep` components below the folder. Of a relative path
    /// that leads upwards (DGL writes one for `out_path="../parts"`), only the last components are tried, so that no
    /// file outside the folder is opened.
    pub(super) fn find(&mut self, field: &Field<'_>, keep: usize) -> Result<PathBuf> {
        let stored = field.text()?;
        let upwards = Path::new(stored).components().any(|part| part == Component::ParentDir);
        let direct = self.folder.join(stored);
        if !upwards && direct.exists() {
            return Ok(direct);
        }
        let names = Path::new(stored).components().filter(|c| matches!(c, Component::Normal(_)));
        let mut tail: Vec<Component<'_>> = names.rev().take(keep).collect();
        tail.reverse();
        let moved = self.folder.join(tail.into_iter().collect::<PathBuf>());
        match (moved.exists(), upwards) {
            (false, false) => return Ok(direct),
            (false, true) => {
                return Err(field
                    .fail(format!("{stored:?} leads out of the folder"))
                    .with_hint("name a file in the folder of the JSON file, without .."));
            }
            (true, _) => {
                let problem = if upwards { "leads out of the folder" } else { "does not exist" };
                let moved = moved.display();
                self.notes.push(format!("{stored} {problem}; {moved} is read instead"));
            }
        }
        Ok(moved)
    }

    /// Reads the entry `part-<k>`.
    pub(super) fn part(&mut self, part: &Field<'_>) -> Result<PartFiles> {
        let node_feats = self.find(&part.require("node_feats")?, 2)?;
        let edge_feats = self.find(&part.require("edge_feats")?, 2)?;
        let mut optional = |key: &str| -> Result<Option<PathBuf>> {
            let Some(field) = part.get(key) else { return Ok(None) };
            self.find(&field, 2).map(Some)
        };
        let (graph, graphbolt) = (optional("part_graph")?, optional("part_graph_graphbolt")?);
        if graph.is_none() && graphbolt.is_none() {
            return Err(part.fail("names neither part_graph nor part_graph_graphbolt"));
        }
        let beside = |name: &str| Some(node_feats.with_file_name(name)).filter(|p| p.exists());
        Ok(PartFiles {
            orig_nids: beside("orig_nids.dgl"),
            orig_eids: beside("orig_eids.dgl"),
            node_feats,
            edge_feats,
            graph,
            graphbolt,
        })
    }
}
