//! The structure of each partition.

use crate::formats::dgl::writer::{PartitionEdges, PartitionWriter, write_structure};
use crate::graph::PartitionBook;
use crate::io::BucketSpool;
use crate::prepare::partition::{Observer, StepProgress};
use crate::words::error::Result;

/// Writes `graph.dgl` of every partition, and `edge_feat.dgl` without features. Returns the number of edges that cross
/// partitions.
pub(super) fn write_topology(
    writer: &PartitionWriter,
    book: &PartitionBook,
    spool: &BucketSpool,
    progress: &mut Observer<'_>,
) -> Result<u64> {
    let (edges, total) = (Spooled(spool), book.num_edges());
    let mut cut_edges = 0;
    for part in 0..book.num_parts() {
        let first = book.edge_range(part).start;
        let mut tell =
            |done| progress(StepProgress { step: "writing edges", done: first + done, total });
        cut_edges += write_structure(writer, book, part, &edges, &mut tell)?.cut_edges;
        writer.edge_features(part, &[])?.finish()?;
    }
    Ok(cut_edges)
}

/// Edges in drawing order; each is stored with its destination only.
struct Spooled<'a>(&'a BucketSpool);

impl PartitionEdges for Spooled<'_> {
    fn inner(&self, part: usize, take: &mut dyn FnMut(&[[u64; 2]]) -> Result<()>) -> Result<()> {
        self.0.read_numbers(part, take)
    }
}
