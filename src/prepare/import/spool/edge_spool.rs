//! Edges of many types during reading.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::divided_edges::{DataColumn, DividedEdges};
use super::listed_edges::ListedEdges;
use super::record::{VALUE, bytes_of};
use crate::graph::CanonicalEtype;
use crate::io::BucketSpool;
use crate::prepare::import::files::NODE;
use crate::prepare::import::graph::{ENDS, bytes_of_ends};
use crate::prepare::import::readers::{CellValue, FileRows, shown};
use crate::prepare::import::tables::{edge_value, needs_double};
use crate::words::error::Result;

/// Place of the relation column among the columns read.
const RELATION: usize = 2;

/// Largest number of relations of a graph.
const MOST_RELATIONS: usize = 1 << 16;

/// Edges by type, in an unnamed file.
pub(crate) struct EdgeSpool {
    folder: PathBuf,
    /// Ends and data of each type's edges.
    edges: BucketSpool,
    /// The columns of edge data.
    columns: Vec<DataColumn>,
    /// Whether the first column after the ends names each edge's type.
    has_relations: bool,
    types: Vec<CanonicalEtype>,
    relations: HashMap<Box<[u8]>, u32>,
    /// Edge data of a row.
    values: Vec<CellValue<'static>>,
    record: Vec<u8>,
}

impl EdgeSpool {
    /// An empty spool, with edge data from columns of these names. With `has_relations`, the first column after the
    /// ends names each edge's type. `memory` bounds the buffers.
    pub(crate) fn create(
        folder: &Path,
        columns: &[String],
        has_relations: bool,
        memory: u64,
    ) -> Result<Self> {
        let (size, buffer) = (ENDS + columns.len() * VALUE, memory as usize / MOST_RELATIONS);
        Ok(EdgeSpool {
            folder: folder.to_owned(),
            edges: BucketSpool::create(folder, 0, size, buffer)?,
            columns: columns.iter().map(|name| DataColumn::new(name)).collect(),
            has_relations,
            types: Vec::new(),
            relations: HashMap::new(),
            values: Vec::new(),
            record: Vec::new(),
        })
    }

    pub(crate) fn type_of(&mut self, etype: &CanonicalEtype) -> u32 {
        let known = self.types.iter().position(|known| known == etype);
        let at = known.unwrap_or(self.types.len());
        if known.is_none() {
            self.types.push(etype.clone());
            self.edges.add_bucket();
        }
        at as u32
    }

    /// The type number of the current row: that of its relation, or `fixed` if edges have no relations.
    pub(crate) fn type_of_row(&mut self, fixed: u32, rows: &FileRows) -> Result<u32> {
        if !self.has_relations {
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
        // Colons separate names of types.
        let etype = CanonicalEtype::new(NODE, &text.replace(':', "%3A"), NODE);
        let at = self.type_of(&etype);
        self.relations.insert(name.into(), at);
        Ok(at)
    }

    /// Reads the edge data of the current row.
    pub(crate) fn read_data(&mut self, rows: &FileRows) -> Result<()> {
        let first = 2 + usize::from(self.has_relations);
        self.values.clear();
        for (at, column) in (first..).zip(&self.columns) {
            self.values.push(edge_value(rows, at, &column.name)?);
        }
        Ok(())
    }

    /// Adds an edge with the data that were read.
    pub(crate) fn push(&mut self, etype: u32, ends: [u64; 2]) -> Result<()> {
        self.record.clear();
        self.record.extend(bytes_of_ends(ends));
        for (column, value) in self.columns.iter_mut().zip(&self.values) {
            column.is_whole &= matches!(value, CellValue::Whole(_));
            column.needs_double |= needs_double(*value);
            self.record.extend(bytes_of(*value));
        }
        self.edges.push(etype as usize, [&self.record, &[]])
    }

    /// Ends reading; `listed` are the edges of splits.
    pub(crate) fn divide(mut self, listed: Option<ListedEdges>) -> Result<DividedEdges> {
        self.edges.finish()?;
        let EdgeSpool { folder, edges, columns, types, .. } = self;
        Ok(DividedEdges { edges, types, columns, listed, folder })
    }
}
