//! One layer's part of a sampled neighbourhood.

use super::csr::Csr;
use super::partition_book::PartitionBook;
use super::shard::{GraphShard, SortedEdges};
use crate::words::error::{Error, Result};

/// The in-edges of selected nodes: DGL's block, or message flow graph (MFG), as from `dgl.to_block`.
///
/// Sources are numbered: the destinations come first, in their own order, then the other sources in the order of their
/// first edge. So the rows of a layer's output are the first rows of its input. Edges are grouped by destination, in
/// the order of [`by_dst`](Block::by_dst). Ids are global and homogeneous.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    sources: Vec<u64>,
    num_dst: usize,
    by_dst: Csr,
    edges: Vec<u64>,
    weights: Vec<f32>,
}

/// In-edges of a list of nodes, node by node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InEdges {
    /// Number of in-edges of each node.
    pub counts: Vec<u32>,
    /// Global id of each edge's source.
    pub sources: Vec<u64>,
    /// Global id of each edge.
    pub edges: Vec<u64>,
    /// Weight of each edge; empty in a graph without weights.
    pub weights: Vec<f32>,
}

impl InEdges {
    /// Keeps the edges for which `keep(source, destination, edge)` is true (global ids). `nodes` are the destinations.
    pub fn retain(&mut self, nodes: &[u64], keep: impl Fn(u64, u64, u64) -> bool) {
        let ends = nodes.iter().zip(&self.counts);
        let destinations =
            ends.flat_map(|(node, count)| std::iter::repeat_n(*node, *count as usize));
        let edges = self.sources.iter().zip(destinations).zip(&self.edges);
        let kept: Vec<bool> =
            edges.map(|((source, destination), edge)| keep(*source, destination, *edge)).collect();
        let mut rest = &kept[..];
        for count in &mut self.counts {
            let (own, others) = rest.split_at(*count as usize);
            *count = own.iter().filter(|kept| **kept).count() as u32;
            rest = others;
        }
        let mut each = kept.iter();
        self.sources.retain(|_| each.next().copied().unwrap_or(true));
        let mut each = kept.iter();
        self.edges.retain(|_| each.next().copied().unwrap_or(true));
        let mut each = kept.iter();
        self.weights.retain(|_| each.next().copied().unwrap_or(true));
    }
}

impl Block {
    /// Creates the block of `destinations` and their in-edges.
    ///
    /// # Errors
    /// If a destination occurs twice, or there are more than 2^32 sources or edges.
    pub fn new(destinations: &[u64], in_edges: InEdges) -> Result<Self> {
        let InEdges { counts, sources: ends, edges, weights } = in_edges;
        let mut numbers = Numbers::new(destinations)?;
        let indices: Result<Vec<u32>> = ends.iter().map(|source| numbers.number(*source)).collect();
        let indices = indices?;
        let mut rows = Vec::new();
        if u32::try_from(ends.len()).is_err() {
            return Err(Error::internal("a block has more than 2^32 edges"));
        }
        let mut indptr: Vec<u32> = vec![0];
        for (row, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            rows.push(row as u32);
            indptr.push(indptr[indptr.len() - 1] + *count);
        }
        let weighted = weights.is_empty() || weights.len() == ends.len();
        let consistent =
            counts.len() == destinations.len() && ends.len() == edges.len() && weighted;
        if !consistent || indptr.last() != Some(&(ends.len() as u32)) {
            return Err(Error::internal("in-edges do not match their destinations"));
        }
        let sources = numbers.nodes;
        let by_dst = Csr::from_parts(destinations.len(), sources.len(), rows, indptr, indices);
        Ok(Block { sources, num_dst: destinations.len(), by_dst, edges, weights })
    }

    /// Global ids of the sources; the first [`num_destinations`](Block::num_destinations) are the destinations.
    pub fn sources(&self) -> &[u64] {
        &self.sources
    }

    /// Global ids of the destinations.
    pub fn destinations(&self) -> &[u64] {
        &self.sources[..self.num_dst]
    }

    /// Number of sources, including the destinations.
    pub fn num_sources(&self) -> usize {
        self.sources.len()
    }

    /// Number of destinations.
    pub fn num_destinations(&self) -> usize {
        self.num_dst
    }

    /// Number of edges.
    pub fn num_edges(&self) -> usize {
        self.edges.len()
    }

    /// The structure: rows are destinations, columns are indices of sources.
    pub fn by_dst(&self) -> &Csr {
        &self.by_dst
    }

    /// Global ids of the edges, in the order of [`by_dst`](Block::by_dst).
    pub fn edges(&self) -> &[u64] {
        &self.edges
    }

    /// Weights of the edges, in the order of [`by_dst`](Block::by_dst); empty in a graph without weights.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The type of each edge, in the order of [`by_dst`](Block::by_dst).
    ///
    /// # Errors
    /// If an edge is not in the book, or the graph has more than 2^16 edge types.
    pub fn edge_types(&self, book: &PartitionBook) -> Result<Vec<u16>> {
        let etype = |edge: &u64| book.edge_type(*edge).and_then(|etype| u16::try_from(etype).ok());
        let types = self.edges.iter().map(|edge| {
            etype(edge).ok_or_else(|| Error::internal(format!("edge {edge} has no type")))
        });
        types.collect()
    }

    /// The block as a shard for layers, with weights and, unless `types` is empty, one type per edge.
    pub fn to_shard(&self, types: &[u16]) -> GraphShard {
        shard(self.by_dst.clone(), &self.weights, types)
    }
}

/// A shard of the edges, with weights and types if they exist, in the order of `by_dst`.
pub(super) fn shard(by_dst: Csr, weights: &[f32], types: &[u16]) -> GraphShard {
    let by_dst = SortedEdges {
        ends: by_dst,
        weights: (!weights.is_empty()).then(|| weights.to_vec()),
        types: (!types.is_empty()).then(|| types.to_vec()),
        edge_ids: None,
    };
    GraphShard { by_src: by_dst.transpose(), by_dst }
}

/// Numbers nodes in the order of their first occurrence, with a hash table with open addressing whose slots hold nodes
/// and their numbers.
struct Numbers {
    nodes: Vec<u64>,
    slots: Vec<(u64, u32)>,
}

const EMPTY: u32 = u32::MAX;

impl Numbers {
    /// A table in which `destinations` have the first numbers.
    fn new(destinations: &[u64]) -> Result<Self> {
        let slots = vec![(0, EMPTY); (4 * destinations.len()).next_power_of_two()];
        let mut numbers = Numbers { nodes: Vec::with_capacity(destinations.len()), slots };
        for (i, &node) in destinations.iter().enumerate() {
            if numbers.number(node)? as usize != i {
                let problem = format!("node {node} occurs twice; each seed may be named once");
                return Err(Error::config("seeds", problem));
            }
        }
        Ok(numbers)
    }

    fn number(&mut self, node: u64) -> Result<u32> {
        let slot = self.slot(node);
        if self.slots[slot].1 != EMPTY {
            return Ok(self.slots[slot].1);
        }
        let number = self.nodes.len() as u32;
        if number == EMPTY {
            return Err(Error::config("batch size", "a batch has 2^32 sources or more"));
        }
        self.slots[slot] = (node, number);
        self.nodes.push(node);
        if 2 * self.nodes.len() > self.slots.len() {
            self.slots = vec![(0, EMPTY); 2 * self.slots.len()];
            for number in 0..self.nodes.len() {
                let node = self.nodes[number];
                let slot = self.slot(node);
                self.slots[slot] = (node, number as u32);
            }
        }
        Ok(number)
    }

    /// The slot of a node, or a free slot for it; there is always one.
    fn slot(&self, node: u64) -> usize {
        let mask = self.slots.len() - 1;
        // The upper half of a product with a large odd number depends on all bits.
        let mut slot = ((u128::from(node) * 0x9E37_79B9_7F4A_7C15) >> 32) as usize & mask;
        loop {
            match self.slots[slot] {
                (_, EMPTY) => return slot,
                (other, _) if other == node => return slot,
                _ => slot = (slot + 1) & mask,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_edges(counts: &[u32], sources: &[u64], edges: &[u64]) -> InEdges {
        let (counts, sources, edges) = (counts.to_vec(), sources.to_vec(), edges.to_vec());
        InEdges { counts, sources, edges, weights: vec![] }
    }

    #[test]
    fn destinations_come_first_among_the_sources() {
        let ends = in_edges(&[3, 0, 2], &[9, 4, 9, 7, 6], &[30, 31, 32, 10, 11]);
        let block = Block::new(&[7, 5, 4], ends).unwrap();
        assert_eq!(block.destinations(), [7, 5, 4]);
        assert_eq!(block.sources(), [7, 5, 4, 9, 6]);
        assert_eq!((block.by_dst().rows(), block.by_dst().indptr()), (&[0, 2][..], &[0, 3, 5][..]));
        assert_eq!(block.by_dst().indices(), [3, 2, 3, 0, 4]);
        assert_eq!((block.num_sources(), block.num_edges()), (5, 5));
    }

    #[test]
    fn a_destination_twice_or_counts_that_do_not_fit_are_refused() {
        assert!(Block::new(&[3, 3], in_edges(&[0, 0], &[], &[])).is_err());
        assert!(Block::new(&[3], in_edges(&[2], &[1], &[1])).is_err());
        assert!(Block::new(&[3], in_edges(&[], &[], &[])).is_err());
        assert_eq!(Block::new(&[], InEdges::default()).unwrap().num_sources(), 0);
    }

    #[test]
    fn edges_are_taken_out_where_they_are() {
        let mut edges = in_edges(&[3, 0, 2], &[9, 4, 9, 7, 6], &[30, 31, 32, 10, 11]);
        edges.weights = vec![0.0, 1.0, 2.0, 3.0, 4.0];
        edges.retain(&[5, 6, 7], |source, destination, edge| {
            (source, destination) != (4, 5) && edge != 10
        });
        let weights = vec![0.0, 2.0, 4.0];
        let expected = in_edges(&[2, 0, 1], &[9, 9, 6], &[30, 32, 11]);
        assert_eq!(edges, InEdges { weights, ..expected });
    }
}
