//! Reading files of edges.

use std::path::Path;

use super::files::{EndColumns, GraphFiles};
use super::format::Format;
use super::id_space::IdSpace;
use super::named_rows::{NamedRows, listed};
use super::numbers::NumberTable;
use super::numpy::{EndArrays, open_array};
use super::parquet::read_parquet;
use super::raw_edges::RawEdgeWriter;
use super::records::Records;
use super::text::{parse_id, shown};
use crate::error::{Error, Result};
use crate::formats::dgl::npy::NpyArray;

/// Number of edges of an array read at a time.
const BLOCK: u64 = 1 << 16;

/// Number of lines between two reports of progress.
pub(super) const LINES: u64 = 1 << 14;

const HEADER: &str = "if the first line holds the names of columns, pass ‹header›";

/// Number of lines up to which nothing is strange about nodes that occur once.
const FEW: u64 = 2;

const CHOOSE: &str = "choose two of them: ‹source_column=NAME›, ‹target_column=NAME›; others become edge data with \
     ‹edge_columns=NAME›";

const PARQUET: &str = "edges are two columns of node ids: choose them with ‹source_column=NAME› and \
     ‹target_column=NAME›; if they hold strings, pass ‹node_ids=string›";

/// The destination of the edges of one type.
pub(super) struct EdgeSink<'a> {
    pub(super) files: &'a GraphFiles,
    /// Folder of temporary files.
    pub(super) folder: &'a Path,
    pub(super) spaces: &'a mut [IdSpace],
    /// The node types of sources and destinations.
    pub(super) ends: [usize; 2],
    /// The columns of sources and destinations, if they are chosen by name.
    pub(super) by_name: Option<EndColumns<'a>>,
    pub(super) writer: &'a mut RawEdgeWriter,
    /// Tables of the further columns of text files.
    pub(super) columns: &'a mut Vec<NumberTable>,
    /// Remarks for the user.
    pub(super) notes: &'a mut Vec<String>,
    /// Called with the number of bytes of the file that have been read.
    pub(super) tell: &'a mut dyn FnMut(u64) -> Result<()>,
}

impl EdgeSink<'_> {
    /// Reads a file of any format.
    pub(super) fn read(&mut self, path: &Path) -> Result<()> {
        let before = self.ends.map(|ntype| self.spaces[ntype].end());
        let is_named = self.ends.iter().any(|&ntype| self.spaces[ntype].is_named());
        let unit = match (Format::of(path)?, self.by_name) {
            (_, Some(columns)) => self.read_columns(path, Some(columns))?,
            (Format::Parquet, None) if is_named => self.read_columns(path, None)?,
            (Format::Npy | Format::Npz, None) => {
                self.read_array(path, open_array(path, None, self.folder)?)?
            }
            (Format::Parquet, None) => {
                let array = read_parquet(path, self.folder)
                    .map_err(|e| if e.hint().is_some() { e } else { e.with_hint(PARQUET) })?;
                // An array of shape (2, E) in Fortran order is one with rows of source and destination.
                self.read_array(path, NpyArray { array, transposed: true })?
            }
            (Format::MetisGraph, None) => self.read_metis(path)?,
            (Format::Text, None) => self.read_text(path)?,
        };
        for (ntype, end) in self.ends.into_iter().zip(before) {
            self.spaces[ntype].has_read(path, unit, end);
        }
        Ok(())
    }

    /// Reads columns with names: those that are chosen, or the only two. Returns the unit of places.
    fn read_columns(
        &mut self,
        path: &Path,
        columns: Option<EndColumns<'_>>,
    ) -> Result<&'static str> {
        let mut rows = NamedRows::open(path)?;
        let mut selected = match columns {
            Some(columns) => vec![rows.column(columns.source)?, rows.column(columns.target)?],
            None if rows.names().len() == 2 => vec![0, 1],
            None => {
                let problem = format!("has the columns {}", listed(rows.names()));
                return Err(Error::input(path, "", problem).with_hint(CHOOSE));
            }
        };
        for name in &self.files.edge_columns {
            selected.push(rows.column(name)?);
        }
        let names: Vec<String> = selected.iter().map(|&at| rows.names()[at].clone()).collect();
        rows.select(selected)?;
        let mut count = 0;
        while rows.advance()? {
            if count % LINES == 0 {
                (self.tell)(rows.bytes_read())?;
            }
            count += 1;
            let fail =
                |at: usize, problem: String| rows.fail(format!("column {}: {problem}", names[at]));
            let mut ids = [0; 2];
            for (at, (id, ntype)) in ids.iter_mut().zip(self.ends).enumerate() {
                self.spaces[ntype].at(rows.number());
                if rows.field(at).is_empty() {
                    return Err(fail(at, "is empty".to_owned())
                        .with_hint("every edge has a source and a destination"));
                }
                let named = self.spaces[ntype].id_of(rows.field(at))?;
                *id = named.map_err(|refusal| refusal.error(|problem| fail(at, problem)))?;
            }
            for (at, column) in (2..).zip(&mut *self.columns) {
                if !column.push(rows.field(at))? {
                    let problem = format!("{} is not a number", shown(rows.field(at)));
                    return Err(fail(at, problem));
                }
            }
            self.writer.push(ids[0], ids[1])?;
        }
        Ok(rows.unit())
    }

    fn read_array(&mut self, path: &Path, npy: NpyArray) -> Result<&'static str> {
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
                let mut ids = [src, dst];
                for (ntype, id) in self.ends.into_iter().zip(&mut ids) {
                    self.spaces[ntype].at(first + at as u64);
                    *id = self.spaces[ntype].id_of_number(*id)?.map_err(|refusal| {
                        let row = format!("edge {}", first + at as u64);
                        refusal.error(|problem| {
                            Error::input(path, &row, problem).with_hint("edges are counted from 0")
                        })
                    })?;
                }
                self.writer.push(ids[0], ids[1])?;
            }
        }
        Ok("edge")
    }

    fn read_text(&mut self, path: &Path) -> Result<&'static str> {
        let mut records = Records::open(path)?;
        let before = self.new_names();
        let mut first = None;
        let mut count = 0;
        while records.advance()? {
            if count % LINES == 0 {
                (self.tell)(records.bytes_read())?;
            }
            count += 1;
            if count == 1 && self.is_header(&records) {
                continue;
            }
            let done = self.read_record(&records);
            // A wrong field on the first line is most likely the name of a column.
            let ids = done.map_err(|e| if count == 1 { with_header_hint(e) } else { e })?;
            if count == 1 && self.new_names() == before + 2 {
                first = Some(FirstEdge::new(path, ids, &records));
            } else if first.as_ref().is_some_and(|first| self.occur_again(first.ids, ids)) {
                first = None;
            }
        }
        if let Some(first) = first.filter(|_| count > FEW) {
            self.notes.push(first.note);
        }
        Ok("line")
    }

    /// Number of nodes so far of types whose names are not known beforehand.
    fn new_names(&self) -> u64 {
        let count = |ntype: usize| self.spaces[ntype].new_names();
        let [src, dst] = self.ends;
        if src == dst { count(src) } else { count(src) + count(dst) }
    }

    /// Whether an edge has an end of the first one.
    fn occur_again(&self, first: [u64; 2], ids: [u64; 2]) -> bool {
        let same_type = self.ends[0] == self.ends[1];
        first[0] == ids[0]
            || first[1] == ids[1]
            || same_type && (first[0] == ids[1] || first[1] == ids[0])
    }

    /// Whether the first record names columns.
    fn is_header(&self, records: &Records) -> bool {
        let numbered = self.ends.iter().all(|&ntype| !self.spaces[ntype].is_named());
        self.files.header || numbered && records.fields().all(|field| parse_id(&field).is_none())
    }

    fn read_record(&mut self, records: &Records) -> Result<[u64; 2]> {
        let mut fields = records.fields();
        let mut ids = [0; 2];
        for (id, ntype) in ids.iter_mut().zip(self.ends) {
            let Some(field) = fields.next() else {
                return Err(
                    records.fail("holds one column; an edge has a source and a destination")
                );
            };
            self.spaces[ntype].at(records.number());
            let named = self.spaces[ntype].id_of(&field)?;
            *id = named.map_err(|refusal| refusal.error(|problem| records.fail(problem)))?;
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
        self.writer.push(ids[0], ids[1])?;
        Ok(ids)
    }
}

/// The edge of a file's first line, whose nodes have new names and do not occur again so far.
struct FirstEdge {
    ids: [u64; 2],
    note: String,
}

impl FirstEdge {
    fn new(path: &Path, ids: [u64; 2], records: &Records) -> Self {
        let names: Vec<String> = records.fields().take(2).map(|field| shown(&field)).collect();
        let note = format!(
            "{}: {} on line {} occur on no other line: {HEADER}",
            path.display(),
            names.join(" and "),
            records.number()
        );
        FirstEdge { ids, note }
    }
}

fn with_header_hint(error: Error) -> Error {
    let hint = error.marked_hint().map_or(HEADER.to_owned(), |hint| format!("{hint}; {HEADER}"));
    error.with_hint(hint)
}
