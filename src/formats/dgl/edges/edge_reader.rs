//! Reads a partition's inner edges in blocks.

use super::edge_columns::Edge;
use super::edge_ids::EdgeIds;
use super::edge_numbers::EdgeNumbers;
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::nodes::node_table::NodeTable;
use crate::formats::dgl::structure::entry_stream::EntryStream;
use crate::formats::dgl::structure::local_graph::LocalGraph;
use crate::words::error::{Error, Result};
use std::path::PathBuf;

/// An edge that a partition owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InnerEdge {
    /// Global id of the source node.
    pub src: u64,
    /// Global id of the destination node.
    pub dst: u64,
    /// Global id of the edge.
    pub id: u64,
    /// Edge type, by id.
    pub etype: usize,
    /// Row in the feature tables of the edge's type.
    pub row: u64,
}

/// A pass over the inner edges of a partition in the order of the file: by local edge if the file has COO, otherwise by
/// destination.
///
/// Memory holds the global ids of the halo nodes, and the columns of one block.
#[derive(Debug)]
pub struct EdgeReader {
    path: PathBuf,
    nodes: NodeTable,
    entries: EntryStream,
    numbers: EdgeNumbers,
    max: usize,
    /// Number of inner edges that are left.
    left: u64,
    src: Vec<u64>,
    dst: Vec<u64>,
}

impl EdgeReader {
    pub(crate) fn new(
        config: &PartitionConfig,
        part: usize,
        graph: &LocalGraph,
        max: usize,
    ) -> Result<Self> {
        let ids = EdgeIds::load(config, part, graph)?;
        let own = ids.own();
        Ok(EdgeReader {
            path: graph.path.clone(),
            nodes: NodeTable::load(config, part, graph)?,
            entries: EntryStream::new(graph),
            numbers: EdgeNumbers::new(graph, ids)?,
            max: max.max(1),
            left: own.end - own.start,
            src: Vec::new(),
            dst: Vec::new(),
        })
    }

    /// Fills `block` with the next edges, at least one, up to the block's maximum. Returns false, with an empty block,
    /// after the last edge.
    ///
    /// # Errors
    /// If the file cannot be read, or contradicts itself or the JSON file: an end that is not a node, an edge outside the
    /// partition's range, an inner edge whose destination is not inner, too few edges.
    pub fn next_block(&mut self, block: &mut Vec<InnerEdge>) -> Result<bool> {
        block.clear();
        while block.is_empty() && self.left > 0 {
            let entries = self.entries.next_block(self.max, &mut self.src, &mut self.dst)?;
            if entries.is_empty() {
                let problem = format!("{} inner edges are missing", self.left);
                return Err(Error::input(&self.path, "inner_edge", problem));
            }
            self.numbers.read(entries.clone())?;
            for (at, entry) in entries.enumerate() {
                let (src, dst) =
                    (self.global(self.src[at], entry)?, self.global(self.dst[at], entry)?);
                let inner = self.nodes.inner_index(dst).is_some();
                if let Some(Edge { etype, row, id }) = self.numbers.edge(at, entry, inner)? {
                    block.push(InnerEdge { src, dst, id, etype: etype as usize, row });
                    self.left -= 1;
                    if self.left == 0 {
                        break;
                    }
                }
            }
        }
        Ok(!block.is_empty())
    }

    fn global(&self, local: u64, entry: u64) -> Result<u64> {
        self.nodes.global(local).ok_or_else(|| {
            let problem = format!("edge {entry} ends at node {local}, which does not exist");
            Error::input(&self.path, "edges", problem)
        })
    }
}
