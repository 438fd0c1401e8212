//! Writes a partition's structure from its edges: nodes, foreign ends, edges.

use super::graph_writer::GraphWriter;
use super::partition_writer::PartitionWriter;
use crate::graph::{Bitmap, PartitionBook, RankedBitmap};
use crate::words::error::Result;

/// Number of halo nodes passed to the writer at a time.
const BLOCK: usize = 1 << 12;

/// The edges of partitions, by global ids, which can be read twice.
pub(crate) trait PartitionEdges {
    /// Calls `take` with sources and destinations of the inner edges of a partition, in the order of edge ids.
    fn inner(&self, part: usize, take: &mut dyn FnMut(&[[u64; 2]]) -> Result<()>) -> Result<()>;

    /// Number of edges from a partition's nodes to other nodes that are stored with the partition.
    fn num_halo(&self, _part: usize) -> u64 {
        0
    }

    /// Calls `take` with sources, destinations and edge ids of those edges.
    fn halo(&self, _part: usize, _take: &mut dyn FnMut(&[[u64; 3]]) -> Result<()>) -> Result<()> {
        Ok(())
    }
}

/// Counts of a partition's foreign nodes and cut edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Halo {
    /// Number of foreign nodes in its file.
    pub(crate) nodes: u64,
    /// Number of foreign nodes that are sources of its inner edges.
    pub(crate) sources: u64,
    /// Number of inner edges from foreign nodes.
    pub(crate) cut_edges: u64,
}

/// Writes `graph.dgl` of a partition. `tell` is called from time to time with the number of inner edges written.
/// Memory: one bit per node of the whole graph, and buffers.
pub(crate) fn write_structure(
    writer: &PartitionWriter,
    book: &PartitionBook,
    part: usize,
    edges: &dyn PartitionEdges,
    tell: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<Halo> {
    let (foreign, counts) = halo_nodes(book, part, edges)?;
    let mut graph = writer.graph(part, foreign.len(), edges.num_halo(part))?;
    append_halo_nodes(&mut graph, &foreign)?;
    let own = book.node_range(part);
    let num_inner = own.end - own.start;
    let local = |id: u64| foreign.rank(id).map_or_else(|| id - own.start, |rank| num_inner + rank);
    let (mut src, mut dst, mut ids, mut done) = (Vec::new(), Vec::new(), Vec::new(), 0);
    edges.inner(part, &mut |edges| {
        tell(done)?;
        src.clear();
        dst.clear();
        src.extend(edges.iter().map(|[source, _]| local(*source)));
        dst.extend(edges.iter().map(|[_, destination]| destination - own.start));
        done += edges.len() as u64;
        graph.append_inner_edges(&src, &dst)
    })?;
    edges.halo(part, &mut |edges| {
        tell(done)?;
        src.clear();
        dst.clear();
        ids.clear();
        src.extend(edges.iter().map(|[source, ..]| source - own.start));
        dst.extend(edges.iter().map(|[_, destination, _]| local(*destination)));
        ids.extend(edges.iter().map(|[.., id]| id));
        graph.append_halo_edges(&src, &dst, &ids)
    })?;
    graph.finish()?;
    Ok(counts)
}

/// The foreign ends of a partition's edges.
fn halo_nodes(
    book: &PartitionBook,
    part: usize,
    edges: &dyn PartitionEdges,
) -> Result<(RankedBitmap, Halo)> {
    let (own, mut counts) = (book.node_range(part), Halo::default());
    let mut foreign = Bitmap::new(book.num_nodes());
    edges.inner(part, &mut |edges| {
        for [source, _] in edges.iter().filter(|[source, _]| !own.contains(source)) {
            counts.sources += u64::from(foreign.insert(*source));
            counts.cut_edges += 1;
        }
        Ok(())
    })?;
    counts.nodes = counts.sources;
    edges.halo(part, &mut |edges| {
        for [_, destination, _] in edges {
            counts.nodes += u64::from(foreign.insert(*destination));
        }
        Ok(())
    })?;
    Ok((RankedBitmap::new(foreign), counts))
}

/// Appends halo nodes in ascending order.
fn append_halo_nodes(graph: &mut GraphWriter, halo: &RankedBitmap) -> Result<()> {
    let mut members = halo.members().peekable();
    let mut ids = Vec::with_capacity(BLOCK);
    while members.peek().is_some() {
        ids.clear();
        ids.extend(members.by_ref().take(BLOCK));
        graph.append_halo_nodes(&ids)?;
    }
    Ok(())
}
