//! The interface of values that can be spilled.

use bytemuck::Pod;

use super::store::{SpillReader, SpillWriter};
use crate::engine::array::{Array, ArrayLayout, Elements};
use crate::engine::packed::packed_len;
use crate::graph::{Csr, SortedEdges};
use crate::words::error::Result;

/// A value that can be written to a file and read back unchanged.
pub trait Spill: Sized + 'static {
    /// A small description that stays in memory and is needed to read the value.
    type Layout: Clone;

    /// The value in the form in which it is kept.
    #[must_use]
    fn kept(self) -> Self {
        self
    }

    /// The layout of the value in its file.
    fn layout(&self) -> Self::Layout;

    /// Memory that the value takes, in bytes.
    fn byte_len(layout: &Self::Layout) -> u64;

    /// Writes the value.
    ///
    /// # Errors
    /// If the file cannot be written (`Io`, `OutOfDisk`).
    fn save(&self, sink: &mut SpillWriter) -> Result<()>;

    /// Reads the value.
    ///
    /// # Errors
    /// If the file cannot be read (`Io`).
    fn load(layout: &Self::Layout, source: &mut SpillReader<'_>) -> Result<Self>;

    /// Packed size of the value in bytes, if it can be packed.
    fn packed_len(&self) -> Option<u64> {
        None
    }

    /// The value in the type in which it is used, if that differs from the type in which it is held.
    ///
    /// # Errors
    /// If memory for the conversion runs out.
    fn widened(&self, _: &Self::Layout) -> Result<Option<Self>> {
        Ok(None)
    }
}

/// Arrays of any element type.
impl Spill for Array {
    type Layout = ArrayLayout;

    fn layout(&self) -> ArrayLayout {
        Array::layout(self).clone()
    }

    fn byte_len(layout: &ArrayLayout) -> u64 {
        layout.byte_len().map_or(0, |bytes| bytes as u64)
    }

    fn save(&self, sink: &mut SpillWriter) -> Result<()> {
        sink.write_elements(self.bytes(), Array::layout(self).dtype.size())
    }

    fn load(layout: &ArrayLayout, source: &mut SpillReader<'_>) -> Result<Self> {
        Array::from_elements(layout, |bytes| source.read(bytes))
    }

    fn packed_len(&self) -> Option<u64> {
        packed_len(self.bytes(), Array::layout(self).dtype.size())
    }
}

/// Layout of a [`Csr`] in its file.
#[derive(Clone, Copy)]
struct CsrLayout {
    num_rows: usize,
    num_cols: usize,
    stored_rows: usize,
    entries: usize,
}

impl CsrLayout {
    fn new(csr: &Csr) -> Self {
        CsrLayout {
            num_rows: csr.num_rows(),
            num_cols: csr.num_cols(),
            stored_rows: csr.rows().len(),
            entries: csr.num_entries(),
        }
    }

    fn bytes(&self) -> u64 {
        (self.stored_rows * 8 + 4 + self.entries * 4) as u64
    }

    fn load(&self, source: &mut SpillReader<'_>) -> Result<Csr> {
        let rows = load_vec(self.stored_rows, source)?;
        let indptr = load_vec(self.stored_rows + 1, source)?;
        let indices = load_vec(self.entries, source)?;
        Ok(Csr::from_parts(self.num_rows, self.num_cols, rows, indptr, indices))
    }
}

fn load_vec<T: Pod>(len: usize, source: &mut SpillReader<'_>) -> Result<Vec<T>> {
    let mut values = vec![T::zeroed(); len];
    source.read(bytemuck::cast_slice_mut(&mut values))?;
    Ok(values)
}

fn save_column<T: Pod>(values: Option<&Vec<T>>, sink: &mut SpillWriter) -> Result<()> {
    values.map_or(Ok(()), |values| sink.write(bytemuck::cast_slice(values)))
}

/// Layout of [`SortedEdges`] in their file.
#[derive(Clone, Copy)]
pub struct EdgesLayout {
    ends: CsrLayout,
    weights: bool,
    types: bool,
    edge_ids: bool,
}

impl EdgesLayout {
    pub(super) fn num_rows(&self) -> usize {
        self.ends.num_rows
    }

    pub(super) fn num_edges(&self) -> usize {
        self.ends.entries
    }
}

impl Spill for SortedEdges {
    type Layout = EdgesLayout;

    fn layout(&self) -> EdgesLayout {
        EdgesLayout {
            ends: CsrLayout::new(&self.ends),
            weights: self.weights.is_some(),
            types: self.types.is_some(),
            edge_ids: self.edge_ids.is_some(),
        }
    }

    fn byte_len(layout: &EdgesLayout) -> u64 {
        let EdgesLayout { ends, weights, types, edge_ids } = *layout;
        let per_edge = 4 * u64::from(weights) + 2 * u64::from(types) + 8 * u64::from(edge_ids);
        ends.bytes() + per_edge * ends.entries as u64
    }

    fn save(&self, sink: &mut SpillWriter) -> Result<()> {
        sink.write(bytemuck::cast_slice(self.ends.rows()))?;
        sink.write(bytemuck::cast_slice(self.ends.indptr()))?;
        sink.write(bytemuck::cast_slice(self.ends.indices()))?;
        save_column(self.weights.as_ref(), sink)?;
        save_column(self.types.as_ref(), sink)?;
        save_column(self.edge_ids.as_ref(), sink)
    }

    fn load(layout: &EdgesLayout, source: &mut SpillReader<'_>) -> Result<Self> {
        let edges = layout.ends.entries;
        Ok(SortedEdges {
            ends: layout.ends.load(source)?,
            weights: layout.weights.then(|| load_vec(edges, source)).transpose()?,
            types: layout.types.then(|| load_vec(edges, source)).transpose()?,
            edge_ids: layout.edge_ids.then(|| load_vec(edges, source)).transpose()?,
        })
    }
}

/// A list of rows.
impl Spill for Vec<u32> {
    type Layout = usize;

    fn layout(&self) -> usize {
        self.len()
    }

    fn byte_len(layout: &usize) -> u64 {
        4 * *layout as u64
    }

    fn save(&self, sink: &mut SpillWriter) -> Result<()> {
        sink.write(bytemuck::cast_slice(self))
    }

    fn load(layout: &usize, source: &mut SpillReader<'_>) -> Result<Self> {
        load_vec(*layout, source)
    }
}
