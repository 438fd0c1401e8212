//! The structure of each partition: nodes, foreign sources, edges.

use super::progress::{Progress, Step};
use super::spool::EdgeSpool;
use crate::data::dgl::writer::{GraphWriter, PartitionWriter};
use crate::error::Result;
use crate::graph::{Bitmap, PartitionBook, RankedBitmap};

/// Halo nodes handed to the writer at a time.
const BLOCK: usize = 1 << 12;

/// Writes `graph.dgl` of every partition, and `edge_feat.dgl` without features. Gives the number of edges that come from
/// another partition.
pub(super) fn write_structure(
    writer: &PartitionWriter,
    book: &PartitionBook,
    spool: &EdgeSpool,
    progress: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<u64> {
    let mut cut_edges = 0;
    for part in 0..book.num_parts() {
        let (halo, cut) = halo_nodes(book, spool, part)?;
        cut_edges += cut;
        let mut graph = writer.graph(part, halo.len(), 0)?;
        append_halo(&mut graph, &halo)?;
        append_edges(&mut graph, (book, part), spool, &halo, progress)?;
        graph.finish()?;
        writer.edge_features(part, &[])?.finish()?;
    }
    Ok(cut_edges)
}

/// The foreign sources of a partition's edges, and how many edges they have.
fn halo_nodes(book: &PartitionBook, spool: &EdgeSpool, part: usize) -> Result<(RankedBitmap, u64)> {
    let (own, mut cut_edges) = (book.node_range(part), 0);
    let mut foreign = Bitmap::new(book.num_nodes());
    spool.read(part, |edges| {
        for (source, _) in edges.iter().filter(|(source, _)| !own.contains(source)) {
            foreign.insert(*source);
            cut_edges += 1;
        }
        Ok(())
    })?;
    Ok((RankedBitmap::new(foreign), cut_edges))
}

fn append_halo(graph: &mut GraphWriter, halo: &RankedBitmap) -> Result<()> {
    let mut members = halo.members().peekable();
    let mut ids = Vec::with_capacity(BLOCK);
    while members.peek().is_some() {
        ids.clear();
        ids.extend(members.by_ref().take(BLOCK));
        graph.append_halo_nodes(&ids)?;
    }
    Ok(())
}

/// Appends the edges of a partition with local ids: inner nodes first, then halo nodes, both in ascending order.
fn append_edges(
    graph: &mut GraphWriter,
    (book, part): (&PartitionBook, usize),
    spool: &EdgeSpool,
    halo: &RankedBitmap,
    progress: &mut dyn FnMut(Progress) -> Result<()>,
) -> Result<()> {
    let (own, mut done) = (book.node_range(part), book.edge_range(part).start);
    let num_inner = own.end - own.start;
    let local = |id: u64| halo.rank(id).map_or_else(|| id - own.start, |rank| num_inner + rank);
    let (mut src, mut dst) = (Vec::new(), Vec::new());
    spool.read(part, |edges| {
        progress(Progress { step: Step::Structure, done, total: book.num_edges() })?;
        src.clear();
        dst.clear();
        src.extend(edges.iter().map(|(source, _)| local(*source)));
        dst.extend(edges.iter().map(|(_, destination)| destination - own.start));
        done += edges.len() as u64;
        graph.append_inner_edges(&src, &dst)
    })
}
