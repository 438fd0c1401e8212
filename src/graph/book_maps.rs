//! The partition book's maps under DGL's names, for lists of ids, which are checked.

use std::ops::Range;

use super::partition_book::PartitionBook;
use crate::words::error::{Error, Result};

/// The entry of DGL's `metadata` for one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionMetadata {
    /// Index of the partition.
    pub machine_id: usize,
    /// Number of nodes that it owns.
    pub num_nodes: u64,
    /// Number of edges that it owns.
    pub num_edges: u64,
}

/// Ids are homogeneous if the type is `None`, and type-wise if a type is named (DGL's `ntype` and `etype` arguments).
/// An id, type or partition that does not exist is an error that names it (DGL does not check).
impl PartitionBook {
    /// The number of nodes and edges of each partition.
    pub fn metadata(&self) -> Vec<PartitionMetadata> {
        let of = |part| PartitionMetadata {
            machine_id: part,
            num_nodes: length(&self.node_range(part)),
            num_edges: length(&self.edge_range(part)),
        };
        (0..self.num_parts()).map(of).collect()
    }

    /// The partition that owns each node.
    ///
    /// # Errors
    /// If the type or a node does not exist (`Config`).
    pub fn nid2partid(&self, nodes: &[u64], ntype: Option<&str>) -> Result<Vec<usize>> {
        let ntype = self.checked_ntype(ntype)?;
        let part = |node| self.part_of_node(self.homogeneous_node(node, ntype)?);
        map(nodes, "node", self.nodes_of(ntype), part)
    }

    /// The partition that owns each edge.
    ///
    /// # Errors
    /// If the type or an edge does not exist (`Config`).
    pub fn eid2partid(&self, edges: &[u64], etype: Option<&str>) -> Result<Vec<usize>> {
        let etype = self.checked_etype(etype)?;
        let part = |edge| self.part_of_edge(self.homogeneous_edge(edge, etype)?);
        map(edges, "edge", self.edges_of(etype), part)
    }

    /// The nodes that a partition owns.
    ///
    /// # Errors
    /// If the partition or the type does not exist (`Config`).
    pub fn partid2nids(&self, part: usize, ntype: Option<&str>) -> Result<Range<u64>> {
        self.check_part(part)?;
        let ntype = self.checked_ntype(ntype)?;
        Ok(ntype.map_or_else(|| self.node_range(part), |ntype| self.typewise_nodes(part, ntype)))
    }

    /// The edges that a partition owns.
    ///
    /// # Errors
    /// If the partition or the type does not exist (`Config`).
    pub fn partid2eids(&self, part: usize, etype: Option<&str>) -> Result<Range<u64>> {
        self.check_part(part)?;
        let etype = self.checked_etype(etype)?;
        Ok(etype.map_or_else(|| self.edge_range(part), |etype| self.typewise_edges(part, etype)))
    }

    /// The index of each node among the nodes of its partition `part` (and of its type, where one is named).
    ///
    /// # Errors
    /// If a node belongs to another partition.
    pub fn nid2localnid(
        &self,
        nodes: &[u64],
        part: usize,
        ntype: Option<&str>,
    ) -> Result<Vec<u64>> {
        local(nodes, "node", part, &self.partid2nids(part, ntype)?)
    }

    /// The index of each edge among the edges of its partition `part` (and of its type, where one is named).
    ///
    /// # Errors
    /// If an edge belongs to another partition.
    pub fn eid2localeid(
        &self,
        edges: &[u64],
        part: usize,
        etype: Option<&str>,
    ) -> Result<Vec<u64>> {
        local(edges, "edge", part, &self.partid2eids(part, etype)?)
    }

    /// The type and the type-wise id of each node.
    ///
    /// # Errors
    /// If a node does not exist (`Config`).
    pub fn map_to_per_ntype(&self, nodes: &[u64]) -> Result<Vec<(usize, u64)>> {
        map(nodes, "node", self.num_nodes(), |node| self.to_per_type(node))
    }

    /// The type and the type-wise id of each edge.
    ///
    /// # Errors
    /// If an edge does not exist (`Config`).
    pub fn map_to_per_etype(&self, edges: &[u64]) -> Result<Vec<(usize, u64)>> {
        map(edges, "edge", self.num_edges(), |edge| self.edge_to_per_type(edge))
    }

    /// The homogeneous id of each type-wise node id.
    ///
    /// # Errors
    /// If the type or a node does not exist (`Config`).
    pub fn map_to_homo_nid(&self, nodes: &[u64], ntype: &str) -> Result<Vec<u64>> {
        let ntype = self.checked_ntype(Some(ntype))?;
        map(nodes, "node", self.nodes_of(ntype), |node| self.homogeneous_node(node, ntype))
    }

    /// The homogeneous id of each type-wise edge id.
    ///
    /// # Errors
    /// If the type or an edge does not exist (`Config`).
    pub fn map_to_homo_eid(&self, edges: &[u64], etype: &str) -> Result<Vec<u64>> {
        let etype = self.checked_etype(Some(etype))?;
        map(edges, "edge", self.edges_of(etype), |edge| self.homogeneous_edge(edge, etype))
    }

    /// The first index of each node type among the nodes of a partition, and the number of nodes at the end.
    ///
    /// # Errors
    /// If the partition does not exist (`Config`).
    pub fn local_ntype_offset(&self, part: usize) -> Result<Vec<u64>> {
        self.check_part(part)?;
        let start = self.node_range(part).start;
        let types = 0..self.ntypes().len();
        let ends = types.map(|ntype| self.node_type_range(part, ntype).end - start);
        Ok(std::iter::once(0).chain(ends).collect())
    }

    /// The first index of each edge type among the edges of a partition, and the number of edges at the end.
    ///
    /// # Errors
    /// If the partition does not exist (`Config`).
    pub fn local_etype_offset(&self, part: usize) -> Result<Vec<u64>> {
        self.check_part(part)?;
        let start = self.edge_range(part).start;
        let types = 0..self.etypes().len();
        let ends = types.map(|etype| self.edge_type_range(part, etype).end - start);
        Ok(std::iter::once(0).chain(ends).collect())
    }

    /// The id of a node type, by name.
    ///
    /// # Errors
    /// If the type does not exist; the hint lists the types that do.
    pub fn get_ntype_id(&self, name: &str) -> Result<usize> {
        self.ntype_id(name).ok_or_else(|| {
            let hint = format!("node types: {}", self.ntypes().join(", "));
            Error::config("node type", format!("{name} is unknown")).with_hint(hint)
        })
    }

    /// The id of an edge type, by its canonical name (`src:rel:dst`), or by the name of its relation if no other edge type has
    /// it: DGL's `to_canonical_etype`.
    ///
    /// # Errors
    /// If no edge type has the name, or several have it.
    pub fn get_etype_id(&self, name: &str) -> Result<usize> {
        let named = |i: &usize| {
            let etype = &self.etypes()[*i];
            etype.to_string() == name || etype.rel == name
        };
        let found: Vec<usize> = (0..self.etypes().len()).filter(named).collect();
        let problem = match found[..] {
            [etype] => return Ok(etype),
            [] => format!("{name} is unknown"),
            _ => format!("{name} is ambiguous"),
        };
        let known: Vec<String> = self.etypes().iter().map(ToString::to_string).collect();
        let hint = format!("name one of: {}", known.join(", "));
        Err(Error::config("edge type", problem).with_hint(hint))
    }

    fn checked_ntype(&self, name: Option<&str>) -> Result<Option<usize>> {
        name.map(|name| self.get_ntype_id(name)).transpose()
    }

    fn checked_etype(&self, name: Option<&str>) -> Result<Option<usize>> {
        name.map(|name| self.get_etype_id(name)).transpose()
    }

    fn check_part(&self, part: usize) -> Result<()> {
        if part < self.num_parts() {
            return Ok(());
        }
        let problem = format!("there is no partition {part}; the graph has {}", self.num_parts());
        Err(Error::config("partition", problem))
    }

    fn nodes_of(&self, ntype: Option<usize>) -> u64 {
        ntype.map_or(self.num_nodes(), |ntype| self.num_nodes_of_type(ntype))
    }

    fn edges_of(&self, etype: Option<usize>) -> u64 {
        etype.map_or(self.num_edges(), |etype| self.num_edges_of_type(etype))
    }

    fn homogeneous_node(&self, node: u64, ntype: Option<usize>) -> Option<u64> {
        ntype.map_or(Some(node), |ntype| self.to_homogeneous(ntype, node))
    }

    fn homogeneous_edge(&self, edge: u64, etype: Option<usize>) -> Option<u64> {
        etype.map_or(Some(edge), |etype| self.edge_to_homogeneous(etype, edge))
    }
}

fn map<T>(ids: &[u64], what: &str, total: u64, value: impl Fn(u64) -> Option<T>) -> Result<Vec<T>> {
    let one = |&id: &u64| {
        let problem = || format!("there is no {what} {id}; ids are below {total}");
        value(id).ok_or_else(|| Error::config("ids", problem()))
    };
    ids.iter().map(one).collect()
}

fn local(ids: &[u64], what: &str, part: usize, own: &Range<u64>) -> Result<Vec<u64>> {
    let one = |&id: &u64| {
        let problem =
            || format!("{what} {id} does not belong to partition {part}, which owns {own:?}");
        let place = own.contains(&id).then(|| id - own.start);
        place.ok_or_else(|| Error::config("ids", problem()))
    };
    ids.iter().map(one).collect()
}

fn length(range: &Range<u64>) -> u64 {
    range.end - range.start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::CanonicalEtype;

    /// Nodes: a 0 1, b 2 | a 3, b 4 5. Edges: r 0 1, s 2 | r 3, s 4.
    fn book() -> PartitionBook {
        let names = vec!["a".to_owned(), "b".to_owned()];
        let etypes = vec![
            CanonicalEtype::new("a", "r", "b"),
            CanonicalEtype::new("b", "s", "a"),
            CanonicalEtype::new("b", "r", "b"),
        ];
        let edges = [vec![2, 1, 0], vec![1, 1, 0]];
        PartitionBook::new(names, etypes, &[vec![2, 1], vec![1, 2]], &edges).unwrap()
    }

    #[test]
    fn maps_go_both_ways_with_and_without_a_type() {
        let book = book();
        assert_eq!(book.nid2partid(&[0, 2, 3, 5], None).unwrap(), [0, 0, 1, 1]);
        assert_eq!(book.nid2partid(&[0, 1, 2], Some("b")).unwrap(), [0, 1, 1]);
        assert_eq!(book.eid2partid(&[0, 2], Some("a:r:b")).unwrap(), [0, 1]);
        assert_eq!(book.partid2nids(1, None).unwrap(), 3..6);
        assert_eq!(book.partid2nids(1, Some("b")).unwrap(), 1..3);
        assert_eq!(book.partid2eids(1, Some("s")).unwrap(), 1..2);
        assert_eq!(book.nid2localnid(&[5, 3], 1, None).unwrap(), [2, 0]);
        assert_eq!(book.eid2localeid(&[2], 1, Some("a:r:b")).unwrap(), [0]);
        let per_type = book.map_to_per_ntype(&[0, 1, 2, 3, 4, 5]).unwrap();
        for (node, (ntype, id)) in per_type.into_iter().enumerate() {
            let back = book.map_to_homo_nid(&[id], &book.ntypes()[ntype]).unwrap();
            assert_eq!(back, [node as u64]);
        }
        assert_eq!(book.map_to_per_etype(&[4]).unwrap(), [(1, 1)]);
        assert_eq!(book.map_to_homo_eid(&[1], "s").unwrap(), [4]);
        assert_eq!(book.local_ntype_offset(1).unwrap(), [0, 1, 3]);
        assert_eq!(book.local_etype_offset(0).unwrap(), [0, 2, 3, 3]);
        assert_eq!(
            book.metadata()[1],
            PartitionMetadata { machine_id: 1, num_nodes: 3, num_edges: 2 }
        );
    }

    #[test]
    fn what_does_not_exist_is_an_error_that_names_it() {
        let book = book();
        let says = |result: Result<Vec<usize>>, words: &str| {
            let text = result.unwrap_err().to_string();
            assert!(text.contains(words), "{text}");
        };
        says(book.nid2partid(&[6], None), "no node 6");
        says(book.nid2partid(&[3], Some("b")), "no node 3; ids are below 3");
        says(book.nid2partid(&[0], Some("c")), "c is unknown");
        says(book.eid2partid(&[0], Some("r")), "ambiguous");
        assert!(book.partid2nids(2, None).is_err());
        let error = book.nid2localnid(&[0], 1, None).unwrap_err().to_string();
        assert!(error.contains("does not belong to partition 1"), "{error}");
    }
}
