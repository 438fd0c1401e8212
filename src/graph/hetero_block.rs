//! One layer's part of a sampled neighbourhood, by node and edge type.

use super::block::{Block, shard};
use super::csr::Csr;
use super::partition_book::PartitionBook;
use super::shard::GraphShard;
use crate::words::error::{Error, Result};

/// DGL's block of a heterogeneous graph: nodes are numbered within their type, the destinations of a type come first among its
/// sources, and every edge type has its own edges. Ids are type-wise.
#[derive(Debug, Clone, PartialEq)]
pub struct HeteroBlock {
    ends: Vec<TypedNodes>,
    relations: Vec<BlockRelation>,
}

/// The nodes of one type in a [`HeteroBlock`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedNodes {
    /// Type-wise ids of the sources; the destinations come first.
    pub sources: Vec<u64>,
    /// Number of destinations.
    pub num_destinations: usize,
}

impl TypedNodes {
    /// Type-wise ids of the destinations.
    pub fn destinations(&self) -> &[u64] {
        &self.sources[..self.num_destinations]
    }
}

/// The edges of one type in a [`HeteroBlock`].
#[derive(Debug, Clone, PartialEq)]
pub struct BlockRelation {
    /// The structure: rows are destinations and columns are sources, both numbered within their types.
    pub by_dst: Csr,
    /// Type-wise ids of the edges, in the order of `by_dst`.
    pub edges: Vec<u64>,
    /// Weights of the edges; empty in a graph without weights.
    pub weights: Vec<f32>,
}

impl BlockRelation {
    /// The relation as a shard for layers, with weights.
    pub fn to_shard(&self) -> GraphShard {
        shard(self.by_dst.clone(), &self.weights, &[])
    }
}

/// Edges of one type, in the order in which they are found.
#[derive(Default)]
struct Found {
    rows: Vec<u32>,
    columns: Vec<u32>,
    edges: Vec<u64>,
    weights: Vec<f32>,
}

impl HeteroBlock {
    /// Splits a block by types.
    ///
    /// # Errors
    /// If the block does not belong to the book's graph.
    pub fn new(block: &Block, book: &PartitionBook) -> Result<Self> {
        let unknown = |what: &str, id: u64| Error::internal(format!("there is no {what} {id}"));
        let mut ends = vec![TypedNodes::default(); book.ntypes().len()];
        let mut numbers = Vec::with_capacity(block.num_sources());
        for (i, &node) in block.sources().iter().enumerate() {
            let (ntype, id) = book.to_per_type(node).ok_or_else(|| unknown("node", node))?;
            numbers.push(ends[ntype].sources.len() as u32);
            ends[ntype].sources.push(id);
            ends[ntype].num_destinations += usize::from(i < block.num_destinations());
        }
        let mut found: Vec<Found> = book.etypes().iter().map(|_| Found::default()).collect();
        let by_dst = block.by_dst();
        for (i, &row) in by_dst.rows().iter().enumerate() {
            let first = by_dst.indptr()[i] as usize;
            for (place, &column) in (first..).zip(by_dst.columns(i)) {
                let edge = block.edges()[place];
                let typed = book.edge_to_per_type(edge);
                let (etype, id) = typed.ok_or_else(|| unknown("edge", edge))?;
                let found = &mut found[etype];
                found.rows.push(numbers[row as usize]);
                found.columns.push(numbers[column as usize]);
                found.edges.push(id);
                found.weights.extend(block.weights().get(place));
            }
        }
        let relations = book.etypes().iter().zip(found).map(|(etype, found)| {
            let end = |name: &str| {
                book.ntype_id(name)
                    .map(|ntype| &ends[ntype])
                    .ok_or_else(|| Error::internal(format!("the graph has no node type {name}")))
            };
            let Found { rows, columns, edges, weights } = found;
            let (sources, destinations) = (end(&etype.src)?, end(&etype.dst)?);
            let shape = (destinations.num_destinations, sources.sources.len());
            // Destinations of a type keep their order, so edges are already sorted.
            let (by_dst, _) = Csr::from_entries(shape.0, shape.1, &rows, &columns);
            Ok(BlockRelation { by_dst, edges, weights })
        });
        Ok(HeteroBlock { relations: relations.collect::<Result<_>>()?, ends })
    }

    /// The nodes of each type, in the order of the book.
    pub fn ends(&self) -> &[TypedNodes] {
        &self.ends
    }

    /// The edges of each type, in the order of the book.
    pub fn relations(&self) -> &[BlockRelation] {
        &self.relations
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{CanonicalEtype, InEdges};

    #[test]
    fn every_type_has_its_own_numbers() {
        // Nodes: a 0 1 | b 2, a 3 | b 4 5. Edges: r 0 1 | s 2, r 3 | s 4.
        let names = vec!["a".to_owned(), "b".to_owned()];
        let etypes = vec![CanonicalEtype::new("a", "r", "b"), CanonicalEtype::new("b", "s", "a")];
        let nodes = [vec![2, 1], vec![1, 2]];
        let book = PartitionBook::new(names, etypes, &nodes, &[vec![2, 1], vec![1, 1]]).unwrap();
        let in_edges = InEdges {
            counts: vec![1, 2],
            sources: vec![1, 2, 4],
            edges: vec![3, 2, 4],
            weights: vec![0.5, 1.5, 2.5],
        };
        let block = Block::new(&[5, 3], in_edges).unwrap();
        let block = HeteroBlock::new(&block, &book).unwrap();
        let nodes = |sources: &[u64]| TypedNodes { sources: sources.to_vec(), num_destinations: 1 };
        assert_eq!(block.ends(), [nodes(&[2, 1]), nodes(&[2, 0, 1])]);
        let [r, s] = block.relations() else { panic!("two edge types") };
        assert_eq!((r.by_dst.rows(), r.by_dst.indices()), (&[0][..], &[1][..]));
        assert_eq!((s.by_dst.rows(), s.by_dst.indices()), (&[0][..], &[1, 2][..]));
        assert_eq!((r.by_dst.num_rows(), r.by_dst.num_cols()), (1, 2));
        assert_eq!((&r.edges[..], &s.edges[..]), (&[2][..], &[0, 1][..]));
        assert_eq!((&r.weights[..], &s.weights[..]), (&[0.5][..], &[1.5, 2.5][..]));
    }
}
