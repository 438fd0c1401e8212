//! Node and edge data that a program has assigned to a graph.

use std::collections::BTreeMap;

use parking_lot::RwLock;

use crate::load::{EdgeFeatures, NodeColumn};
use crate::words::error::Result;

/// Node data by name, and edge data by name and edge type.
#[derive(Default)]
pub(super) struct AssignedData {
    nodes: RwLock<BTreeMap<String, NodeColumn>>,
    edges: RwLock<BTreeMap<String, BTreeMap<usize, EdgeFeatures>>>,
}

impl AssignedData {
    /// Node data with this name, of all node types that have it.
    pub(super) fn nodes(&self, key: &str) -> Option<NodeColumn> {
        self.nodes.read().get(key).cloned()
    }

    /// Adds node data; on a graph with `several` node types, keeps the data of the other types.
    pub(super) fn set_nodes(&self, key: &str, column: NodeColumn, several: bool) -> Result<()> {
        let mut nodes = self.nodes.write();
        let joined = match nodes.get(key) {
            Some(others) if several => others.with_type(&column)?,
            _ => column,
        };
        nodes.insert(key.to_owned(), joined);
        Ok(())
    }

    /// Removes the node data with this name from all types; returns whether there was any.
    pub(super) fn remove_nodes(&self, key: &str) -> bool {
        self.nodes.write().remove(key).is_some()
    }

    /// Edge data with this name, of all edge types that have it; its width must be the same for all.
    pub(super) fn edges(&self, key: &str) -> Result<Option<EdgeFeatures>> {
        let edges = self.edges.read();
        let Some(mut of_types) = edges.get(key).map(BTreeMap::values) else { return Ok(None) };
        let Some(first) = of_types.next() else { return Ok(None) };
        of_types.try_fold(first.clone(), |all, other| all.with_types(other)).map(Some)
    }

    /// Edge data with this name, of one edge type.
    pub(super) fn edges_of_type(&self, etype: usize, key: &str) -> Option<EdgeFeatures> {
        self.edges.read().get(key)?.get(&etype).cloned()
    }

    /// Sets edge data of a type.
    pub(super) fn set_edges(&self, key: &str, etype: usize, features: EdgeFeatures) {
        self.edges.write().entry(key.to_owned()).or_default().insert(etype, features);
    }

    /// Removes the edge data with this name from all types; returns whether there was any.
    pub(super) fn remove_edges(&self, key: &str) -> bool {
        self.edges.write().remove(key).is_some()
    }
}
