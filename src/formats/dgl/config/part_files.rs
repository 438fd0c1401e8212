//! Where the files of each partition are.

use super::field::Field;
use crate::error::Result;
use std::path::{Component, Path, PathBuf};

/// The files of one partition. They need not exist until the partition is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFiles {
    /// Features of inner nodes.
    pub node_feats: PathBuf,
    /// Features of inner edges.
    pub edge_feats: PathBuf,
    /// The structure as DGL's graph file.
    pub graph: Option<PathBuf>,
    /// The structure as GraphBolt's file.
    pub graphbolt: Option<PathBuf>,
    /// Original ids of inner nodes, if that file exists.
    pub orig_nids: Option<PathBuf>,
    /// Original ids of inner edges, if that file exists.
    pub orig_eids: Option<PathBuf>,
}

/// Finds files that a JSON file names, though it may have been moved since.
pub(super) struct Finder<'a> {
    folder: &'a Path,
    notes: Vec<String>,
}

impl<'a> Finder<'a> {
    /// Looks in the folder of the JSON file.
    pub(super) fn new(json: &'a Path) -> Self {
        Finder { folder: json.parent().unwrap_or(Path::new("")), notes: Vec::new() }
    }

    /// What was found elsewhere than the file says.
    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes
    }

    /// The stored path, or its last `keep` components below the folder if only that exists. A relative path that leads upwards
    /// (DGL writes one for `out_path="../parts"`) is only looked for by its last components: nothing outside of the folder
    /// is opened for it.
    ///
    /// # Errors
    /// If the field is not a text, or leads upwards to something else.
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
            (true, true) => self.notes.push(format!(
                "{stored} leads out of the folder; {} is read instead",
                moved.display()
            )),
            (true, false) => self
                .notes
                .push(format!("{stored} does not exist; {} is read instead", moved.display())),
        }
        Ok(moved)
    }

    /// Reads `part-<k>`.
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
