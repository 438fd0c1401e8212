//! The owners of nodes and edges: ranges of ids per partition and type.

use crate::graph::{CanonicalEtype, IdRanges};
use crate::words::error::{Error, Result};
use std::collections::HashSet;
use std::ops::Range;

/// The map of a partitioned graph. It holds ranges only, so it is small.
///
/// Ids are homogeneous (see [`IdRanges`]) unless a method says type-wise. Unknown ids, types and partitions give `None`
/// or an empty range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionBook {
    ntypes: Vec<String>,
    etypes: Vec<CanonicalEtype>,
    etype_ends: Vec<[usize; 2]>,
    nodes: IdRanges,
    edges: IdRanges,
}

/// Nodes of one type that a partition owns, as a range among all nodes of the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeNodes {
    /// Index of the first one.
    pub first: u64,
    /// Number of nodes in this partition.
    pub own: usize,
    /// Number of nodes in all partitions.
    pub total: u64,
}

impl PartitionBook {
    /// Creates a book of `node_counts[partition][node type]` nodes and `edge_counts[partition][edge type]` edges. Names
    /// are in the order of type ids.
    ///
    /// # Errors
    /// If there is no partition or node type, a name occurs twice, an edge type joins unknown node types, a table has another
    /// shape, or totals do not fit in 64 bits.
    pub fn new(
        ntypes: Vec<String>,
        etypes: Vec<CanonicalEtype>,
        node_counts: &[Vec<u64>],
        edge_counts: &[Vec<u64>],
    ) -> Result<Self> {
        if ntypes.iter().collect::<HashSet<_>>().len() != ntypes.len() || ntypes.is_empty() {
            return Err(bad("node types must be distinct, and there must be at least one"));
        }
        if etypes.iter().collect::<HashSet<_>>().len() != etypes.len() {
            return Err(bad("edge types must be distinct"));
        }
        let id = |name: &String| ntypes.iter().position(|ntype| ntype == name);
        let ends = etypes.iter().map(|etype| match (id(&etype.src), id(&etype.dst)) {
            (Some(src), Some(dst)) => Ok([src, dst]),
            _ => Err(bad(&format!("edge type {etype} joins an unknown node type"))),
        });
        let etype_ends = ends.collect::<Result<_>>()?;
        let nodes = IdRanges::from_counts(node_counts).filter(|r| r.num_types() == ntypes.len());
        let edges = IdRanges::from_counts(edge_counts).filter(|r| r.num_types() == etypes.len());
        let (Some(nodes), Some(edges)) = (nodes, edges) else {
            return Err(bad("every partition needs one count per type, with a sum below 2^64"));
        };
        if nodes.num_parts() == 0 || nodes.num_parts() != edges.num_parts() {
            return Err(bad(
                "node and edge counts must have the same number of partitions, at least one",
            ));
        }
        Ok(PartitionBook { ntypes, etypes, etype_ends, nodes, edges })
    }

    /// Number of partitions, at least 1.
    pub fn num_parts(&self) -> usize {
        self.nodes.num_parts()
    }

    /// Number of nodes of the whole graph, over all types.
    pub fn num_nodes(&self) -> u64 {
        self.nodes.total()
    }

    /// Number of edges of the whole graph, over all types.
    pub fn num_edges(&self) -> u64 {
        self.edges.total()
    }

    /// Ids of all nodes.
    pub fn node_ids(&self) -> &IdRanges {
        &self.nodes
    }

    /// Ids of all edges.
    pub fn edge_ids(&self) -> &IdRanges {
        &self.edges
    }

    /// Names of the node types, by id.
    pub fn ntypes(&self) -> &[String] {
        &self.ntypes
    }

    /// Names of the edge types, by id.
    pub fn etypes(&self) -> &[CanonicalEtype] {
        &self.etypes
    }

    /// Ids of the node types of sources and destinations, by edge type.
    pub fn etype_ends(&self) -> &[[usize; 2]] {
        &self.etype_ends
    }

    /// The id of a node type.
    pub fn ntype_id(&self, name: &str) -> Option<usize> {
        self.ntypes.iter().position(|n| n == name)
    }

    /// The id of an edge type.
    pub fn etype_id(&self, name: &CanonicalEtype) -> Option<usize> {
        self.etypes.iter().position(|e| e == name)
    }

    /// Whether the graph has more than one type of nodes or of edges.
    pub fn is_heterogeneous(&self) -> bool {
        self.ntypes.len() > 1 || self.etypes.len() > 1
    }

    /// Number of nodes of a type in the whole graph.
    pub fn num_nodes_of_type(&self, ntype: usize) -> u64 {
        self.nodes.type_total(ntype)
    }

    /// Number of edges of a type in the whole graph.
    pub fn num_edges_of_type(&self, etype: usize) -> u64 {
        self.edges.type_total(etype)
    }

    /// Ids of the nodes that a partition owns.
    pub fn node_range(&self, part: usize) -> Range<u64> {
        self.nodes.part_range(part)
    }

    /// Ids of the nodes of one type that a partition owns.
    pub fn node_type_range(&self, part: usize, ntype: usize) -> Range<u64> {
        self.nodes.type_range(part, ntype)
    }

    /// The nodes of a type in a partition, counted within their type.
    pub fn type_nodes(&self, part: usize, ntype: usize) -> TypeNodes {
        let ids = self.typewise_nodes(part, ntype);
        let own = (ids.end - ids.start) as usize;
        TypeNodes { first: ids.start, own, total: self.num_nodes_of_type(ntype) }
    }

    /// Type-wise ids of the nodes of one type that a partition owns.
    pub fn typewise_nodes(&self, part: usize, ntype: usize) -> Range<u64> {
        self.nodes.typewise_range(part, ntype)
    }

    /// Ids of the edges that a partition owns: the edges into its nodes.
    pub fn edge_range(&self, part: usize) -> Range<u64> {
        self.edges.part_range(part)
    }

    /// Ids of the edges of one type that a partition owns.
    pub fn edge_type_range(&self, part: usize, etype: usize) -> Range<u64> {
        self.edges.type_range(part, etype)
    }

    /// Type-wise ids of the edges of one type that a partition owns.
    pub fn typewise_edges(&self, part: usize, etype: usize) -> Range<u64> {
        self.edges.typewise_range(part, etype)
    }

    /// The partition that owns a node.
    pub fn part_of_node(&self, node: u64) -> Option<usize> {
        self.nodes.part_of(node)
    }

    /// The partition that owns a node that must exist.
    pub(crate) fn owner(&self, node: u64) -> Result<usize> {
        let unknown = || Error::internal(format!("node {node} belongs to no partition"));
        self.part_of_node(node).ok_or_else(unknown)
    }

    /// The partition that owns an edge.
    pub fn part_of_edge(&self, edge: u64) -> Option<usize> {
        self.edges.part_of(edge)
    }

    /// The type of a node.
    pub fn node_type(&self, node: u64) -> Option<usize> {
        self.nodes.type_of(node)
    }

    /// The type of an edge.
    pub fn edge_type(&self, edge: u64) -> Option<usize> {
        self.edges.type_of(edge)
    }

    /// The type and type-wise id of a node (DGL's `map_to_per_ntype`).
    pub fn to_per_type(&self, node: u64) -> Option<(usize, u64)> {
        self.nodes.to_per_type(node)
    }

    /// The node with this type-wise id (DGL's `map_to_homo_nid`).
    pub fn to_homogeneous(&self, ntype: usize, id: u64) -> Option<u64> {
        self.nodes.to_homogeneous(ntype, id)
    }

    /// The type and type-wise id of an edge (DGL's `map_to_per_etype`).
    pub fn edge_to_per_type(&self, edge: u64) -> Option<(usize, u64)> {
        self.edges.to_per_type(edge)
    }

    /// The edge with this type-wise id (DGL's `map_to_homo_eid`).
    pub fn edge_to_homogeneous(&self, etype: usize, id: u64) -> Option<u64> {
        self.edges.to_homogeneous(etype, id)
    }
}

fn bad(problem: &str) -> Error {
    Error::config("partition book", problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn nodes_and_edges_have_their_own_ranges() {
        let etypes = vec![CanonicalEtype::new("a", "r", "b"), CanonicalEtype::new("b", "s", "b")];
        let book = PartitionBook::new(
            names(&["a", "b"]),
            etypes,
            &[vec![3, 1], vec![0, 2]],
            &[vec![1, 0], vec![2, 2]],
        )
        .unwrap();
        assert_eq!((book.num_nodes(), book.num_edges(), book.num_parts()), (6, 5, 2));
        assert_eq!(book.node_type_range(1, 0), 4..4);
        assert_eq!(book.edge_type_range(1, 1), 3..5);
        assert_eq!((book.part_of_node(4), book.part_of_edge(0)), (Some(1), Some(0)));
        assert_eq!((book.to_per_type(5), book.edge_to_per_type(4)), (Some((1, 2)), Some((1, 1))));
        assert_eq!((book.to_homogeneous(1, 2), book.edge_to_homogeneous(1, 1)), (Some(5), Some(4)));
        assert_eq!(book.etype_id(&CanonicalEtype::new("b", "s", "b")), Some(1));
    }

    #[test]
    fn several_types_of_nodes_or_of_edges_make_a_graph_heterogeneous() {
        let book = |ntypes: &[&str], relations: &[&str]| {
            let etypes = relations.iter().map(|name| CanonicalEtype::new("a", name, "a")).collect();
            let (nodes, edges) = ([vec![1; ntypes.len()]], [vec![1; relations.len()]]);
            PartitionBook::new(names(ntypes), etypes, &nodes, &edges).unwrap()
        };
        assert!(!book(&["a"], &["r"]).is_heterogeneous());
        assert!(book(&["a", "b"], &["r"]).is_heterogeneous());
        let relations = book(&["a"], &["r", "s"]);
        assert!(relations.is_heterogeneous());
        assert_eq!(relations.get_etype_id("s").unwrap(), 1);
        assert_eq!(relations.get_etype_id("a:r:a").unwrap(), 0);
        let unknown = relations.get_etype_id("t").unwrap_err().to_string();
        assert!(unknown.contains("t is unknown"), "{unknown}");
    }

    #[test]
    fn tables_of_the_wrong_shape_are_refused() {
        let etype = || vec![CanonicalEtype::new("a", "r", "a")];
        let (one, two) = ([vec![1]], [vec![1], vec![1]]);
        assert!(PartitionBook::new(names(&["a"]), etype(), &one, &two).is_err());
        assert!(PartitionBook::new(names(&["a", "b"]), etype(), &one, &one).is_err());
        assert!(PartitionBook::new(names(&["b"]), etype(), &one, &one).is_err());
        assert!(PartitionBook::new(names(&["a", "a"]), vec![], &one, &one).is_err());
        assert!(PartitionBook::new(names(&["a"]), etype(), &[], &[]).is_err());
        assert!(PartitionBook::new(names(&["a"]), etype(), &one, &one).is_ok());
    }
}
