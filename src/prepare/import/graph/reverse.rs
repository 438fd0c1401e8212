//! Reverse relations of heterogeneous graphs.

use super::raw_graph::{EdgeType, RawGraph};
use crate::graph::CanonicalEtype;
use crate::words::error::{Error, Result};

impl RawGraph {
    /// The graph with a relation `rev_x` for every relation `x` between different node types, like DGL's `AddReverse`.
    /// Its edges have the numbers and the data of the edges of `x`.
    ///
    /// # Errors
    /// If no relation joins different node types, or a name is taken.
    pub fn with_reverse_relations(self) -> Result<Self> {
        let field = "reverse_edges";
        let RawGraph { etypes, edges, .. } = self;
        let taken: Vec<CanonicalEtype> = etypes.iter().map(|etype| etype.name.clone()).collect();
        let mut all = Vec::new();
        for (at, etype) in etypes.into_iter().enumerate() {
            let EdgeType { name, ends: [src, dst], data, embeds, .. } = &etype;
            if src != dst && !embeds {
                let name = CanonicalEtype::new(&name.dst, &format!("rev_{}", name.rel), &name.src);
                if taken.contains(&name) {
                    return Err(Error::config(field, format!("the graph has {name} already"))
                        .with_hint("leave it out, or leave out that relation"));
                }
                let (ends, data) = ([*dst, *src], data.clone());
                let reverse = EdgeType { name, ends, data, embeds: false, both_directions: None };
                all.push(Directed { etype: reverse, of: at, reversed: true });
            }
            all.push(Directed { etype, of: at, reversed: false });
        }
        if all.len() == taken.len() {
            let problem = "has no effect, because no relation joins different node types";
            return Err(Error::config(field, problem)
                .with_hint("to store every edge in both directions, pass ‹undirected›"));
        }
        all.sort_by(|a, b| a.etype.name.cmp(&b.etype.name));
        let edges = edges.in_order(all.iter().map(|directed| (directed.of, directed.reversed)));
        let etypes = all.into_iter().map(|directed| directed.etype).collect();
        Ok(RawGraph { etypes, edges, ..self })
    }
}

/// A relation, or the reverse of one.
struct Directed {
    etype: EdgeType,
    /// Place of the relation that was read.
    of: usize,
    reversed: bool,
}
