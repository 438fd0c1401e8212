//! A partition's in-edges on disk, by destination.

use std::ops::Range;
use std::path::{Path, PathBuf};

use bytemuck::Pod;

use super::index_file::IndexFile;
use crate::graph::PartitionBook;
use crate::io::{IoCounters, Storage};
use crate::words::error::{Error, Result};

/// The data that an index holds besides the structure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexConfig {
    /// Key of the edge feature with the weights by which models multiply messages.
    pub weight: Option<String>,
    /// Key of the edge feature with the edges' unnormalised probabilities. If all edges of a node have probability 0,
    /// none is drawn.
    pub probability: Option<String>,
    /// Whether probabilities come from a list passed to [`write_index`](super::write_index). An edge of probability 0
    /// then does not count in in-degrees.
    pub drawn: bool,
    /// Whether the two ends of each edge are stored by its id, for [`find_edges`](super::GraphSource::find_edges): 8 more
    /// bytes per edge.
    pub ends: bool,
}

/// Global id of the source, and index of the edge in its partition.
pub(super) type Record = [u32; 2];

const RECORD: u64 = size_of::<Record>() as u64;
const VALUE: u64 = size_of::<f32>() as u64;

/// Offsets of the parts of an index file, in native byte order (the file never leaves the machine): row starts (u64,
/// one more than nodes), out-degrees (u32), records sorted by destination and edge, one float32 column per edge feature
/// in the same order, and the ends of edges by edge.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) num_nodes: u64,
    pub(super) num_edges: u64,
    first_edge: u64,
    /// End of each edge type among the partition's edges.
    type_ends: Vec<u64>,
    has_weights: bool,
    has_probabilities: bool,
    has_ends: bool,
}

impl Layout {
    pub(super) fn new(book: &PartitionBook, part: usize, keys: &IndexConfig) -> Result<Self> {
        let (nodes, edges) = (book.node_range(part), book.edge_range(part));
        let num_edges = edges.end - edges.start;
        for (what, count) in
            [("nodes in the graph", book.num_nodes()), ("edges in a partition", num_edges)]
        {
            if u32::try_from(count).is_err() {
                let problem =
                    format!("there are {count} {what}, but sampling takes fewer than 2^32");
                return Err(Error::config("partitions", problem).with_hint(
                    "train on the full graph; if edges are too many, cut it into more partitions",
                ));
            }
        }
        let types = 0..book.etypes().len();
        Ok(Layout {
            num_nodes: nodes.end - nodes.start,
            num_edges,
            first_edge: edges.start,
            type_ends: types.map(|t| book.edge_type_range(part, t).end - edges.start).collect(),
            has_weights: keys.weight.is_some(),
            has_probabilities: keys.probability.is_some() || keys.drawn,
            has_ends: keys.ends,
        })
    }

    pub(super) fn path(folder: &Path, part: usize) -> PathBuf {
        folder.join(format!("in-edges-{part}"))
    }

    /// Number of edge features.
    pub(super) fn columns(&self) -> u64 {
        u64::from(self.has_weights) + u64::from(self.has_probabilities)
    }

    pub(super) fn out_degrees_at(&self) -> u64 {
        (self.num_nodes + 1) * size_of::<u64>() as u64
    }

    pub(super) fn records_at(&self) -> u64 {
        self.out_degrees_at() + self.num_nodes * size_of::<u32>() as u64
    }

    pub(super) fn weights_at(&self) -> u64 {
        self.records_at() + self.num_edges * RECORD
    }

    pub(super) fn probabilities_at(&self) -> u64 {
        self.weights_at() + if self.has_weights { self.num_edges * VALUE } else { 0 }
    }

    pub(super) fn ends_at(&self) -> u64 {
        self.weights_at() + self.columns() * self.num_edges * VALUE
    }

    fn byte_len(&self) -> u64 {
        self.ends_at() + if self.has_ends { self.num_edges * RECORD } else { 0 }
    }

    /// The type of an edge of the partition.
    pub(super) fn etype(&self, edge: u64) -> usize {
        self.type_ends.partition_point(|&end| end <= edge)
    }
}

/// In-edges of one partition's nodes, read by ranges from the file that [`write_index`](super::write_index) wrote. It
/// can be shared by threads.
pub struct NeighborIndex {
    layout: Layout,
    /// Whether the graph lacks the edges of probability 0.
    is_reduced: bool,
    index: IndexFile,
}

impl NeighborIndex {
    /// Opens the index of partition `part`; `keys` must equal the configuration with which it was written.
    ///
    /// # Errors
    /// If the file cannot be opened or its length does not match the partition.
    pub fn open(
        book: &PartitionBook,
        part: usize,
        keys: &IndexConfig,
        folder: &Path,
        storage: &dyn Storage,
        counters: IoCounters,
    ) -> Result<Self> {
        let layout = Layout::new(book, part, keys)?;
        let path = Layout::path(folder, part);
        let file = storage.open(&path).map_err(|e| Error::io("open", &path, e))?;
        let len = file.byte_len().map_err(|e| Error::io("read", &path, e))?;
        if len != layout.byte_len() {
            let problem = format!("has {len} bytes, not {}", layout.byte_len());
            return Err(Error::corrupt(&path, problem));
        }
        let index = IndexFile { path, file, counters };
        Ok(NeighborIndex { layout, is_reduced: keys.drawn, index })
    }

    /// Number of nodes of the partition.
    pub fn num_nodes(&self) -> u64 {
        self.layout.num_nodes
    }

    /// Number of edges of the partition.
    pub fn num_edges(&self) -> u64 {
        self.layout.num_edges
    }

    /// Whether edges have weights.
    pub fn has_weights(&self) -> bool {
        self.layout.has_weights
    }

    /// Whether edges have probabilities.
    pub fn has_probabilities(&self) -> bool {
        self.layout.has_probabilities
    }

    /// The global id of an edge of the partition.
    pub(super) fn global_edge(&self, edge: u32) -> u64 {
        self.layout.first_edge + u64::from(edge)
    }

    /// The type of an edge of the partition.
    pub(super) fn etype(&self, edge: u32) -> usize {
        self.layout.etype(u64::from(edge))
    }

    /// The index ranges of the in-edges of each node (counted inside the partition, ascending).
    pub(super) fn rows(&self, nodes: &[u64]) -> Result<Vec<Range<u64>>> {
        self.index.rows(0, nodes, self.layout.num_edges)
    }

    /// The in-degree of each node (counted inside the partition, ascending), without edges that are never drawn.
    pub(super) fn in_degrees(&self, nodes: &[u64]) -> Result<Vec<u64>> {
        let rows = self.rows(nodes)?;
        if !self.is_reduced {
            return Ok(rows.into_iter().map(|row| row.end - row.start).collect());
        }
        let mut degrees = vec![0; nodes.len()];
        self.probabilities(&rows, |i, probability| degrees[i] += u64::from(probability > 0.0))?;
        Ok(degrees)
    }

    /// The out-degree over the whole graph of each node (counted inside the partition, ascending).
    pub(super) fn out_degrees(&self, nodes: &[u64]) -> Result<Vec<u64>> {
        let (start, place) = (self.layout.out_degrees_at(), |i: usize| nodes[i]..nodes[i] + 1);
        let mut degrees = Vec::with_capacity(nodes.len());
        self.values(start, nodes.len(), place, |_, degree: u32| degrees.push(degree.into()))?;
        Ok(degrees)
    }

    /// Passes each edge's global source and its destination, counted inside the partition, to `visit`. `edges` are
    /// counted inside the partition, ascending.
    pub(super) fn ends(&self, edges: &[u64], visit: impl FnMut(usize, Record)) -> Result<()> {
        if !self.layout.has_ends {
            let problem = "the graph was opened without the ends of edges";
            return Err(Error::config("find_edges", problem).with_hint("set IndexConfig::ends"));
        }
        let place = |i: usize| edges[i]..edges[i] + 1;
        self.values(self.layout.ends_at(), edges.len(), place, visit)
    }

    /// Passes the records of index ranges (ascending) to `visit`, with the range's position.
    pub(super) fn records(
        &self,
        places: &[Range<u64>],
        visit: impl FnMut(usize, Record),
    ) -> Result<()> {
        self.values(self.layout.records_at(), places.len(), |i| places[i].clone(), visit)
    }

    /// Like [`records`](Self::records), for the edges' weights.
    pub(super) fn weights(
        &self,
        places: &[Range<u64>],
        visit: impl FnMut(usize, f32),
    ) -> Result<()> {
        self.values(self.layout.weights_at(), places.len(), |i| places[i].clone(), visit)
    }

    /// Like [`records`](Self::records), for the edges' probabilities.
    pub(super) fn probabilities(
        &self,
        places: &[Range<u64>],
        visit: impl FnMut(usize, f32),
    ) -> Result<()> {
        self.values(self.layout.probabilities_at(), places.len(), |i| places[i].clone(), visit)
    }

    /// Passes the values of `count` index ranges (ascending) of the part that begins at `start` to `visit`.
    fn values<T: Pod>(
        &self,
        start: u64,
        count: usize,
        place: impl Fn(usize) -> Range<u64>,
        mut visit: impl FnMut(usize, T),
    ) -> Result<()> {
        let size = size_of::<T>();
        let bytes = |i: usize| {
            let Range { start: first, end } = place(i);
            start + first * size as u64..start + end * size as u64
        };
        self.index.read(count, bytes, |i, bytes| {
            let values = bytes.chunks_exact(size).map(bytemuck::pod_read_unaligned);
            values.for_each(|value| visit(i, value));
        })
    }
}
