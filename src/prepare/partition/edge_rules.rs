//! Edges for partitioning, made from the input's edges.

use super::request::{EdgeRules, SelfLoops};
use crate::prepare::import::{EdgeType, RawGraph};
use crate::words::error::{Error, Result};

/// Edges after [`EdgeRules`], duplicates included. An edge's type-wise id shows its origin. Ids below the number of
/// rows are rows of the input; equally many ids above are the rows' reverses; still higher ids are nodes with an added
/// self loop.
pub(super) struct RuledEdges<'a> {
    graph: &'a RawGraph,
    rules: EdgeRules,
    first_nodes: Vec<u64>,
}

/// An edge with homogeneous node ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RuledEdge {
    pub(super) etype: usize,
    pub(super) src: u64,
    pub(super) dst: u64,
    /// Type-wise id.
    pub(super) id: u64,
}

impl<'a> RuledEdges<'a> {
    pub(super) fn new(graph: &'a RawGraph, rules: EdgeRules) -> Result<Self> {
        let joins_types = |etype: &&EdgeType| etype.ends[0] != etype.ends[1] && !etype.embeds;
        if let Some(etype) = graph.etypes.iter().find(joins_types).filter(|_| rules.undirected) {
            let problem = format!("the reverse of {} is not an edge of that type", etype.name);
            return Err(Error::config("undirected", problem)
                .with_hint("pass ‹reverse_edges›, which gives each relation its own reverse"));
        }
        let is_double = |etype: &EdgeType| etype.both_directions.clone();
        if let Some(path) = graph.etypes.iter().find_map(is_double).filter(|_| rules.undirected) {
            let problem = format!("{} holds every edge in both directions already", path.display());
            return Err(Error::config("undirected", problem).with_hint("leave ‹undirected› out"));
        }
        Ok(RuledEdges { graph, rules, first_nodes: graph.first_nodes() })
    }

    /// A bound above all ids of a type.
    pub(super) fn id_end(&self, etype: usize) -> u64 {
        self.first_loop(etype) + self.graph.ntypes[self.graph.etypes[etype].ends[0]].count
    }

    /// Upper bound on the number of edges of a type; graphs without duplicates reach it.
    pub(super) fn most(&self, etype: usize) -> u64 {
        let [src, dst] = self.graph.etypes[etype].ends;
        let added = self.rules.self_loops == SelfLoops::Add && src == dst;
        if added { self.id_end(etype) } else { self.first_loop(etype) }
    }

    /// Smallest possible number of edges of a type, if duplicates stay.
    pub(super) fn least(&self, etype: usize) -> u64 {
        if self.rules.dedup || self.rules.self_loops != SelfLoops::Keep {
            return 0;
        }
        self.graph.edges.num_edges(etype)
    }

    /// The input row with an edge's data; `None` for an added self loop.
    pub(super) fn row(&self, etype: usize, id: u64) -> Option<u64> {
        let rows = self.graph.edges.num_edges(etype);
        (id < self.first_loop(etype)).then(|| if id < rows { id } else { id - rows })
    }

    /// Calls `take` with every edge.
    pub(super) fn for_each(&self, mut take: impl FnMut(RuledEdge) -> Result<()>) -> Result<()> {
        let keep_loops = self.rules.self_loops == SelfLoops::Keep;
        for (etype, info) in self.graph.etypes.iter().enumerate() {
            let [src_type, dst_type] = info.ends;
            let (src_first, dst_first) = (self.first_nodes[src_type], self.first_nodes[dst_type]);
            let rows = self.graph.edges.num_edges(etype);
            let can_loop = src_type == dst_type;
            let both_ways = self.has_both_ways(etype);
            self.graph.edges.read(etype, |first, edges| {
                for (&[src, dst], id) in edges.iter().zip(first..) {
                    let is_loop = can_loop && src == dst;
                    if is_loop && !keep_loops {
                        continue;
                    }
                    let (src, dst) = (src_first + src, dst_first + dst);
                    take(RuledEdge { etype, src, dst, id })?;
                    if both_ways && !is_loop {
                        take(RuledEdge { etype, src: dst, dst: src, id: rows + id })?;
                    }
                }
                Ok(())
            })?;
            if self.rules.self_loops == SelfLoops::Add && can_loop {
                for node in 0..self.graph.ntypes[src_type].count {
                    let (end, id) = (src_first + node, self.first_loop(etype) + node);
                    take(RuledEdge { etype, src: end, dst: end, id })?;
                }
            }
        }
        Ok(())
    }

    fn first_loop(&self, etype: usize) -> u64 {
        let directions = if self.has_both_ways(etype) { 2 } else { 1 };
        directions * self.graph.edges.num_edges(etype)
    }

    /// Whether edges of a type get reverses of the same type.
    fn has_both_ways(&self, etype: usize) -> bool {
        let [src, dst] = self.graph.etypes[etype].ends;
        src == dst && (self.rules.undirected || self.rules.reverse_relations)
    }
}
