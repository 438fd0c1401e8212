//! networkx's adjacency lists: a line per node, with the targets of its edges.

use super::block::{CellBlock, Cells, TextSpan};
use super::format::Format;
use super::input::Input;
use super::lines::Lines;
use super::look::{Ask, Column, Form, GraphFacts, Opened, Reader, Wants};
use crate::words::error::Result;

/// Number of edges after which a block ends; a node's edges are in one block.
const BLOCK: usize = 1 << 14;

pub(crate) const FORMAT: Format = Format {
    name: "adjacency lists",
    needs_places: false,
    has: |input| input.has_extension("adjlist"),
    open,
};

/// The lists as edges. A node without any is a row without a target.
fn open(input: &Input, ask: &Ask<'_>) -> Result<Opened> {
    if ask.wants != Wants::Edges {
        return Err(input
            .fail("holds adjacency lists, which are edges")
            .with_hint("pass it as ‹edges=FILE›"));
    }
    let columns = Column::ends(&Form::Text);
    let reader = Box::new(ListReader { lines: Lines::open(input, b"#")? });
    let kind =
        "adjacency lists; one of an undirected graph has each edge once, so it needs ‹undirected›";
    let facts = GraphFacts { has_lone_nodes: true, ..GraphFacts::default() };
    Ok(Opened { facts, unit: "line", first: 1, ..Opened::new(columns, kind, reader) })
}

struct ListReader {
    lines: Lines,
}

impl Reader for ListReader {
    fn read(&mut self, columns: &[usize], block: &mut CellBlock) -> Result<()> {
        let mut ends = [Vec::new(), Vec::new()];
        while ends[0].len() < BLOCK && self.lines.advance_to_words()? {
            let words: Vec<TextSpan> =
                self.lines.words().map(|word| block.add_text(word)).collect();
            let (source, targets) = (words[0], words.get(1..).filter(|list| !list.is_empty()));
            for target in targets.unwrap_or(&[TextSpan::default()]) {
                ends[0].push(source);
                ends[1].push(*target);
                block.lines.push(self.lines.number());
            }
        }
        block.rows = ends[0].len();
        block.columns.extend(columns.iter().map(|column| Cells::Text(ends[*column].clone())));
        Ok(())
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }
}
