//! The edges between two partitions, covered by rows of sources and partial sums of destinations.

use super::shard::{GraphShard, ShardBuilder, SortedEdges};
use super::vertex_cover::VertexCover;
use crate::words::error::Result;

/// The edges from one partition to another, covered by few transferred rows (SuperGCN's minimum vertex cover): for each
/// edge, the row of its source is sent, or a sum that the source's owner computes for its destination.
pub struct CoveredEdges {
    /// Columns of the shard whose rows are sent, ascending.
    pub sent: Vec<u32>,
    /// Edges into the receiver's rows: from the sent rows, then, with weight 1, from the sent sums.
    pub received: GraphShard,
    /// Edges that the sums add up.
    pub summed: SummedEdges,
}

/// Edges that the owner of their sources sums, grouped by sum.
#[derive(Debug, Default, PartialEq)]
pub struct SummedEdges {
    /// Number of edges of each sum.
    pub degrees: Vec<u32>,
    /// Source of each edge.
    pub sources: Vec<u32>,
    /// Weight of each edge, if edges have weights.
    pub weights: Option<Vec<f32>>,
}

impl CoveredEdges {
    /// Covers the edges of another rank's shard; `None` if that saves less than a fifth of the rows.
    ///
    /// # Errors
    /// If there are 2^32 edges or more.
    pub fn of(by_dst: &SortedEdges, by_src: &SortedEdges) -> Result<Option<Self>> {
        let (ends, columns) = (&by_dst.ends, by_dst.ends.num_cols());
        let VertexCover { columns: sent, rows: summed } = VertexCover::of(ends, &by_src.ends);
        if 5 * (sent.len() + summed.len()) > 4 * columns {
            return Ok(None);
        }
        let mut source_of = vec![u32::MAX; columns];
        for (source, &column) in sent.iter().enumerate() {
            source_of[column as usize] = source as u32;
        }
        let weights = by_dst.weights.as_deref();
        let mut received = ShardBuilder::default();
        let mut sums = SummedEdges { weights: weights.map(|_| Vec::new()), ..Default::default() };
        let mut next = summed.iter().enumerate().peekable();
        for (i, &row) in ends.rows().iter().enumerate() {
            let begin = ends.indptr()[i] as usize;
            let before = sums.sources.len();
            for (entry, &column) in ends.columns(i).iter().enumerate() {
                let weight = weights.map(|weights| weights[begin + entry]);
                let source = source_of[column as usize];
                if source == u32::MAX {
                    sums.push(column, weight);
                } else {
                    received.push(source, row);
                    if let Some(weight) = weight {
                        received.push_weight(weight);
                    }
                }
            }
            if let Some((sum, _)) = next.next_if(|(_, summed)| **summed == row) {
                sums.degrees.push((sums.sources.len() - before) as u32);
                received.push((sent.len() + sum) as u32, row);
                if weights.is_some() {
                    received.push_weight(1.0);
                }
            }
        }
        let sources = sent.len() + summed.len();
        let (received, _) = received.build(ends.num_rows(), sources, true)?;
        Ok(Some(CoveredEdges { sent, received, summed: sums }))
    }
}

impl SummedEdges {
    fn push(&mut self, source: u32, weight: Option<f32>) {
        self.sources.push(source);
        self.weights.iter_mut().zip(weight).for_each(|(weights, weight)| weights.push(weight));
    }

    /// The edges as a matrix with a row per sum. Its two orders number columns differently: by destination, columns are
    /// all `num_sources` rows of the sender; by source, only rows with an edge, which the second result lists.
    ///
    /// # Errors
    /// If there are 2^32 edges or more.
    pub fn into_shard(self, num_sources: usize) -> Result<(GraphShard, Vec<u32>)> {
        let SummedEdges { degrees, sources, weights } = self;
        let sums = degrees.len();
        let mut edges = ShardBuilder::default();
        let rows = degrees
            .iter()
            .zip(0_u32..)
            .flat_map(|(degree, sum)| std::iter::repeat_n(sum, *degree as usize));
        for (source, row) in sources.into_iter().zip(rows) {
            edges.push(source, row);
        }
        weights.into_iter().flatten().for_each(|weight| edges.push_weight(weight));
        let (GraphShard { by_dst, by_src }, sources) = edges.build(sums, num_sources, false)?;
        let ends = by_dst.ends.with_columns(&sources, num_sources);
        Ok((GraphShard { by_dst: SortedEdges { ends, ..by_dst }, by_src }, sources))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sources 0 to 5 have an edge into row 1, and source 2 one into each of rows 3 to 8; weights are 10 source + row.
    fn shard() -> GraphShard {
        let mut edges = ShardBuilder::default();
        for (source, row) in (0..6).map(|source| (source, 1)).chain((3..9).map(|row| (2, row))) {
            edges.push(source, row);
            edges.push_weight((10 * source + row) as f32);
        }
        edges.build(9, 6, false).unwrap().0
    }

    #[test]
    fn a_row_is_sent_for_many_destinations_and_a_sum_for_many_sources() {
        let GraphShard { by_dst, by_src } = shard();
        let CoveredEdges { sent, received, summed } =
            CoveredEdges::of(&by_dst, &by_src).unwrap().unwrap();
        assert_eq!(sent, [2]);
        let received = received.by_dst;
        assert_eq!(received.ends.rows(), [1, 3, 4, 5, 6, 7, 8]);
        assert_eq!(received.ends.indices(), [0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(received.weights.unwrap(), [21.0, 1.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0]);
        let weights = Some(vec![1.0, 11.0, 31.0, 41.0, 51.0]);
        assert_eq!(summed, SummedEdges { degrees: vec![5], sources: vec![0, 1, 3, 4, 5], weights });

        let (sums, sources) = summed.into_shard(7).unwrap();
        assert_eq!(sources, [0, 1, 3, 4, 5]);
        assert_eq!((sums.by_dst.ends.num_cols(), sums.by_dst.ends.indices()), (7, &sources[..]));
        assert_eq!((sums.by_src.ends.num_rows(), sums.by_src.ends.rows().len()), (5, 5));
        assert_eq!(sums.by_src.weights.unwrap(), [1.0, 11.0, 31.0, 41.0, 51.0]);
    }

    #[test]
    fn edges_without_common_ends_are_not_divided() {
        let mut edges = ShardBuilder::default();
        (0..6).for_each(|node| edges.push(node, node));
        let GraphShard { by_dst, by_src } = edges.build(6, 6, false).unwrap().0;
        assert!(CoveredEdges::of(&by_dst, &by_src).unwrap().is_none());
    }
}
