//! Moving node tables to their nodes' places.

use std::path::Path;

use super::node_map::NodeMap;
use super::progress::Meter;
use super::row_scatter::RowScatter;
use crate::formats::dgl::writer::{FeatureSpec, PartitionWriter};
use crate::graph::PartitionBook;
use crate::prepare::import::{RawGraph, Table};
use crate::words::error::Result;

/// Number of bytes of a table read at a time.
pub(super) const BLOCK: u64 = 4 << 20;

/// Writes `node_feat.dgl` and `orig_nids.dgl` of every partition.
pub(super) fn write_node_tables(
    writer: &PartitionWriter,
    graph: &RawGraph,
    map: &NodeMap,
    book: &PartitionBook,
    folder: &Path,
    memory: u64,
    meter: &mut Meter<'_, '_>,
) -> Result<()> {
    let places = Places { map, book, first_nodes: graph.first_nodes() };
    let (mut specs, mut tables, mut originals) = (Vec::new(), Vec::new(), Vec::new());
    for (ty, ntype) in graph.ntypes.iter().enumerate() {
        let counts = || places.counts(ty);
        for (name, table) in &ntype.data {
            specs.push(spec(ty, name, table));
            let mut scatter = RowScatter::create(folder, table.row_bytes(), counts(), memory)?;
            scatter_rows(table, &mut scatter, |row| places.of(ty, row), meter)?;
            tables.push(scatter);
        }
        let mut scatter = RowScatter::create(folder, size_of::<u64>(), counts(), memory)?;
        let mut node = 0;
        ntype.original_ids(|ids| {
            for id in ids {
                meter.add(size_of::<u64>() as u64)?;
                scatter.push(places.of(ty, node), &id.to_le_bytes())?;
                node += 1;
            }
            Ok(())
        })?;
        scatter.finish()?;
        originals.push(scatter);
    }
    for part in 0..book.num_parts() {
        let mut file = writer.node_features(part, &specs)?;
        for (array, table) in file.arrays().iter_mut().zip(&tables) {
            table.read(part, |rows| array.append_bytes(rows))?;
        }
        file.finish()?;
        let mut file = writer.original_node_ids(part)?;
        for (array, ids) in file.arrays().iter_mut().zip(&originals) {
            ids.read(part, |rows| array.append_bytes(rows))?;
        }
        file.finish()?;
    }
    Ok(())
}

/// The stored form of a table.
pub(super) fn spec(ty: usize, name: &str, table: &Table) -> FeatureSpec {
    let row_shape = table.row_shape().to_vec();
    FeatureSpec { ty, name: name.to_owned(), dtype: table.dtype(), row_shape }
}

/// New type-wise ids of nodes.
struct Places<'a> {
    map: &'a NodeMap,
    book: &'a PartitionBook,
    first_nodes: Vec<u64>,
}

impl Places<'_> {
    fn of(&self, ty: usize, node: u64) -> u64 {
        let id = self.map.get(self.first_nodes[ty] + node);
        // Every id of the map is in the book.
        self.book.to_per_type(id).map_or(0, |(_, id)| id)
    }

    fn counts(&self, ty: usize) -> impl Iterator<Item = u64> {
        let ranges =
            (0..self.book.num_parts()).map(move |part| self.book.node_type_range(part, ty));
        ranges.map(|range| range.end - range.start)
    }
}

fn scatter_rows(
    table: &Table,
    scatter: &mut RowScatter,
    place: impl Fn(u64) -> u64,
    meter: &mut Meter<'_, '_>,
) -> Result<()> {
    let row_bytes = table.row_bytes();
    let step = (BLOCK / row_bytes.max(1) as u64).max(1);
    let mut rows = Vec::new();
    for first in (0..table.num_rows()).step_by(step as usize) {
        let end = table.num_rows().min(first + step);
        rows.resize((end - first) as usize * row_bytes, 0);
        table.read_rows(first..end, &mut rows)?;
        meter.add(rows.len() as u64)?;
        for (at, row) in (first..end).enumerate() {
            scatter.push(place(row), &rows[at * row_bytes..][..row_bytes])?;
        }
    }
    scatter.finish()
}
