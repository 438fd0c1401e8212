//! Numbers of edges of a partition, counted or estimated from samples.

use super::counts::{Pair, RankCounts, hit};
use crate::formats::dgl::{EdgeRun, Partition};
use crate::graph::Bitmap;

/// Counts of the edges seen so far, by owner of the source.
pub(super) struct EdgeCount<'a> {
    partition: &'a Partition,
    sampled: bool,
    pairs: Vec<Pair>,
    sources: Bitmap,
    destinations: Bitmap,
    by_destination: bool,
}

impl<'a> EdgeCount<'a> {
    /// Counts of 0, for all edges or for samples.
    pub(super) fn new(partition: &'a Partition, sampled: bool) -> Self {
        let (book, nodes) = (partition.book(), partition.num_inner_nodes());
        let pairs = vec![Pair::default(); book.num_parts()];
        let sources = Bitmap::new(book.num_nodes());
        let destinations = Bitmap::new(nodes * pairs.len() as u64);
        EdgeCount { partition, sampled, pairs, sources, destinations, by_destination: true }
    }

    /// Adds a run of edges.
    pub(super) fn add(&mut self, run: &EdgeRun) {
        self.by_destination &= run.by_destination;
        let (book, nodes) = (self.partition.book(), self.partition.num_inner_nodes());
        for [src, dst] in whole_destinations(&run.edges, self.sampled) {
            let Some(part) = book.part_of_node(*src) else { continue };
            let pair = &mut self.pairs[part];
            pair.edges += 1;
            pair.sources += u64::from(self.sources.insert(*src));
            pair.destinations += u64::from(self.destinations.insert(part as u64 * nodes + dst));
        }
    }

    /// The counts of the whole partition.
    pub(super) fn finish(self) -> RankCounts {
        let EdgeCount { partition, sampled, mut pairs, by_destination, .. } = self;
        let (book, own) = (partition.book(), partition.part());
        let nodes = partition.num_inner_nodes();
        if !sampled {
            return RankCounts { nodes, pairs };
        }
        let seen: u64 = pairs.iter().map(|pair| pair.edges).sum();
        let factor = partition.num_inner_edges() as f64 / seen.max(1) as f64;
        for (source, pair) in pairs.iter_mut().enumerate() {
            pair.edges = (pair.edges as f64 * factor) as u64;
            pair.destinations = if by_destination {
                ((pair.destinations as f64 * factor) as u64).min(nodes)
            } else {
                hit(nodes, pair.edges)
            };
            let range = book.node_range(source);
            if source == own {
                pair.sources = hit(range.end - range.start, pair.edges);
            }
        }
        // The number of foreign nodes is known; the sample shows how they are distributed over the ranks.
        let mut counts = RankCounts { nodes, pairs };
        let seen = counts.foreign_rows(own);
        let factor = partition.num_halo_nodes() as f64 / seen.max(1) as f64;
        for (source, pair) in
            counts.pairs.iter_mut().enumerate().filter(|(source, _)| *source != own)
        {
            let range = book.node_range(source);
            let sources = (pair.sources as f64 * factor) as u64;
            pair.sources = sources.min(range.end - range.start).min(pair.edges);
        }
        counts
    }
}

/// Edges of a sample without those of its first and last destination, which may be incomplete.
fn whole_destinations(edges: &[[u64; 2]], sampled: bool) -> &[[u64; 2]] {
    let (Some([_, first]), Some([_, last])) = (edges.first(), edges.last()) else { return edges };
    let begin = edges.iter().position(|[_, dst]| dst != first);
    let end = edges.iter().rposition(|[_, dst]| dst != last);
    match (sampled, begin, end) {
        (true, Some(begin), Some(end)) if begin <= end => &edges[begin..=end],
        _ => edges,
    }
}
