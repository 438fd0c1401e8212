//! A block of a partition's edges.

/// Inner edges, one per index of the five vectors. A block can be refilled, which reuses its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeBlock {
    /// Global id of the source node.
    pub src: Vec<u64>,
    /// Index of the destination among the inner nodes: its global id minus the start of the partition's range.
    pub dst: Vec<u64>,
    /// Edge type, by id.
    pub etype: Vec<u32>,
    /// Row in the feature tables of the edge's type.
    pub row: Vec<u64>,
    /// Global id of the edge.
    pub id: Vec<u64>,
}

impl EdgeBlock {
    /// Number of edges.
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// Whether there are no edges.
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.src.clear();
        self.dst.clear();
        self.etype.clear();
        self.row.clear();
        self.id.clear();
    }

    pub(crate) fn push(&mut self, src: u64, dst: u64, edge: Edge) {
        self.src.push(src);
        self.dst.push(dst);
        self.etype.push(edge.etype);
        self.row.push(edge.row);
        self.id.push(edge.id);
    }
}

/// An edge that a partition owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InnerEdge {
    /// Global id of the source node.
    pub src: u64,
    /// Global id of the destination node.
    pub dst: u64,
    /// Global id of the edge.
    pub id: u64,
    /// Edge type, by id.
    pub etype: usize,
    /// Row in the feature tables of the edge's type.
    pub row: u64,
}

/// Global id, type and feature row of an inner edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) etype: u32,
    pub(crate) row: u64,
    pub(crate) id: u64,
}
