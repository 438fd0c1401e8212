//! A partition directory as its JSON file describes it.

use super::id_maps::OriginalMaps;
use super::part_files::PartFiles;
use crate::formats::dgl::array::ArrayRef;
use crate::graph::PartitionBook;
use crate::words::error::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A partition directory, as `<graph>.json` (in the chunked pipeline, `metadata.json`) describes it.
#[derive(Clone, Debug)]
pub struct PartitionConfig {
    pub(super) path: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) graph_name: String,
    pub(super) part_method: Option<String>,
    pub(super) node_order: Option<String>,
    pub(super) halo_hops: Option<u64>,
    pub(super) book: Arc<PartitionBook>,
    pub(super) parts: Arc<[PartFiles]>,
    pub(super) original: Option<OriginalMaps>,
    /// Original ids that the user has passed in files: for each node type, the ids of its nodes, by id within the type.
    pub(super) given_ids: Arc<[Option<ArrayRef>]>,
    pub(super) notes: Vec<String>,
}

impl PartitionConfig {
    /// Path of the JSON file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the directory's other files: that of the JSON file, or of the file that it links to.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The graph's name.
    pub fn graph_name(&self) -> &str {
        &self.graph_name
    }

    /// The same directory with original ids that the user has passed: for each node type, the original id of each of
    /// its nodes, by id within the type. They replace original ids in files of the directory.
    ///
    /// # Errors
    /// If they are not a vector of integers, one per node.
    pub fn with_original_ids(mut self, ids: Vec<Option<ArrayRef>>) -> Result<Self> {
        for (ntype, array) in ids.iter().enumerate() {
            let Some(array) = array else { continue };
            let nodes = self.book.num_nodes_of_type(ntype);
            if array.shape().first() != Some(&nodes) || array.row_len() != 1 {
                let name = &self.book.ntypes()[ntype];
                let problem = format!(
                    "has shape {:?}, but the graph has {nodes} nodes of type {name}",
                    array.shape()
                );
                return Err(array.fail(problem));
            }
            if !array.dtype().is_integer() {
                return Err(array.fail(format!("holds {}, but ids are integers", array.dtype())));
            }
        }
        self.given_ids = ids.into();
        Ok(self)
    }

    /// Whether nodes have kept their order within each type, so that partitions are ranges of original ids.
    pub fn keeps_numbers(&self) -> bool {
        self.part_method.as_deref() == Some("range") && self.node_order.is_none()
    }

    /// The method of partitioning, if the file names it (the pipeline always says `metis`).
    pub fn part_method(&self) -> Option<&str> {
        self.part_method.as_deref()
    }

    /// The order of nodes within a partition, if it is not that of the input.
    pub fn node_order(&self) -> Option<&str> {
        self.node_order.as_deref()
    }

    /// Number of hops of foreign nodes in the files, if the JSON file states it.
    pub fn halo_hops(&self) -> Option<u64> {
        self.halo_hops
    }

    /// The owners of nodes and edges.
    pub fn book(&self) -> &Arc<PartitionBook> {
        &self.book
    }

    /// The files of each partition.
    pub fn parts(&self) -> &[PartFiles] {
        &self.parts
    }

    /// The partitions whose files are on this machine.
    pub fn present(&self) -> Vec<usize> {
        let is_here = |part: &usize| self.parts[*part].node_feats.exists();
        (0..self.parts.len()).filter(is_here).collect()
    }

    /// The first partition whose files are on this machine; 0 if none is, so that opening it reports the missing file.
    pub fn first_present(&self) -> usize {
        self.present().first().copied().unwrap_or(0)
    }

    /// Whether the files number nodes and edges by original ids (`reshuffle=False`).
    pub fn keeps_original_ids(&self) -> bool {
        self.original.is_some()
    }

    /// Notes for the user on how the directory was interpreted.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Original ids of a node type that the user has passed.
    pub(crate) fn given_ids(&self, ntype: usize) -> Option<&ArrayRef> {
        self.given_ids.get(ntype)?.as_ref()
    }

    pub(crate) fn original(&self) -> Option<&OriginalMaps> {
        self.original.as_ref()
    }
}
