//! Reading files of edges.

use std::path::Path;

use super::files::GraphFiles;
use super::format::Format;
use super::id_space::IdSpace;
use super::numbers::NumberTable;
use super::numpy::{EndArrays, open_array};
use super::parquet::read_parquet;
use super::raw_edges::RawEdgeWriter;
use super::records::Records;
use super::text::parse_id;
use crate::error::{Error, Result};
use crate::formats::dgl::npy::NpyArray;

/// Number of edges of an array read at a time.
const BLOCK: u64 = 1 << 16;

/// Number of lines between two reports of progress.
pub(super) const LINES: u64 = 1 << 14;

/// The destination of the edges of one type.
pub(super) struct EdgeSink<'a> {
    pub(super) files: &'a GraphFiles,
    /// Folder of temporary files.
    pub(super) folder: &'a Path,
    pub(super) spaces: &'a mut [IdSpace],
    /// The node types of sources and destinations.
    pub(super) ends: [usize; 2],
    pub(super) writer: &'a mut RawEdgeWriter,
    /// Tables of the further columns of text files.
    pub(super) columns: &'a mut Vec<NumberTable>,
    /// Called with the number of bytes of the file that have been read.
    pub(super) tell: &'a mut dyn FnMut(u64) -> Result<()>,
}

impl EdgeSink<'_> {
    /// Reads a file of any format.
    pub(super) fn read(&mut self, path: &Path) -> Result<()> {
        let before = self.ends.map(|ntype| self.spaces[ntype].end());
        let format = Format::of(path)?;
        match format {
            Format::Npy | Format::Npz => {
                self.read_array(path, open_array(path, None, self.folder)?)?;
            }
            // An array of shape (2, E) in Fortran order is one with rows of source and destination.
            Format::Parquet => {
                let array = read_parquet(path, self.folder)?;
                self.read_array(path, NpyArray { array, transposed: true })?;
            }
            Format::MetisGraph => self.read_metis(path)?,
            Format::Text => self.read_text(path)?,
        }
        let unit = if format == Format::Text { "line" } else { "edge" };
        for (ntype, end) in self.ends.into_iter().zip(before) {
            self.spaces[ntype].has_read(path, unit, end);
        }
        Ok(())
    }

    fn read_array(&mut self, path: &Path, npy: NpyArray) -> Result<()> {
        if self.ends.iter().any(|&ntype| self.spaces[ntype].is_named()) {
            return Err(Error::input(path, "", "holds numbers, but nodes are named by strings")
                .with_hint("give edges between named nodes as text"));
        }
        if !self.files.edge_columns.is_empty() {
            return Err(Error::input(
                path,
                "",
                "has no further columns, which ‹edge_columns› names",
            )
            .with_hint("give edge data as ‹edge_data=NAME=FILE›"));
        }
        let ends = EndArrays::of(&npy)?;
        let per_edge = npy.array.byte_len() / ends.len().max(1);
        let (mut src, mut dst) = (Vec::new(), Vec::new());
        for first in (0..ends.len()).step_by(BLOCK as usize) {
            (self.tell)(first * per_edge)?;
            let count = BLOCK.min(ends.len() - first) as usize;
            src.resize(count, 0);
            dst.resize(count, 0);
            ends.read(first, &mut src, &mut dst)?;
            for (at, (&src, &dst)) in src.iter().zip(&dst).enumerate() {
                for (ntype, id) in self.ends.into_iter().zip([src, dst]) {
                    self.spaces[ntype].at(first + at as u64);
                    self.spaces[ntype].admit(id).map_err(|problem| {
                        let row = format!("edge {}", first + at as u64);
                        Error::input(path, &row, problem).with_hint("edges are counted from 0")
                    })?;
                }
                self.writer.push(src, dst)?;
            }
        }
        Ok(())
    }

    fn read_text(&mut self, path: &Path) -> Result<()> {
        let mut records = Records::open(path)?;
        let mut count = 0;
        while records.advance()? {
            if count % LINES == 0 {
                (self.tell)(records.bytes_read())?;
            }
            count += 1;
            if count == 1 && self.is_header(&records) {
                continue;
            }
            self.read_record(&records)?;
        }
        Ok(())
    }

    /// Whether the first record names columns.
    fn is_header(&self, records: &Records) -> bool {
        let numbered = self.ends.iter().all(|&ntype| !self.spaces[ntype].is_named());
        self.files.header || numbered && records.fields().all(|field| parse_id(&field).is_none())
    }

    fn read_record(&mut self, records: &Records) -> Result<()> {
        let mut fields = records.fields();
        let mut ids = [0; 2];
        for (id, ntype) in ids.iter_mut().zip(self.ends) {
            let Some(field) = fields.next() else {
                return Err(
                    records.fail("holds one column; an edge has a source and a destination")
                );
            };
            self.spaces[ntype].at(records.number());
            *id = self.spaces[ntype].id_of(&field)?.map_err(|problem| records.fail(problem))?;
        }
        for (column, name) in self.columns.iter_mut().zip(&self.files.edge_columns) {
            let field = fields.next();
            let field = field.ok_or_else(|| records.fail(format!("has no column {name}")))?;
            if !column.push(&field)? {
                let problem = format!("{:?} is not a number", String::from_utf8_lossy(&field));
                return Err(records.fail(format!("column {name}: {problem}")));
            }
        }
        let more = fields.count();
        if more > 0 {
            let columns = 2 + self.columns.len() + more;
            return Err(records
                .fail(format!("holds {columns} columns, but only {} have names", columns - more))
                .with_hint("name the columns after source and destination: ‹edge_columns=A,B›"));
        }
        self.writer.push(ids[0], ids[1])
    }
}
