//! Files of nodes and edges that a graph gets.

use std::collections::BTreeSet;

use crate::graph::PartitionBook;
use crate::prepare::import::{EdgeFile, NODE, NodeTableFile, edge};
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
        let GraphAdditions { mut nodes, mut edges } = self.clone();
        let (ntypes, etypes) = (book.ntypes(), book.etypes());
        let fail = |field: &str, problem: String, known: &[String]| {
            let hint = format!("pass ‹{field}=TYPE=FILE› with one of {}", known.join(", "));
            Err(Error::config(field, problem).with_hint(hint))
        };
        let mut seen = BTreeSet::new();
        for NodeTableFile { ty, .. } in &mut nodes {
            let is_bare = ty.is_empty() || *ty == NODE;
            match ntypes {
                [only] if is_bare => ty.clone_from(only),
                _ if ntypes.contains(ty) => {}
                _ => {
                    let problem = if is_bare {
                        "the graph has several node types".to_owned()
                    } else {
                        format!("the graph has no nodes of type {ty:?}")
                    };
                    return fail("add_nodes", problem, ntypes);
                }
            }
            if !seen.insert(ty.clone()) {
                let problem = format!("nodes of type {ty} have two files");
                return Err(Error::config("add_nodes", problem).with_hint("join them into one"));
            }
        }
        for EdgeFile { etype, .. } in &mut edges {
            let is_bare = *etype == edge();
            match etypes {
                _ if etypes.contains(etype) => {}
                [only] if is_bare => etype.clone_from(only),
                _ => {
                    let problem = if is_bare {
                        "the graph has several edge types".to_owned()
                    } else {
                        format!("the graph has no edges of type {etype}")
                    };
                    let names: Vec<String> = etypes.iter().map(ToString::to_string).collect();
                    return fail("add_edges", problem, &names);
                }
            }
        }
        Ok(GraphAdditions { nodes, edges })
    }
}
