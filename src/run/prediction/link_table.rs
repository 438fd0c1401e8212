//! Tables of pairs of nodes with their scores, as text or as Parquet files.

use std::io::Write;

use parquet::data_type::{FloatType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;

use super::csv::field;
use super::parquet::{Groups, node_column, number_column, text_column, write_column, write_texts};
use crate::error::Result;
use crate::io::{Dtype, ResultFile};

/// Number of rows of a group in a Parquet file.
const GROUP: usize = 1 << 16;

/// A row of a table.
#[derive(Debug, Clone)]
pub(super) struct LinkRow {
    /// Name or id of the first node.
    pub(super) node: Vec<u8>,
    /// Place of the other node among the partners of the first, from 1; `None` in tables of pairs.
    pub(super) rank: Option<usize>,
    /// Name or id of the other node.
    pub(super) other: Vec<u8>,
    /// The edge type, in tables of several.
    pub(super) etype: Option<String>,
    pub(super) numbers: Vec<f32>,
}

/// Names of the columns of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkHeadings {
    pub(super) node: &'static str,
    pub(super) rank: Option<&'static str>,
    pub(super) other: &'static str,
    pub(super) etype: Option<&'static str>,
    pub(super) numbers: &'static [&'static str],
}

/// A file that takes rows.
pub(super) trait LinkTable {
    fn row(&mut self, row: LinkRow) -> Result<()>;
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Comma-separated values with a line of headings.
pub(super) struct LinkCsv(ResultFile);

impl LinkCsv {
    pub(super) fn new(mut file: ResultFile, headings: LinkHeadings) -> Result<Self> {
        let LinkHeadings { node, rank, other, etype, numbers } = headings;
        let columns = [Some(node), rank, Some(other), etype];
        let columns = columns.into_iter().flatten().chain(numbers.iter().copied());
        let line = columns.collect::<Vec<_>>().join(",");
        writeln!(file, "{line}").map_err(|e| file.failed(e))?;
        Ok(LinkCsv(file))
    }
}

impl LinkTable for LinkCsv {
    fn row(&mut self, row: LinkRow) -> Result<()> {
        let mut line = Vec::new();
        field(&mut line, &row.node);
        line.push(b',');
        if let Some(rank) = row.rank {
            line.extend(format!("{rank},").into_bytes());
        }
        field(&mut line, &row.other);
        if let Some(etype) = &row.etype {
            line.push(b',');
            field(&mut line, etype.as_bytes());
        }
        line.extend(row.numbers.iter().flat_map(|number| format!(",{number}").into_bytes()));
        line.push(b'\n');
        self.0.write_all(&line).map_err(|e| self.0.failed(e))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.0.commit()
    }
}

/// A Parquet file.
pub(super) struct LinkParquet {
    groups: Groups,
    named: [bool; 2],
    rows: Vec<LinkRow>,
}

impl LinkParquet {
    /// `named` says whether the nodes of each column have names; else they have ids.
    pub(super) fn new(file: ResultFile, headings: LinkHeadings, named: [bool; 2]) -> Result<Self> {
        let mut fields = vec![node_column(headings.node, named[0])];
        fields.extend(headings.rank.map(|rank| number_column(rank, Dtype::I32)));
        fields.push(node_column(headings.other, named[1]));
        fields.extend(headings.etype.map(text_column));
        fields.extend(headings.numbers.iter().map(|name| number_column(name, Dtype::F32)));
        let groups = Groups::new(file, "links", fields)?;
        Ok(LinkParquet { groups, named, rows: Vec::new() })
    }

    fn write(&mut self) -> Result<()> {
        let (rows, named) = (std::mem::take(&mut self.rows), self.named);
        self.groups.group(|group| {
            write_nodes(group, rows.iter().map(|row| &row.node[..]), named[0])?;
            let ranks: Vec<i32> =
                rows.iter().filter_map(|row| row.rank).map(|n| n as i32).collect();
            if !ranks.is_empty() {
                write_column::<Int32Type>(group, &ranks)?;
            }
            write_nodes(group, rows.iter().map(|row| &row.other[..]), named[1])?;
            let etypes = rows.iter().filter_map(|row| row.etype.as_ref());
            let etypes: Vec<&[u8]> = etypes.map(String::as_bytes).collect();
            if !etypes.is_empty() {
                write_texts(group, etypes.into_iter())?;
            }
            for number in 0..rows.first().map_or(0, |row| row.numbers.len()) {
                let numbers: Vec<f32> = rows.iter().map(|row| row.numbers[number]).collect();
                write_column::<FloatType>(group, &numbers)?;
            }
            Ok(())
        })
    }
}

impl LinkTable for LinkParquet {
    fn row(&mut self, row: LinkRow) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() < GROUP { Ok(()) } else { self.write() }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if !self.rows.is_empty() {
            self.write()?;
        }
        self.groups.finish()
    }
}

fn write_nodes<'n>(
    group: &mut SerializedRowGroupWriter<'_, ResultFile>,
    nodes: impl Iterator<Item = &'n [u8]>,
    named: bool,
) -> Result<(), ParquetError> {
    if named {
        return write_texts(group, nodes);
    }
    let id = |text: &[u8]| std::str::from_utf8(text).ok()?.parse().ok();
    let ids: Option<Vec<i64>> = nodes.map(id).collect();
    let ids = ids.ok_or_else(|| ParquetError::General("an id is not a number".to_owned()))?;
    write_column::<Int64Type>(group, &ids)
}
