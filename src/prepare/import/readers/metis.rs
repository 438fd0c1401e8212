//! METIS graph files: a line per node with its neighbours.

use super::block::{CellBlock, Cells, TextSpan};
use super::format::Format;
use super::input::Input;
use super::lines::Lines;
use super::look::{Ask, Column, Form, GraphFacts, Opened, Reader, Wants};
use super::values::{CellValue, parse_id, shown};
use crate::io::Dtype;
use crate::words::error::Result;

/// Number of edges read at a time; all edges of a node are read together.
const BLOCK: usize = 1 << 14;

const ONE_LINE: &str =
    "a file called .graph has a line for each node; give a list of edges another name";

pub(crate) const FORMAT: Format =
    Format { name: "METIS", needs_places: false, has: |input| input.has_extension("graph"), open };

/// Opens a graph file as edges. The file counts nodes from 1 and has every edge in both directions. Sizes and weights
/// of nodes are skipped.
fn open(input: &Input, ask: &Ask<'_>) -> Result<Opened> {
    if ask.wants != Wants::Edges {
        return (super::text::FORMAT.open)(input, ask);
    }
    let mut lines = Lines::open(input, b"#%")?;
    if !lines.advance_to_words()? {
        return Err(lines.fail("is empty; a graph file begins with numbers of nodes and edges"));
    }
    let header = Header::of(&lines)?;
    let mut columns = Column::ends(&Form::Number(Dtype::I64));
    if header.weighted {
        columns.push(Column::new("weight", Form::Text));
    }
    let nodes = Some([header.nodes; 2]);
    let facts = GraphFacts { nodes, both_directions: true, ..GraphFacts::default() };
    let reader = Box::new(MetisReader { lines, header, node: 0, ends: 0 });
    Ok(Opened { facts, unit: "edge", ..Opened::new(columns, "a METIS graph", reader) })
}

/// The first line: `nodes edges [format [weights per node]]`. The digits of the format announce sizes of nodes, weights
/// of nodes, and weights of edges.
struct Header {
    nodes: u64,
    edges: u64,
    /// Number of values before a node's neighbours.
    skip: usize,
    weighted: bool,
}

impl Header {
    fn of(lines: &Lines) -> Result<Self> {
        let fields: Vec<&[u8]> = lines.words().collect();
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
        Ok(Header { nodes, edges, skip, weighted: has(0) })
    }
}

struct MetisReader {
    lines: Lines,
    header: Header,
    /// The next node.
    node: u64,
    /// Number of edge ends so far.
    ends: u64,
}

impl Reader for MetisReader {
    fn read(&mut self, columns: &[usize], block: &mut CellBlock) -> Result<()> {
        let (mut sources, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        while self.node < self.header.nodes && sources.len() < BLOCK {
            if !self.lines.advance()? {
                let (node, nodes) = (self.node, self.header.nodes);
                let problem =
                    format!("is the last line, but only {node} of {nodes} nodes have one");
                return Err(self.lines.fail(problem).with_hint(ONE_LINE));
            }
            self.read_node(&mut targets, &mut weights, block)?;
            sources.resize(targets.len(), self.node as i64);
            self.node += 1;
        }
        if sources.is_empty() {
            self.check_end()?;
        }
        self.ends += sources.len() as u64;
        block.rows = sources.len();
        for &column in columns {
            block.columns.push(match column {
                0 => Cells::Whole(sources.clone()),
                1 => Cells::Whole(targets.clone()),
                _ => Cells::Text(weights.clone()),
            });
        }
        Ok(())
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }
}

impl MetisReader {
    /// Reads a node's neighbours.
    fn read_node(
        &self,
        targets: &mut Vec<i64>,
        weights: &mut Vec<TextSpan>,
        block: &mut CellBlock,
    ) -> Result<()> {
        let nodes = self.header.nodes;
        let mut fields = self.lines.words().skip(self.header.skip);
        while let Some(field) = fields.next() {
            let neighbour = parse_id(field).filter(|id| (1..=nodes).contains(id));
            let neighbour = neighbour.ok_or_else(|| {
                let problem = format!("{} is not one of the {nodes} nodes", shown(field));
                self.lines.fail(problem).with_hint("nodes are counted from 1 in graph files")
            })?;
            if self.header.weighted {
                let weight = fields.next().unwrap_or_default();
                if CellValue::of(weight).number().is_none() {
                    let problem = format!("{} is not an edge weight", shown(weight));
                    return Err(self.lines.fail(problem));
                }
                weights.push(block.add_text(weight));
            }
            targets.push(neighbour as i64 - 1);
        }
        Ok(())
    }

    /// Compares the number of edges with the first line.
    fn check_end(&mut self) -> Result<()> {
        if self.lines.advance_to_words()? {
            let nodes = self.header.nodes;
            let problem = format!("comes after the last of {nodes} nodes");
            return Err(self.lines.fail(problem).with_hint(ONE_LINE));
        }
        if Some(self.ends) == self.header.edges.checked_mul(2) {
            return Ok(());
        }
        let (ends, edges) = (self.ends, self.header.edges);
        let problem = format!(
            "the lines list {ends} neighbours, but {edges} edges, as the first line states, have 2 x {edges}"
        );
        Err(self.lines.fail(problem))
    }
}
