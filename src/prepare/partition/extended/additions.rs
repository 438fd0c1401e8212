//! Files of nodes and edges that a graph gets.

use crate::graph::{CanonicalEtype, PartitionBook};
use crate::prepare::import::{EdgeFile, NodeTableFile};
use crate::words::error::{Error, Result};

/// Files of nodes and edges that are added to a partitioned graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphAdditions {
    /// New nodes: a row for each, with its id and its features. Without a name, the type is the only one of the graph.
    pub nodes: Vec<NodeTableFile>,
    /// New edges, between any nodes.
    pub edges: Vec<EdgeFile>,
}

impl GraphAdditions {
    /// The files with types of a graph.
    pub(super) fn of_types(&self, book: &PartitionBook) -> Result<Self> {
        let (ntypes, etypes) = (book.ntypes(), book.etypes());
        let mut nodes = self.nodes.clone();
        for at in 0..nodes.len() {
            let ty = &nodes[at].ty;
            let ty = match ntypes {
                [only] if ty.is_empty() || ty == NO_TYPE => only.clone(),
                _ => ty.clone(),
            };
            if !ntypes.contains(&ty) {
                let problem = if ty.is_empty() || ty == NO_TYPE {
                    "the graph has several node types".to_owned()
                } else {
                    format!("the graph has no nodes of type {ty:?}")
                };
                let hint = format!("pass ‹add_nodes=TYPE=FILE› with one of {}", ntypes.join(", "));
                return Err(Error::config("add_nodes", problem).with_hint(hint));
            }
            if nodes[..at].iter().any(|other| other.ty == ty) {
                return Err(Error::config(
                    "add_nodes",
                    format!("nodes of type {ty} have two files"),
                )
                .with_hint("join them into one"));
            }
            nodes[at].ty = ty;
        }
        let mut edges = self.edges.clone();
        for file in &mut edges {
            let is_bare = file.etype == CanonicalEtype::new(NO_TYPE, "_E", NO_TYPE);
            match etypes {
                _ if etypes.contains(&file.etype) => {}
                [only] if is_bare => file.etype = only.clone(),
                _ => {
                    let names: Vec<String> = etypes.iter().map(ToString::to_string).collect();
                    let problem = if is_bare {
                        "the graph has several edge types".to_owned()
                    } else {
                        format!("the graph has no edges of type {}", file.etype)
                    };
                    let hint =
                        format!("pass ‹add_edges=TYPE=FILE› with one of {}", names.join(", "));
                    return Err(Error::config("add_edges", problem).with_hint(hint));
                }
            }
        }
        Ok(GraphAdditions { nodes, edges })
    }
}

/// DGL's name for the only type.
const NO_TYPE: &str = "_N";
