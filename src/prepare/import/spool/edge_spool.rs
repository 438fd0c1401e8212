//! Edges of many types in the order of the files, and divided by type.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::divided_edges::{DataColumn, DividedEdges};
use super::listed_edges::ListedEdges;
use super::record::{EDGE, VALUE, bytes_of, edge, ends_of, mask_of};
use crate::error::{Error, Result};
use crate::graph::CanonicalEtype;
use crate::io::BucketSpool;
use crate::prepare::import::files::NODE;
use crate::prepare::import::readers::{CellValue, FileRows, shown};
use crate::prepare::import::tables::{NUMBERS, check_data, needs_double, storable};

/// Size of the number of a type in bytes.
const TYPE: usize = 4;

/// The place of the column of relations among those that are read.
const RELATION: usize = 2;

/// Most relations of a graph.
const MOST_RELATIONS: usize = 1 << 16;

/// Number of buffered bytes.
const BUFFER: usize = 1 << 20;

/// Edges of all types, in an unnamed file.
pub(crate) struct EdgeSpool {
    folder: PathBuf,
    file: BufWriter<File>,
    edges: u64,
    /// The columns of edge data.
    columns: Vec<DataColumn>,
    /// Whether the first column after those of the ends names the type of each edge.
    has_relations: bool,
    types: Vec<CanonicalEtype>,
    relations: HashMap<Box<[u8]>, u32>,
    record: Vec<u8>,
}

impl EdgeSpool {
    /// No edges so far, with edge data from columns of these names. With `has_relations`, the first column after those of the ends
    /// names the type of each edge.
    pub(crate) fn create(folder: &Path, columns: &[String], has_relations: bool) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(|e| Error::io("create", folder, e))?;
        Ok(EdgeSpool {
            folder: folder.to_owned(),
            file: BufWriter::with_capacity(BUFFER, file),
            edges: 0,
            columns: columns.iter().map(|name| DataColumn::new(name)).collect(),
            has_relations,
            types: Vec::new(),
            relations: HashMap::new(),
            record: Vec::new(),
        })
    }

    /// The number of a type.
    pub(crate) fn type_of(&mut self, etype: &CanonicalEtype) -> u32 {
        let known = self.types.iter().position(|known| known == etype);
        let at = known.unwrap_or(self.types.len());
        if known.is_none() {
            self.types.push(etype.clone());
        }
        at as u32
    }

    /// The number of the type of the current row: `fixed`, or that of its relation.
    pub(crate) fn type_of_row(&mut self, fixed: Option<u32>, rows: &FileRows) -> Result<u32> {
        if let Some(fixed) = fixed {
            return Ok(fixed);
        }
        let Some(name) = rows.value(RELATION).name() else {
            return Err(rows
                .fail("the relation is missing")
                .with_hint("every edge has a relation, which becomes its type"));
        };
        if let Some(known) = self.relations.get(&*name) {
            return Ok(*known);
        }
        let Ok(text) = std::str::from_utf8(&name) else {
            return Err(rows
                .fail(format!("the relation {} is not UTF-8", shown(&name)))
                .with_hint("save the file as UTF-8"));
        };
        if self.types.len() == MOST_RELATIONS {
            let problem = format!("{} is relation {}", shown(&name), MOST_RELATIONS + 1);
            return Err(rows.fail(problem).with_hint(
                "each relation becomes an edge type; ‹relation_column› names a column with few different values",
            ));
        }
        // Names of types stand between colons.
        let etype = CanonicalEtype::new(NODE, &text.replace(':', "%3A"), NODE);
        let at = self.type_of(&etype);
        self.relations.insert(name.into(), at);
        Ok(at)
    }

    /// Checks the edge data of the current row.
    pub(crate) fn check_data(&self, rows: &FileRows) -> Result<()> {
        check_data(rows, self.first_data(), self.columns.iter().map(|column| &column.name))
    }

    /// The place of the first column of edge data among those that are read.
    fn first_data(&self) -> usize {
        2 + usize::from(self.has_relations)
    }

    /// Adds an edge with the edge data of the current row.
    pub(crate) fn push(&mut self, etype: u32, ends: [u64; 2], rows: &FileRows) -> Result<()> {
        self.record.clear();
        self.record.extend(etype.to_le_bytes());
        self.record.extend(edge(ends, 0));
        for (at, column) in (self.first_data()..).zip(&mut self.columns) {
            let value = storable(rows.value(at)).map_err(|problem| {
                rows.fail(format!("column {}: {problem}", column.name)).with_hint(NUMBERS)
            })?;
            column.is_whole &= matches!(value, CellValue::Whole(_));
            column.needs_double |= needs_double(value);
            self.record.extend(bytes_of(value));
        }
        self.edges += 1;
        let written = self.file.write_all(&self.record);
        written.map_err(|e| Error::io("write a temporary file in", &self.folder, e))
    }

    /// Divides the edges by type, and marks those that splits list; edges that only splits have are added at the end of their
    /// type. Returns them with a note on the splits. `memory` bounds the buffers.
    pub(crate) fn divide(
        mut self,
        mut listed: Option<ListedEdges>,
        memory: u64,
    ) -> Result<(DividedEdges, Option<String>)> {
        let failed = |e| Error::io("read a temporary file in", &self.folder, e);
        self.file.flush().map_err(|e| Error::io("write a temporary file in", &self.folder, e))?;
        self.file.get_ref().rewind().map_err(failed)?;
        let mut file = BufReader::with_capacity(BUFFER, self.file.get_ref());
        let size = EDGE + self.columns.len() * VALUE;
        let mut record = vec![0; TYPE + size];
        let mut edges = BucketSpool::create(&self.folder, self.types.len(), size, memory as usize)?;
        for _ in 0..self.edges {
            file.read_exact(&mut record).map_err(failed)?;
            let Some((etype, rest)) = record.split_first_chunk_mut::<TYPE>() else { continue };
            let etype = u32::from_le_bytes(*etype);
            if let Some(listed) = &mut listed {
                *mask_of(rest) = listed.find(etype, ends_of(rest));
            }
            edges.push(etype as usize, [rest, &[]])?;
        }
        let mut note = None;
        if let Some(listed) = &listed {
            let others = listed.others(|etype, ends, mask| {
                if let Some(DataColumn { name, .. }) = self.columns.first() {
                    let problem = "edges that only a split has lack edge data";
                    return Err(Error::config("split", problem)
                        .with_hint(format!("list them in the files of edges, too, with {name}")));
                }
                edges.push(etype as usize, [&edge(ends, mask), &[]])
            })?;
            note = Some(listed.note(others));
        }
        edges.finish()?;
        let masks = listed.map_or(Vec::new(), |listed| listed.masks);
        let EdgeSpool { types, columns, folder, .. } = self;
        Ok((DividedEdges { edges, types, columns, masks, folder }, note))
    }
}
