//! METIS's graph files.

use std::path::Path;

use super::edge_files::{EdgeSink, LINES};
use super::text::{Lines, parse_id, shown, words};
use crate::error::Result;

/// The content of the first line: `nodes edges [format [weights per node]]`, where the digits of the format announce sizes and
/// weights of nodes and weights of edges.
struct Header {
    nodes: u64,
    edges: u64,
    /// Number of values before the neighbours of a node.
    skip: usize,
    weighted: bool,
}

impl EdgeSink<'_> {
    /// Reads a graph file. Nodes are counted from 1 there, and every edge occurs in both directions. The weight of each edge,
    /// if there is one, goes to the first of the named columns; sizes and weights of nodes are skipped.
    pub(super) fn read_metis(&mut self, path: &Path) -> Result<&'static str> {
        let mut lines = Lines::open(path)?;
        if !lines.advance()? {
            return Err(lines.fail("is empty; a graph file begins with numbers of nodes and edges"));
        }
        let header = self.read_header(&lines)?;
        let mut ends = 0;
        for node in 0..header.nodes {
            if node % LINES == 0 {
                (self.tell)(lines.bytes_read())?;
            }
            // A node without neighbours has an empty line.
            if !lines.advance_any()? {
                return Err(lines.fail(format!(
                    "is the last line, but only {node} of {} nodes have one",
                    header.nodes
                )));
            }
            ends += self.read_node(&lines, node, &header)?;
        }
        if lines.advance()? {
            return Err(lines.fail(format!("comes after the last of {} nodes", header.nodes)));
        }
        if Some(ends) != header.edges.checked_mul(2) {
            let problem = format!(
                "brings the edges to {ends} in both directions, but the first line states 2 x {}",
                header.edges
            );
            return Err(lines.fail(problem));
        }
        Ok("edge")
    }

    fn read_header(&mut self, lines: &Lines) -> Result<Header> {
        let fields: Vec<&[u8]> = words(lines.text()).collect();
        let number = |at: usize| match fields.get(at) {
            None => Ok(0),
            Some(field) => parse_id(field)
                .ok_or_else(|| lines.fail(format!("{} is not a number", shown(field)))),
        };
        if !(2..=4).contains(&fields.len()) {
            return Err(lines.fail("must hold the numbers of nodes and edges, and maybe a format"));
        }
        let (nodes, edges, format) = (number(0)?, number(1)?, number(2)?);
        let has = |digit: u64| format / 10u64.pow(digit as u32) % 10 == 1;
        let node_weights = if has(1) { number(3)?.max(1) as usize } else { 0 };
        let skip = node_weights.saturating_add(usize::from(has(2)));
        let header = Header { nodes, edges, skip, weighted: has(0) };
        if header.weighted != (self.columns.len() == 1) {
            let (problem, hint) = if header.weighted {
                ("announces edge weights, which have no name", "name them: ‹edge_columns=weight›")
            } else {
                ("does not announce edge weights", "leave ‹edge_columns› out")
            };
            return Err(lines.fail(problem).with_hint(hint));
        }
        for ntype in self.ends {
            self.spaces[ntype].tell(nodes, lines.path().display().to_string())?;
        }
        Ok(header)
    }

    /// Reads the neighbours of a node, as edges from it; returns their number.
    fn read_node(&mut self, lines: &Lines, node: u64, header: &Header) -> Result<u64> {
        let mut fields = words(lines.text()).skip(header.skip);
        let mut count = 0;
        while let Some(field) = fields.next() {
            let neighbour = parse_id(field).filter(|id| (1..=header.nodes).contains(id));
            let neighbour = neighbour.ok_or_else(|| {
                let problem = format!("{} is not one of the {} nodes", shown(field), header.nodes);
                lines.fail(problem).with_hint("nodes are counted from 1 in graph files")
            })?;
            if let Some(column) = self.columns.first_mut() {
                let weight = fields.next().unwrap_or_default();
                if !column.push(weight)? {
                    return Err(lines.fail(format!("{} is not an edge weight", shown(weight))));
                }
            }
            self.writer.push(node, neighbour - 1)?;
            count += 1;
        }
        Ok(count)
    }
}
