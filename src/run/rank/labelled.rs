//! A rank's nodes that have labels.

use std::ops::Range;

use tch::Kind;

use super::setup::RankSetup;
use crate::engine::tape::Graph;
use crate::graph::TypeNodes;
use crate::words::error::Result;

/// Nodes of a rank that have labels: all nodes, or those of one type.
pub(super) struct Labelled {
    /// Type of the nodes; `None` for nodes of all types.
    pub(super) ntype: Option<usize>,
    /// Index of the first one among the rank's inner nodes.
    pub(super) first_row: i64,
    /// Range of these nodes among those of all ranks.
    pub(super) nodes: TypeNodes,
    /// Number of these nodes without in-edges.
    pub(super) without_in_edges: i64,
}

/// Labelled nodes and their classes. If several node types are predicted, a type's rows and classes follow those of the
/// types before it.
pub(super) struct LabelledGroup {
    pub(super) labelled: Labelled,
    /// Columns of the model's output for these nodes.
    pub(super) classes: Range<i64>,
}

impl LabelledGroup {
    /// Global id of the first node; `first_node` is the global id of the rank's first inner node.
    pub(super) fn first_id(&self, first_node: u64) -> u64 {
        first_node + self.labelled.first_row as u64
    }
}

/// Rows of each group, counted from its first node. `rows` are ascending and number the nodes of all groups.
pub(super) fn rows_by_group(groups: &[LabelledGroup], mut rows: &[i64]) -> Vec<Vec<u32>> {
    let mut first = 0;
    let by_group = groups.iter().map(|group| {
        let end = first + group.labelled.nodes.own as i64;
        let (of_group, others) = rows.split_at(rows.partition_point(|row| *row < end));
        let of_group = of_group.iter().map(|row| (row - first) as u32).collect();
        (rows, first) = (others, end);
        of_group
    });
    by_group.collect()
}

impl Labelled {
    /// Nodes of one type; their in-edges are not counted.
    pub(super) fn of_type(setup: &RankSetup, ntype: usize) -> Self {
        let (book, part) = (setup.partition.book(), setup.partition.part());
        let first = book.node_type_range(part, ntype).start - book.node_range(part).start;
        let nodes = book.type_nodes(part, ntype);
        let first_row = first as i64;
        Labelled { ntype: Some(ntype), first_row, nodes, without_in_edges: 0 }
    }

    /// All nodes of a graph.
    pub(super) fn all(setup: &RankSetup, graph: &dyn Graph) -> Result<Self> {
        let book = setup.partition.book();
        let own = book.node_range(setup.partition.part());
        let without = graph.in_degrees().pin()?.f_eq(0)?.f_sum(Kind::Int64)?;
        let nodes = TypeNodes {
            first: own.start,
            own: (own.end - own.start) as usize,
            total: book.num_nodes(),
        };
        let without_in_edges = without.f_int64_value(&[])?;
        Ok(Labelled { ntype: None, first_row: 0, nodes, without_in_edges })
    }
}
