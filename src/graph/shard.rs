//! The edges from one partition into another.

use super::csr::Csr;

/// One value per edge of a shard, in both orders that kernels walk it.
#[derive(Debug, Clone, PartialEq)]
pub struct PerEdge<T> {
    /// In the order of [`GraphShard::by_dst`].
    pub by_dst: Vec<T>,
    /// In the order of [`GraphShard::by_src`].
    pub by_src: Vec<T>,
}

impl<T: Copy> PerEdge<T> {
    /// Brings values in the order in which edges were pushed into the shard's; `None` if there are none. The other two
    /// say where each edge comes from: of `by_dst` in the pushed order, and of `by_src` in that of `by_dst`.
    fn sorted(values: &[T], from_pushed: &[u32], from_dst: &[u32]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let by_dst: Vec<T> = from_pushed.iter().map(|&i| values[i as usize]).collect();
        let by_src = from_dst.iter().map(|&i| by_dst[i as usize]).collect();
        Some(PerEdge { by_dst, by_src })
    }
}

/// The edges from the nodes of rank `source` to this rank's own nodes: SAR's `GraphShard`.
///
/// Columns of `by_dst` number the sources densely: for the rank's own shard they are its nodes themselves, for another
/// rank's shard the nodes of that rank that have an edge into this partition, in ascending order.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphShard {
    /// The rank that owns the sources.
    pub source: usize,
    /// Rows: own nodes; columns: sources. What the forward pass walks.
    pub by_dst: Csr,
    /// The transpose. What the backward pass walks.
    pub by_src: Csr,
    /// Edge weights, if the run uses them.
    pub weights: Option<PerEdge<f32>>,
    /// Edge types, if the run uses them.
    pub types: Option<PerEdge<u16>>,
    /// In the order of `by_dst`: each edge's row among the edge features of the partition, if the run uses those. Rows of
    /// one edge type come behind those of the type before it.
    pub feature_rows: Option<Vec<u64>>,
}

impl GraphShard {
    /// The edges into some of the rows, in their order, with ends renumbered: `row_of` gives a row's new number, `u32::MAX`
    /// for rows that are left out; `column_of` gives a column's.
    pub fn edges_into(&self, row_of: &[u32], column_of: impl Fn(u32) -> u32) -> ShardBuilder {
        let mut builder = ShardBuilder::default();
        for (i, &row) in self.by_dst.rows().iter().enumerate() {
            let row = row_of[row as usize];
            if row == u32::MAX {
                continue;
            }
            let begin = self.by_dst.indptr()[i] as usize;
            for (entry, &column) in self.by_dst.columns(i).iter().enumerate() {
                builder.push(column_of(column), row);
                if let Some(weights) = &self.weights {
                    builder.push_weight(weights.by_dst[begin + entry]);
                }
                if let Some(types) = &self.types {
                    builder.push_type(types.by_dst[begin + entry]);
                }
                if let Some(rows) = &self.feature_rows {
                    builder.push_feature_row(rows[begin + entry]);
                }
            }
        }
        builder
    }
}

/// Collects the edges from one rank and makes a shard of them.
#[derive(Debug, Default)]
pub struct ShardBuilder {
    src: Vec<u32>,
    dst: Vec<u32>,
    weights: Vec<f32>,
    types: Vec<u16>,
    feature_rows: Vec<u64>,
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

    /// Adds the feature row of the edge pushed last.
    pub fn push_feature_row(&mut self, row: u64) {
        self.feature_rows.push(row);
    }

    /// Adds the edges of another one behind its own.
    pub fn append(&mut self, mut other: ShardBuilder) {
        self.src.append(&mut other.src);
        self.dst.append(&mut other.dst);
        self.weights.append(&mut other.weights);
        self.types.append(&mut other.types);
        self.feature_rows.append(&mut other.feature_rows);
    }

    /// Makes the shard. With `dense` the columns are the source rank's rows, of which it has `num_src`; otherwise only
    /// those with an edge get a column, and the second result tells which rows they are.
    pub fn build(
        self,
        source: usize,
        num_dst: usize,
        num_src: usize,
        dense: bool,
    ) -> (GraphShard, Vec<u32>) {
        let ShardBuilder { mut src, dst, weights, types, feature_rows: rows } = self;
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
        let (by_dst, from_pushed) = Csr::from_entries(num_dst, num_cols, &dst, &src);
        let (by_src, from_dst) = by_dst.transpose();
        let weights = PerEdge::sorted(&weights, &from_pushed, &from_dst);
        let types = PerEdge::sorted(&types, &from_pushed, &from_dst);
        let sorted = || from_pushed.iter().map(|&i| rows[i as usize]).collect();
        let feature_rows = (!rows.is_empty()).then(sorted);
        (GraphShard { source, by_dst, by_src, weights, types, feature_rows }, sources)
    }
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
            builder.push_feature_row(u64::from(src) * 10);
        }
        let (shard, sources) = builder.build(3, 2, 9, false);
        assert_eq!(sources, [2, 7]);
        assert_eq!(shard.by_dst.indices(), [0, 1, 1]);
        assert_eq!(shard.by_src.indices(), [0, 0, 1]);
        let weights = shard.weights.unwrap();
        assert_eq!(weights.by_dst, [1.5, 2.5, 0.5]);
        assert_eq!(weights.by_src, [1.5, 2.5, 0.5]);
        assert_eq!(shard.feature_rows.unwrap(), [20, 70, 70]);
    }

    #[test]
    fn the_own_shard_has_every_node_as_a_column() {
        let mut builder = ShardBuilder::default();
        builder.push(4, 4);
        let (shard, sources) = builder.build(0, 5, 5, true);
        assert_eq!((shard.by_dst.num_cols(), sources.len()), (5, 0));
    }
}
