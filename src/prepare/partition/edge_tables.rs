//! Moving edge tables to their edges' places.

use std::path::Path;

use half::{bf16, f16};

use super::final_edges::{EdgeRows, FinalEdges};
use super::node_tables::{BLOCK, spec};
use super::progress::Meter;
use super::row_scatter::RowScatter;
use crate::formats::dgl::writer::PartitionWriter;
use crate::graph::PartitionBook;
use crate::io::Dtype;
use crate::prepare::import::{RawGraph, Table};
use crate::words::error::Result;

/// Writes `edge_feat.dgl` and `orig_eids.dgl` of every partition.
pub(super) fn write_edge_tables(
    writer: &PartitionWriter,
    graph: &RawGraph,
    edges: &FinalEdges,
    rows: Vec<Option<EdgeRows>>,
    book: &PartitionBook,
    folder: &Path,
    memory: u64,
    meter: &mut Meter<'_, '_>,
) -> Result<()> {
    let (mut specs, mut scatters) = (Vec::new(), Vec::new());
    for ((ty, etype), rows) in graph.etypes.iter().enumerate().zip(rows) {
        let Some(rows) = rows else { continue };
        let mut tables = Vec::new();
        for (name, table) in &etype.data {
            specs.push(spec(ty, name, table));
            let counts = edges.counts.iter().map(|counts| counts[ty]);
            let share = memory / etype.data.len() as u64;
            tables.push(MovingTable {
                table,
                scatter: RowScatter::create(folder, table.row_bytes(), counts, share)?,
                block: BLOCK / etype.data.len() as u64,
                first: 0,
                rows: Vec::new(),
            });
        }
        let mut sorted = rows.finish()?;
        while let Some([row, place]) = sorted.next()? {
            for table in &mut tables {
                meter.add(table.table.row_bytes() as u64)?;
                table.push(row, place)?;
            }
        }
        for mut table in tables {
            table.scatter.finish()?;
            scatters.push(table.scatter);
        }
    }
    for part in 0..book.num_parts() {
        let mut file = writer.edge_features(part, &specs)?;
        for (array, scatter) in file.arrays().iter_mut().zip(&scatters) {
            scatter.read(part, |rows| array.append_bytes(rows))?;
        }
        file.finish()?;
        let mut file = writer.original_edge_ids(part)?;
        for (etype, array) in file.arrays().iter_mut().enumerate() {
            edges.original_ids(part, etype, |ids| {
                ids.iter().try_for_each(|id| array.append_bytes(&id.to_le_bytes()))
            })?;
        }
        file.finish()?;
    }
    Ok(())
}

/// A table whose rows are taken in ascending order, some of them repeatedly.
struct MovingTable<'a> {
    table: &'a Table,
    scatter: RowScatter,
    /// Bytes of rows that are held, unless a single row takes more.
    block: u64,
    /// First row in memory.
    first: u64,
    rows: Vec<u8>,
}

impl MovingTable<'_> {
    /// Appends a row. A row beyond the last stands for ones, which DGL's `add_self_loop` gives its edges.
    fn push(&mut self, row: u64, place: u64) -> Result<()> {
        let row_bytes = self.table.row_bytes();
        if row == self.table.num_rows() {
            let one = one(self.table.dtype());
            return self.scatter.push(place, &one.repeat(row_bytes / one.len()));
        }
        if self.rows.len() < (row - self.first + 1) as usize * row_bytes {
            self.first = row;
            let end =
                self.table.num_rows().min(row + (self.block / row_bytes.max(1) as u64).max(1));
            self.rows.resize((end - row) as usize * row_bytes, 0);
            self.table.read_rows(row..end, &mut self.rows)?;
        }
        let at = (row - self.first) as usize * row_bytes;
        self.scatter.push(place, &self.rows[at..at + row_bytes])
    }
}

/// The bytes of the number 1.
fn one(dtype: Dtype) -> Vec<u8> {
    match dtype {
        Dtype::I8 | Dtype::U8 | Dtype::Bool => vec![1],
        Dtype::I16 | Dtype::U16 => 1u16.to_le_bytes().to_vec(),
        Dtype::I32 | Dtype::U32 => 1u32.to_le_bytes().to_vec(),
        Dtype::I64 | Dtype::U64 => 1u64.to_le_bytes().to_vec(),
        Dtype::F16 => f16::ONE.to_le_bytes().to_vec(),
        Dtype::BF16 => bf16::ONE.to_le_bytes().to_vec(),
        Dtype::F32 => 1f32.to_le_bytes().to_vec(),
        Dtype::F64 => 1f64.to_le_bytes().to_vec(),
    }
}
