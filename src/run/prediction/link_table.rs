//! Tables of pairs of nodes with their scores.

use super::cells::{ColumnKind, OutputCells, OutputColumn};
use super::table_file::TableFile;
use crate::error::Result;
use crate::io::Destination;
use crate::run::rank::PredictionFormat;

/// Number of rows that are held until they are written.
const BLOCK: usize = 1 << 16;

/// A row of a table.
pub(super) struct LinkRow {
    /// Names or ids of the two nodes.
    pub(super) nodes: [Vec<u8>; 2],
    /// Types of the two nodes, in tables of several.
    pub(super) types: Option<[String; 2]>,
    /// Place of the other node among the partners of the first, from 1; `None` in tables of pairs.
    pub(super) rank: Option<i32>,
    /// The edge type, in tables of several.
    pub(super) etype: Option<String>,
    pub(super) numbers: Vec<f32>,
}

/// Names of the columns of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkHeadings {
    pub(super) nodes: [&'static str; 2],
    pub(super) types: Option<[&'static str; 2]>,
    pub(super) rank: Option<&'static str>,
    pub(super) etype: Option<&'static str>,
    pub(super) numbers: &'static [&'static str],
}

/// A table that takes rows.
pub(super) struct LinkTable {
    file: TableFile,
    headings: LinkHeadings,
    named: [bool; 2],
    rows: Vec<LinkRow>,
}

impl LinkTable {
    /// Starts the table; `named` says whether the nodes of each column have names; else they have ids.
    pub(super) fn open(
        place: &Destination,
        format: PredictionFormat,
        headings: LinkHeadings,
        named: [bool; 2],
    ) -> Result<Self> {
        let LinkHeadings { nodes, types, rank, etype, numbers } = headings;
        let node_type =
            |end: usize| types.map(|names| OutputColumn::new(names[end], ColumnKind::Text));
        let mut columns = vec![OutputColumn::of_nodes(nodes[0], named[0])];
        columns.extend(node_type(0));
        columns.extend(rank.map(|name| OutputColumn::new(name, ColumnKind::Int32)));
        columns.push(OutputColumn::of_nodes(nodes[1], named[1]));
        columns.extend(node_type(1));
        columns.extend(etype.map(|name| OutputColumn::new(name, ColumnKind::Text)));
        columns.extend(numbers.iter().map(|name| OutputColumn::new(*name, ColumnKind::Float32)));
        let file = TableFile::open(place, format, "links", &columns)?;
        Ok(LinkTable { file, headings, named, rows: Vec::new() })
    }

    pub(super) fn row(&mut self, row: LinkRow) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() < BLOCK { Ok(()) } else { self.write() }
    }

    pub(super) fn finish(mut self) -> Result<()> {
        if !self.rows.is_empty() {
            self.write()?;
        }
        self.file.finish()
    }

    fn write(&mut self) -> Result<()> {
        let mut rows = std::mem::take(&mut self.rows);
        let LinkHeadings { types, rank, etype, numbers, .. } = self.headings;
        let mut nodes = |end: usize| {
            let texts = rows.iter_mut().map(|row| std::mem::take(&mut row.nodes[end])).collect();
            if self.named[end] { OutputCells::Text(texts) } else { OutputCells::Digits(texts) }
        };
        let [node, other] = [nodes(0), nodes(1)];
        let mut node_types = |end: usize| {
            let names = rows.iter_mut().filter_map(|row| row.types.as_mut());
            let names = names.map(|names| std::mem::take(&mut names[end]).into_bytes());
            types.map(|_| OutputCells::Text(names.collect()))
        };
        let [node_type, other_type] = [node_types(0), node_types(1)];
        let mut columns = vec![node];
        columns.extend(node_type);
        if rank.is_some() {
            columns.push(OutputCells::Int32(rows.iter().filter_map(|row| row.rank).collect()));
        }
        columns.push(other);
        columns.extend(other_type);
        if etype.is_some() {
            let etypes = rows.iter_mut().filter_map(|row| row.etype.take());
            columns.push(OutputCells::Text(etypes.map(String::into_bytes).collect()));
        }
        for index in 0..numbers.len() {
            columns.push(OutputCells::Float32(rows.iter().map(|row| row.numbers[index]).collect()));
        }
        self.file.rows(columns)
    }
}
