//! What can be spilled.

use bytemuck::Pod;
use tch::{Kind, Tensor};

use super::dtype::converted;
use super::store::{SpillReader, SpillWriter};
use crate::error::Result;
use crate::graph::{Csr, GraphShard, PerEdge};
use crate::tensor;

/// A value that can be written to a file and read back the same.
pub trait Spill: Sized + 'static {
    /// What stays in memory so that the value can be brought back: small.
    type Layout: Clone;

    /// How the value lies in its file.
    fn layout(&self) -> Self::Layout;

    /// How many bytes the value takes in memory.
    fn byte_len(layout: &Self::Layout) -> u64;

    /// Writes the value.
    fn save(&self, layout: &Self::Layout, sink: &mut SpillWriter) -> Result<()>;

    /// Reads the value.
    fn load(layout: &Self::Layout, source: &mut SpillReader<'_>) -> Result<Self>;

    /// The value as it is worked on, where it is held in another way.
    fn widened(&self, _: &Self::Layout) -> Result<Option<Self>> {
        Ok(None)
    }
}

/// How a tensor lies in memory and in its file.
#[derive(Debug, Clone)]
pub struct TensorLayout {
    pub(super) shape: Vec<i64>,
    /// The element type it is worked on in.
    pub(super) kind: Kind,
    /// The element type it is held in.
    pub(super) held: Kind,
}

/// Contiguous CPU tensors of any element type.
impl Spill for Tensor {
    type Layout = TensorLayout;

    fn layout(&self) -> TensorLayout {
        TensorLayout { shape: self.size(), kind: self.kind(), held: self.kind() }
    }

    fn byte_len(layout: &TensorLayout) -> u64 {
        tensor::byte_len(&layout.shape, layout.held) as u64
    }

    fn save(&self, _: &TensorLayout, sink: &mut SpillWriter) -> Result<()> {
        sink.write(tensor::bytes(self))
    }

    fn load(layout: &TensorLayout, source: &mut SpillReader<'_>) -> Result<Self> {
        let mut value = tensor::empty(&layout.shape, layout.held)?;
        source.read(tensor::bytes_mut(&mut value))?;
        Ok(value)
    }

    fn widened(&self, layout: &TensorLayout) -> Result<Option<Self>> {
        (layout.held != layout.kind).then(|| converted(self, layout.kind)).transpose()
    }
}

/// How a [`Csr`] lies in its file: rows and columns of the matrix, stored rows, entries.
type CsrLayout = (usize, usize, usize, usize);

fn csr_layout(csr: &Csr) -> CsrLayout {
    (csr.num_rows(), csr.num_cols(), csr.rows().len(), csr.num_entries())
}

fn csr_bytes((_, _, rows, entries): CsrLayout) -> u64 {
    (rows * 12 + 8 + entries * 4) as u64
}

fn save_csr(csr: &Csr, sink: &mut SpillWriter) -> Result<()> {
    sink.write(bytemuck::cast_slice(csr.rows()))?;
    sink.write(bytemuck::cast_slice(csr.indptr()))?;
    sink.write(bytemuck::cast_slice(csr.indices()))
}

fn load_csr(
    (num_rows, num_cols, rows, entries): CsrLayout,
    source: &mut SpillReader<'_>,
) -> Result<Csr> {
    let rows_part = load_vec::<u32>(rows, source)?;
    let indptr = load_vec::<u64>(rows + 1, source)?;
    let indices = load_vec::<u32>(entries, source)?;
    Ok(Csr::from_parts((num_rows, num_cols), rows_part, indptr, indices))
}

fn load_vec<T: Pod>(len: usize, source: &mut SpillReader<'_>) -> Result<Vec<T>> {
    let mut values = vec![T::zeroed(); len];
    source.read(bytemuck::cast_slice_mut(&mut values))?;
    Ok(values)
}

fn save_per_edge<T: Pod>(values: Option<&PerEdge<T>>, sink: &mut SpillWriter) -> Result<()> {
    let Some(PerEdge { by_dst, by_src }) = values else { return Ok(()) };
    sink.write(bytemuck::cast_slice(by_dst))?;
    sink.write(bytemuck::cast_slice(by_src))
}

fn load_per_edge<T: Pod>(
    there: bool,
    edges: usize,
    source: &mut SpillReader<'_>,
) -> Result<Option<PerEdge<T>>> {
    if !there {
        return Ok(None);
    }
    Ok(Some(PerEdge { by_dst: load_vec(edges, source)?, by_src: load_vec(edges, source)? }))
}

/// How a [`GraphShard`] lies in its file.
#[derive(Clone, Copy)]
pub struct ShardLayout {
    source: usize,
    by_dst: CsrLayout,
    by_src: CsrLayout,
    weights: bool,
    types: bool,
    feature_rows: bool,
}

impl Spill for GraphShard {
    type Layout = ShardLayout;

    fn layout(&self) -> ShardLayout {
        ShardLayout {
            source: self.source,
            by_dst: csr_layout(&self.by_dst),
            by_src: csr_layout(&self.by_src),
            weights: self.weights.is_some(),
            types: self.types.is_some(),
            feature_rows: self.feature_rows.is_some(),
        }
    }

    fn byte_len(layout: &ShardLayout) -> u64 {
        let ShardLayout { by_dst, by_src, weights, types, feature_rows, .. } = *layout;
        let rows = 8 * u64::from(feature_rows);
        let per_edge = 8 * u64::from(weights) + 4 * u64::from(types) + rows;
        csr_bytes(by_dst) + csr_bytes(by_src) + per_edge * by_dst.3 as u64
    }

    fn save(&self, _: &ShardLayout, sink: &mut SpillWriter) -> Result<()> {
        save_csr(&self.by_dst, sink)?;
        save_csr(&self.by_src, sink)?;
        save_per_edge(self.weights.as_ref(), sink)?;
        save_per_edge(self.types.as_ref(), sink)?;
        self.feature_rows.as_ref().map_or(Ok(()), |rows| sink.write(bytemuck::cast_slice(rows)))
    }

    fn load(layout: &ShardLayout, source: &mut SpillReader<'_>) -> Result<Self> {
        let edges = layout.by_dst.3;
        Ok(GraphShard {
            source: layout.source,
            by_dst: load_csr(layout.by_dst, source)?,
            by_src: load_csr(layout.by_src, source)?,
            weights: load_per_edge(layout.weights, edges, source)?,
            types: load_per_edge(layout.types, edges, source)?,
            feature_rows: layout.feature_rows.then(|| load_vec(edges, source)).transpose()?,
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

    fn save(&self, _: &usize, sink: &mut SpillWriter) -> Result<()> {
        sink.write(bytemuck::cast_slice(self))
    }

    fn load(layout: &usize, source: &mut SpillReader<'_>) -> Result<Self> {
        load_vec(*layout, source)
    }
}
