//! Spilling of libtorch's tensors.

use half::bf16;
use rayon::prelude::*;
use tch::{Kind, Tensor};

use super::pointer::Pointer;
use super::shard::ShardPointer;
use super::store::{SpillReader, SpillWriter};
use super::value::Spill;
use crate::engine::packed::packed_len;
use crate::engine::tensor;
use crate::io::Dtype;
use crate::kernels::{narrow_to_bf16, widen_bf16};
use crate::words::error::Result;

/// Number of elements that a thread converts at a time.
const BLOCK: usize = 1 << 16;

/// A tensor that is resident or spilled; contiguous, on the CPU.
pub type PointerTensor = Pointer<Tensor>;

impl PointerTensor {
    /// The tensor's shape.
    pub fn size(&self) -> &[i64] {
        &self.layout().shape
    }

    /// Element type in which the tensor is used.
    pub fn kind(&self) -> Kind {
        self.layout().kind
    }

    /// Element type in which the tensor is held: [`kind`](Self::kind), or bfloat16.
    pub fn held_kind(&self) -> Kind {
        self.layout().held
    }

    /// A narrower element type that represents all values exactly, if one is known.
    pub fn exact_dtype(&self) -> Option<Dtype> {
        self.layout().exact
    }

    /// The value for changes in place, in the type in which it is held, or in which it is used. It is a copy if other
    /// handles exist.
    pub(crate) fn into_tensor(self, as_held: bool) -> Result<Tensor> {
        match (self.is_unique(), as_held) {
            (true, true) => self.take_held(),
            (true, false) => self.take(),
            (false, true) => tensor::copy(&*self.pin_held()?),
            (false, false) => {
                let held = self.pin_held()?;
                held.widened(self.layout())?.map_or_else(|| tensor::copy(&held), Ok)
            }
        }
    }
}

/// Layout of a tensor in memory and in its file.
#[derive(Clone)]
pub struct TensorLayout {
    pub(super) shape: Vec<i64>,
    /// Element type in which the tensor is used.
    pub(super) kind: Kind,
    /// Element type in which the tensor is held.
    pub(super) held: Kind,
    /// A narrower type that represents all values exactly.
    pub(super) exact: Option<Dtype>,
    /// The entries other than zero, if the tensor is held as these.
    pub(super) entries: Option<ShardPointer>,
}

/// Contiguous CPU tensors of any element type.
impl Spill for Tensor {
    type Layout = TensorLayout;

    fn kept(self) -> Self {
        // Without memory for a copy, the next use of the value fails.
        if self.is_contiguous() { self } else { self.f_contiguous().unwrap_or(self) }
    }

    fn layout(&self) -> TensorLayout {
        let (shape, kind) = (self.size(), self.kind());
        TensorLayout { shape, kind, held: kind, exact: None, entries: None }
    }

    fn byte_len(layout: &TensorLayout) -> u64 {
        tensor::byte_len(&layout.shape, layout.held) as u64
    }

    fn save(&self, sink: &mut SpillWriter) -> Result<()> {
        sink.write_elements(&tensor::bytes(self), self.kind().elt_size_in_bytes())
    }

    fn load(layout: &TensorLayout, source: &mut SpillReader<'_>) -> Result<Self> {
        let mut value = tensor::empty(&layout.shape, layout.held)?;
        source.read(&mut tensor::bytes_mut(&mut value))?;
        Ok(value)
    }

    fn packed_len(&self) -> Option<u64> {
        packed_len(&tensor::bytes(self), self.kind().elt_size_in_bytes())
    }

    fn widened(&self, layout: &TensorLayout) -> Result<Option<Self>> {
        (layout.held != layout.kind).then(|| converted(self, layout.kind)).transpose()
    }
}

/// Masks of the nodes for losses and metrics: `bool` tensors with one element per label.
#[derive(Clone)]
pub struct Masks {
    /// The training nodes.
    pub train: PointerTensor,
    /// The validation nodes.
    pub val: PointerTensor,
    /// The test nodes.
    pub test: PointerTensor,
}

/// Converts a matrix from single precision to bfloat16, or back.
pub(super) fn converted(value: &Tensor, kind: Kind) -> Result<Tensor> {
    let mut converted = tensor::empty(&value.size(), kind)?;
    if kind == Kind::BFloat16 {
        let mut narrow = tensor::slice_mut::<bf16>(&mut converted);
        narrow_to_bf16(&tensor::slice(value), bytemuck::cast_slice_mut(&mut narrow));
    } else {
        let (narrow, mut wide) = (tensor::slice::<bf16>(value), tensor::slice_mut(&mut converted));
        let narrow: &[u16] = bytemuck::cast_slice(&narrow);
        let blocks = narrow.par_chunks(BLOCK).zip(wide.par_chunks_mut(BLOCK));
        blocks.for_each(|(narrow, wide)| widen_bf16(narrow, wide));
    }
    Ok(converted)
}
