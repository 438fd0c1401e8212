//! Reads edges that are added to a partitioned graph.

use std::collections::BTreeMap;
use std::path::Path;

use crate::prepare::import::files::GraphFiles;
use crate::prepare::import::graph::{EdgeType, RawEdges};
use crate::prepare::import::ids::{IdSpace, NodeNames, WITH_NEW_NODES};
use crate::prepare::import::import_graph::Import;
use crate::prepare::import::readers::{Ask, Wants};
use crate::words::error::Result;

/// Edges that are added. Their ends are original ids.
#[derive(Debug)]
pub(crate) struct NewEdges {
    /// The types of the edges; `ends` are places among the node types that were passed.
    pub(crate) etypes: Vec<EdgeType>,
    /// Sources and destinations.
    pub(crate) edges: RawEdges,
    /// The names of all nodes, by type.
    pub(crate) names: Vec<Option<NodeNames>>,
    /// Notes on the files.
    pub(crate) notes: Vec<String>,
}

/// All nodes of a type, known and new.
pub(crate) struct AllNodes {
    /// The type.
    pub(crate) ntype: String,
    /// Number of nodes.
    pub(crate) count: u64,
    /// The names of the nodes, if they have any.
    pub(crate) names: Option<NodeNames>,
}

/// Reads files of edges between nodes.
pub(crate) fn read_new_edges(
    files: &GraphFiles,
    nodes: Vec<AllNodes>,
    folder: &Path,
    tell: &mut dyn FnMut(u64, u64) -> Result<()>,
) -> Result<NewEdges> {
    let space = |AllNodes { ntype, count, names }: AllNodes| {
        let mut space = IdSpace::new(&ntype, names);
        space.tell(count, WITH_NEW_NODES.to_owned())?;
        Ok(space)
    };
    let mut import = Import {
        files,
        edge_splits: Vec::new(),
        ask: Ask::new(Wants::Table, folder),
        memory: 0,
        scanned: Vec::new(),
        spaces: nodes.into_iter().map(space).collect::<Result<_>>()?,
        bad_rows: None,
        both_directions: BTreeMap::new(),
        orders: BTreeMap::new(),
        notes: Vec::new(),
    };
    let (etypes, edges) = import.edges(tell)?;
    import.settle(&etypes, &edges)?;
    let names = import.spaces.into_iter().map(IdSpace::into_names).collect();
    Ok(NewEdges { etypes, edges, names, notes: import.notes })
}
