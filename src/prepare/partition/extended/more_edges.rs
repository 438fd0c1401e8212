//! All edges of a graph to which edges are added.

use std::path::Path;

use super::additions::GraphAdditions;
use super::edge_data::MoreEdgeData;
use super::more_nodes::MoreNodes;
use super::votes::Votes;
use crate::graph::{CanonicalEtype, PartitionBook};
use crate::load::KeptArrays;
use crate::prepare::import::{
    EdgeType, GraphFiles, NewEdges, OpenedPartitions, RawEdgeWriter, RawGraph, Table,
    read_new_edges,
};
use crate::prepare::partition::request::{EdgeRules, SelfLoops};
use crate::words::error::{Error, Result};

/// Edges that are added, while they are written after the graph's own.
pub(super) struct MoreEdges<'a> {
    pub(super) new: NewEdges,
    pub(super) votes: Votes,
    /// Number of edges added.
    pub(super) count: u64,
    rules: EdgeRules,
    book: &'a PartitionBook,
    /// Kept data of each edge type: names, and the graph's own values.
    data: Vec<Vec<(String, Table)>>,
    /// The same with the values of new edges.
    more: Vec<Vec<(String, Table)>>,
    folder: &'a Path,
}

/// Edges of the files for an edge type of the graph.
#[derive(Clone, Copy)]
struct Listed {
    /// The type of the files.
    of: usize,
    reversed: bool,
}

impl<'a> MoreEdges<'a> {
    /// Reads the files of edges. `data` are the graph's own data, by edge type.
    pub(super) fn read(
        nodes: &mut MoreNodes,
        additions: &GraphAdditions,
        data: Vec<Vec<(String, Table)>>,
        rules: EdgeRules,
        book: &'a PartitionBook,
        folder: &'a Path,
        tell: &mut dyn FnMut(u64, u64) -> Result<()>,
    ) -> Result<Self> {
        let mut files = GraphFiles { edges: additions.edges.clone(), ..GraphFiles::default() };
        for (name, table) in data.iter().flatten() {
            if table.row_shape().iter().product::<u64>() != 1 {
                let problem = format!(
                    "edges have {name} of several numbers, which files of edges cannot give"
                );
                return Err(Error::config("add_edges", problem)
                    .with_hint("cut the graph with its new edges"));
            }
            if !files.edge_columns.contains(name) {
                files.edge_columns.push(name.clone());
            }
        }
        for etype in additions.edges.iter().map(|file| &file.etype) {
            let forward = forward_of(etype).filter(|_| rules.reverse_relations);
            if let Some(forward) = forward.filter(|forward| book.etype_id(forward).is_some()) {
                let problem = format!("edges of type {etype} are made of those of {forward}");
                return Err(Error::config("add_edges", problem).with_hint("leave them out"));
            }
        }
        let new = read_new_edges(&files, nodes.take_all(), folder, tell)?;
        let is_double = |etype: &EdgeType| etype.both_directions.clone();
        if let Some(path) = new.etypes.iter().find_map(is_double).filter(|_| rules.undirected) {
            let problem = "holds every edge in both directions, but edges of the graph get their reverses when they are added";
            return Err(Error::input(&path, "", problem).with_hint("give one direction of each"));
        }
        let votes = Votes::new(nodes.new.iter().map(|new| new.count));
        let more = Vec::new();
        Ok(MoreEdges { new, votes, count: 0, rules, book, data, more, folder })
    }

    /// Writes the new edges of a type; types come in order.
    pub(super) fn write(
        &mut self,
        etype: usize,
        nodes: &MoreNodes,
        writer: &mut RawEdgeWriter,
    ) -> Result<()> {
        let name = &self.book.etypes()[etype];
        let listed = self.listed(name);
        let new = listed.map(|listed| &self.new.etypes[listed.of]);
        let own = std::mem::take(&mut self.data[etype]);
        let arrays =
            own.iter().map(|(name, known)| MoreEdgeData::create(name, known, new, self.folder));
        let mut arrays: Vec<MoreEdgeData> = arrays.collect::<Result<_>>()?;
        let ends = self.book.etype_ends()[etype];
        let can_loop = ends[0] == ends[1];
        let both_ways = can_loop && (self.rules.undirected || self.rules.reverse_relations);
        let keeps_loops = self.rules.self_loops == SelfLoops::Keep;
        let mut edge = |[src, dst]: [u64; 2], at, arrays: &mut [MoreEdgeData]| {
            self.count += 1;
            arrays.iter_mut().try_for_each(|array| array.push(at))?;
            writer.push(src, dst)
        };
        if let Some(Listed { of, reversed }) = listed {
            let (book, votes) = (self.book, &mut self.votes);
            self.new.edges.read(of, |first, block| {
                arrays.iter_mut().try_for_each(|array| array.read(first, block.len()))?;
                for (at, &(mut listed)) in block.iter().enumerate() {
                    if reversed {
                        listed.reverse();
                    }
                    let number = |end: usize| nodes.number(ends[end], listed[end]);
                    let numbers = [number(0), number(1)];
                    let is_loop = can_loop && numbers[0] == numbers[1];
                    if is_loop && !keeps_loops {
                        continue;
                    }
                    vote(votes, nodes, book, ends, numbers)?;
                    edge(numbers, Some(at), &mut arrays)?;
                    if both_ways && !is_loop {
                        edge([numbers[1], numbers[0]], Some(at), &mut arrays)?;
                    }
                }
                Ok(())
            })?;
        }
        if can_loop && self.rules.self_loops == SelfLoops::Add {
            let known = nodes.known[ends[0]].count;
            for node in known..known + nodes.new[ends[0]].count {
                edge([node, node], None, &mut arrays)?;
            }
        }
        let more = own.into_iter().zip(arrays);
        let more = more.map(|((name, known), array)| Ok((name, array.finish(&known)?)));
        self.more.push(more.collect::<Result<_>>()?);
        Ok(())
    }

    /// Gives the graph the data of all edges.
    pub(super) fn add_to(&mut self, graph: &mut RawGraph) {
        for (etype, data) in graph.etypes.iter_mut().zip(std::mem::take(&mut self.more)) {
            etype.data = data;
        }
    }

    fn listed(&self, name: &CanonicalEtype) -> Option<Listed> {
        let of = |wanted: &CanonicalEtype| {
            self.new.etypes.iter().position(|etype| etype.name == *wanted)
        };
        let own = of(name).map(|of| Listed { of, reversed: false });
        let forward = forward_of(name).filter(|_| self.rules.reverse_relations);
        own.or_else(|| of(&forward?).map(|of| Listed { of, reversed: true }))
    }
}

/// The relation whose reverses a relation may hold.
fn forward_of(name: &CanonicalEtype) -> Option<CanonicalEtype> {
    let forward = name.rel.strip_prefix("rev_").filter(|_| name.src != name.dst)?;
    Some(CanonicalEtype::new(&name.dst, forward, &name.src))
}

/// The partition of a known node.
fn part_of(book: &PartitionBook, ntype: usize, number: u64) -> Result<usize> {
    let id = book.to_homogeneous(ntype, number);
    let part = id.and_then(|id| book.part_of_node(id));
    part.ok_or_else(|| Error::internal("a node is not in the book"))
}

/// Counts a known end of an edge for the new one.
fn vote(
    votes: &mut Votes,
    nodes: &MoreNodes,
    book: &PartitionBook,
    ends: [usize; 2],
    numbers: [u64; 2],
) -> Result<()> {
    for (new, known) in [(0, 1), (1, 0)] {
        let place = nodes.place(ends[new], numbers[new]);
        if let (Some(place), None) = (place, nodes.place(ends[known], numbers[known])) {
            votes.add(ends[new], place, part_of(book, ends[known], numbers[known])?);
        }
    }
    Ok(())
}

/// The graph's own data of edges that are kept, by edge type.
pub(super) fn kept_data(
    opened: &OpenedPartitions,
    kept: &KeptArrays,
) -> Result<Vec<Vec<(String, Table)>>> {
    let of_type = |(names, data): (&Vec<String>, Vec<(String, Table)>)| {
        let find = |name: &String| {
            let table = data.iter().find(|(known, _)| known == name).cloned();
            table.ok_or_else(|| Error::internal(format!("a partition has no {name} of edges")))
        };
        names.iter().map(find).collect()
    };
    kept.edges.iter().zip(opened.edge_data()?).map(of_type).collect()
}
