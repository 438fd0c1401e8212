//! The edges from one partition to another.

use super::csr::Csr;
use crate::words::error::{Error, Result};

/// Edges in the order of the rows of a matrix, with their weights, types and ids if the run uses them.
#[derive(Debug, Clone, PartialEq)]
pub struct SortedEdges {
    /// Sources and destinations of the edges.
    pub ends: Csr,
    /// Weight of each edge, if the run uses weights.
    pub weights: Option<Vec<f32>>,
    /// Type of each edge, if the run uses types.
    pub types: Option<Vec<u16>>,
    /// Global id of each edge, if the run uses edge features. Only edges sorted by destination have ids.
    pub edge_ids: Option<Vec<u64>>,
}

/// The edges from the nodes of rank `source` to this rank's own nodes: SAR's `GraphShard`.
///
/// Columns of `by_dst` number the sources without gaps. In the rank's own shard, they are its nodes; in another rank's
/// shard, the nodes of that rank with an edge into this partition, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphShard {
    /// Edges by destination, for the forward pass. Rows are own nodes; columns are sources.
    pub by_dst: SortedEdges,
    /// Edges by source, for the backward pass: the transpose.
    pub by_src: SortedEdges,
}

impl SortedEdges {
    /// The transpose, without ids.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let (ends, origin) = self.ends.transpose();
        let (weights, types) =
            (in_order(self.weights.as_deref(), &origin), in_order(self.types.as_deref(), &origin));
        SortedEdges { ends, weights, types, edge_ids: None }
    }

    /// The edges into selected rows, in order, with renumbered ends: `row_of` holds each row's new number, or
    /// `u32::MAX` for rows to leave out; `column_of` returns a column's new number.
    pub fn edges_into(&self, row_of: &[u32], column_of: impl Fn(u32) -> u32) -> ShardBuilder {
        let mut builder = ShardBuilder::default();
        for (i, &row) in self.ends.rows().iter().enumerate() {
            let row = row_of[row as usize];
            if row == u32::MAX {
                continue;
            }
            let begin = self.ends.indptr()[i] as usize;
            for (entry, &column) in self.ends.columns(i).iter().enumerate() {
                builder.push(column_of(column), row);
                if let Some(weights) = &self.weights {
                    builder.push_weight(weights[begin + entry]);
                }
                if let Some(types) = &self.types {
                    builder.push_type(types[begin + entry]);
                }
                if let Some(ids) = &self.edge_ids {
                    builder.push_edge_id(ids[begin + entry]);
                }
            }
        }
        builder
    }
}

/// Values in another order; `origin` holds the original index of each edge.
fn in_order<T: Copy>(values: Option<&[T]>, origin: &[u32]) -> Option<Vec<T>> {
    values.map(|values| origin.iter().map(|&i| values[i as usize]).collect())
}

/// Collects edges from one rank and builds a shard.
#[derive(Debug, Default)]
pub struct ShardBuilder {
    src: Vec<u32>,
    dst: Vec<u32>,
    weights: Vec<f32>,
    types: Vec<u16>,
    edge_ids: Vec<u64>,
}

impl ShardBuilder {
    /// Adds an edge from row `src` of the source rank to own row `dst`.
    pub fn push(&mut self, src: u32, dst: u32) {
        self.src.push(src);
        self.dst.push(dst);
    }

    /// Adds the weight of the edge pushed last.
    pub fn push_weight(&mut self, weight: f32) {
        self.weights.push(weight);
    }

    /// Adds the type of the edge pushed last.
    pub fn push_type(&mut self, etype: u16) {
        self.types.push(etype);
    }

    /// Adds the global id of the edge pushed last.
    pub fn push_edge_id(&mut self, edge: u64) {
        self.edge_ids.push(edge);
    }

    /// Adds the values of a matrix's rows that are not zero as weighted edges: columns are sources, and rows are
    /// destinations from `first` on.
    pub fn push_matrix(&mut self, first: u32, width: usize, values: &[f32]) {
        for (row, values) in (first..).zip(values.chunks_exact(width.max(1))) {
            for (column, value) in values.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                self.push(column as u32, row);
                self.push_weight(*value);
            }
        }
    }

    /// Appends the edges of another builder.
    pub fn append(&mut self, mut other: ShardBuilder) {
        self.src.append(&mut other.src);
        self.dst.append(&mut other.dst);
        self.weights.append(&mut other.weights);
        self.types.append(&mut other.types);
        self.edge_ids.append(&mut other.edge_ids);
    }

    /// Builds the shard. With `dense`, the columns are all `num_src` rows of the source rank; otherwise they are the
    /// rows with an edge, which the second result lists.
    ///
    /// # Errors
    /// If there are 2^32 edges or more, as a shard numbers its edges in 32 bits.
    pub fn build(
        self,
        num_dst: usize,
        num_src: usize,
        dense: bool,
    ) -> Result<(GraphShard, Vec<u32>)> {
        let ShardBuilder { mut src, dst, weights, types, edge_ids } = self;
        check_number(src.len())?;
        let mut sources = Vec::new();
        let mut num_cols = num_src;
        if !dense {
            let mut column = vec![u32::MAX; num_src];
            for &s in &src {
                column[s as usize] = 0;
            }
            for (row, column) in column.iter_mut().enumerate().filter(|(_, c)| **c == 0) {
                *column = sources.len() as u32;
                sources.push(row as u32);
            }
            for s in &mut src {
                *s = column[*s as usize];
            }
            num_cols = sources.len();
        }
        let (ends, origin) = Csr::from_entries(num_dst, num_cols, &dst, &src);
        let by_dst = SortedEdges {
            ends,
            weights: in_order(known(&weights), &origin),
            types: in_order(known(&types), &origin),
            edge_ids: in_order(known(&edge_ids), &origin),
        };
        Ok((GraphShard { by_src: by_dst.transpose(), by_dst }, sources))
    }
}

/// Checks that 32 bits can number the edges between two partitions.
fn check_number(edges: usize) -> Result<()> {
    if u32::try_from(edges).is_ok() {
        return Ok(());
    }
    let problem = format!("has {edges} edges from one partition; at most 2^32 - 1 are possible");
    Err(Error::config("partition", problem).with_hint("cut the graph into more partitions"))
}

/// The values, or `None` if none were pushed.
fn known<T>(values: &[T]) -> Option<&[T]> {
    (!values.is_empty()).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_the_sources_that_have_edges() {
        let mut builder = ShardBuilder::default();
        for (src, dst, weight) in [(7, 1, 0.5), (2, 0, 1.5), (7, 0, 2.5)] {
            builder.push(src, dst);
            builder.push_weight(weight);
            builder.push_edge_id(u64::from(src) * 10);
        }
        let (shard, sources) = builder.build(2, 9, false).unwrap();
        assert_eq!(sources, [2, 7]);
        assert_eq!(shard.by_dst.ends.indices(), [0, 1, 1]);
        assert_eq!(shard.by_src.ends.indices(), [0, 0, 1]);
        assert_eq!(shard.by_dst.weights.unwrap(), [1.5, 2.5, 0.5]);
        assert_eq!(shard.by_src.weights.unwrap(), [1.5, 2.5, 0.5]);
        assert_eq!(shard.by_dst.edge_ids.unwrap(), [20, 70, 70]);
    }

    #[test]
    fn more_edges_than_can_be_numbered_are_refused() {
        check_number(u32::MAX as usize).unwrap();
        let error = check_number(1 << 32).unwrap_err();
        assert!(error.to_string().contains("4294967296 edges"), "{error}");
        assert_eq!(error.hint().as_deref(), Some("cut the graph into more partitions"));
    }

    #[test]
    fn the_own_shard_has_every_node_as_a_column() {
        let mut builder = ShardBuilder::default();
        builder.push(4, 4);
        let (shard, sources) = builder.build(5, 5, true).unwrap();
        assert_eq!((shard.by_dst.ends.num_cols(), sources.len()), (5, 0));
    }
}
