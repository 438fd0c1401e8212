//! A partition directory as its JSON file describes it.

use super::id_maps::OriginalMaps;
use super::part_files::PartFiles;
use crate::graph::PartitionBook;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A partition directory, as `<graph>.json` (in the chunked pipeline, `metadata.json`) describes it.
#[derive(Clone, Debug)]
pub struct PartitionConfig {
    pub(super) path: PathBuf,
    pub(super) graph_name: String,
    pub(super) part_method: Option<String>,
    pub(super) halo_hops: Option<u64>,
    pub(super) book: Arc<PartitionBook>,
    pub(super) parts: Arc<[PartFiles]>,
    pub(super) original: Option<OriginalMaps>,
    pub(super) notes: Vec<String>,
}

impl PartitionConfig {
    /// Path of the JSON file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The graph's name.
    pub fn graph_name(&self) -> &str {
        &self.graph_name
    }

    /// The method of partitioning, if the file names it (the pipeline always says `metis`).
    pub fn part_method(&self) -> Option<&str> {
        self.part_method.as_deref()
    }

    /// Number of hops of foreign nodes in the files, if the JSON file says so.
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

    /// The first partition whose files are on this machine; 0 if none is, so that what opens it says what is missing.
    pub fn first_present(&self) -> usize {
        self.present().first().copied().unwrap_or(0)
    }

    /// Whether the files number nodes and edges by original ids (`reshuffle=False`).
    pub fn keeps_original_ids(&self) -> bool {
        self.original.is_some()
    }

    /// Remarks for the user on how the directory was understood.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn original(&self) -> Option<&OriginalMaps> {
        self.original.as_ref()
    }
}
