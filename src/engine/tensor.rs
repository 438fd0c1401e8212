//! The bridge between libtorch tensors and slices.
//!
//! Kernels, spill files and messages work on slices; libtorch works on tensors. Only this file accesses a tensor's
//! memory.
#![allow(unsafe_code)] // casts of a tensor's memory to a slice, and views from several threads

mod lease;

use std::ops::Range;

use bytemuck::Pod;
use half::bf16;
use rayon::prelude::*;
use tch::{Device, Kind, TchError, Tensor};

use self::lease::{Slice, SliceMut};
use crate::platform::blocks::HUGE;
use crate::words::error::{Error, ErrorKind, Result};

impl From<TchError> for Error {
    fn from(error: TchError) -> Self {
        // The rest is a trace of C++ frames.
        let text = error.to_string();
        let message = text.split("\nException raised from").next().unwrap_or_default();
        let message = message.trim().replace('\n', " ");
        Error::new(ErrorKind::Tensor, format!("libtorch: {message}"))
    }
}

/// Runs an expression with a type alias for the element type of a tensor kind that models compute in.
macro_rules! with_real {
    ($kind:expr, $T:ident => $body:expr) => {
        match $kind {
            tch::Kind::Float => {
                type $T = f32;
                $body
            }
            tch::Kind::Double => {
                type $T = f64;
                $body
            }
            other => Err($crate::Error::internal(format!("kernels do not support {other:?}"))),
        }
    };
}
pub(crate) use with_real;

/// Runs an expression with a type alias for the element type of a matrix that kernels read and write: a type that
/// models compute in, or bfloat16.
macro_rules! with_element {
    ($kind:expr, $E:ident => $body:expr) => {
        match $kind {
            tch::Kind::BFloat16 => {
                type $E = half::bf16;
                $body
            }
            kind => $crate::engine::tensor::with_real!(kind, $E => $body),
        }
    };
}
pub(crate) use with_element;

/// A Rust type with the layout of a tensor's elements. (tch represents bfloat16 as `half`.)
pub(crate) trait TensorElement: Pod {
    /// The element type of such tensors.
    const KIND: Kind;
}

macro_rules! tensor_elements {
    ($($T:ty => $kind:ident),*) => {
        $(impl TensorElement for $T {
            const KIND: Kind = Kind::$kind;
        })*
    };
}

tensor_elements!(bf16 => BFloat16, f32 => Float, f64 => Double, u8 => Uint8, i32 => Int, i64 => Int64);

/// An uninitialised CPU tensor.
pub(crate) fn empty(shape: &[i64], kind: Kind) -> Result<Tensor> {
    let tensor = Tensor::f_empty(shape, (kind, Device::Cpu))?;
    ask_for_huge_pages(&tensor);
    Ok(tensor)
}

/// A CPU tensor of zeros.
pub(crate) fn zeros(shape: &[i64], kind: Kind) -> Result<Tensor> {
    let mut tensor = empty(shape, kind)?;
    bytes_mut(&mut tensor).par_chunks_mut(BLOCK_BYTES).for_each(|block| block.fill(0));
    Ok(tensor)
}

/// `sum += x`; both have the same shape and the same real kind.
pub(crate) fn add(sum: &mut Tensor, x: &Tensor) -> Result<()> {
    let x = x.f_contiguous()?;
    with_real!(sum.kind(), T => {
        let block = BLOCK_BYTES / size_of::<T>();
        let (mut sum, x) = (slice_mut::<T>(sum), slice::<T>(&x));
        let blocks = sum.par_chunks_mut(block).zip(x.par_chunks(block));
        blocks.for_each(|(sum, x)| sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += x));
        Ok(())
    })
}

/// Requests huge pages where the system provides them on request, which makes finding and mapping the rows of a large
/// tensor several times faster.
fn ask_for_huge_pages(tensor: &Tensor) {
    const PAGE: usize = 4 << 10;
    let begin = tensor.data_ptr() as usize;
    // A block that the allocator has mapped separately begins with a few bytes of the allocator's header.
    let first = begin.saturating_sub(PAGE).next_multiple_of(HUGE);
    let end = (begin + check(tensor)) / HUGE * HUGE;
    if first < end {
        // SAFETY: the range lies inside the tensor's own memory, whose contents the advice does not change. The call only fails
        // where there are no huge pages.
        let _ = unsafe {
            rustix::mm::madvise(first as *mut _, end - first, rustix::mm::Advice::LinuxHugepage)
        };
    }
}

/// A copy in separate memory.
pub(crate) fn copy(tensor: &Tensor) -> Result<Tensor> {
    let mut copy = empty(&tensor.size(), tensor.kind())?;
    let tensor = tensor.f_contiguous()?;
    {
        let (mut copy, tensor) = (bytes_mut(&mut copy), bytes(&tensor));
        let blocks = copy.par_chunks_mut(BLOCK_BYTES).zip(tensor.par_chunks(BLOCK_BYTES));
        blocks.for_each(|(y, x)| y.copy_from_slice(x));
    }
    Ok(copy)
}

/// The index of the first element of a contiguous tensor of real numbers that is NaN or infinite.
pub(crate) fn first_not_finite(values: &Tensor) -> Option<usize> {
    match values.kind() {
        Kind::Double => crate::io::first_not_finite_f64(&slice(values)),
        _ => crate::io::first_not_finite(&slice(values)),
    }
}

/// Number of rows that a thread works on at a time: large enough to be efficient, small enough for a cache and for
/// balanced threads. It is fixed, so that sums over blocks do not depend on the number of threads.
pub(crate) const BLOCK_ROWS: i64 = 1024;

/// Number of bytes that a thread works on at a time, if rows do not matter.
const BLOCK_BYTES: usize = 1 << 18;

/// Runs `work(start, length)` on blocks of `rows` rows, in parallel; results are in order.
///
/// This replaces libtorch's own threads, which spin between operations, even in parked workers. Each block is a
/// single-threaded operation on a view.
pub(crate) fn map_row_blocks<R: Send>(
    rows: i64,
    work: impl Fn(i64, i64) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let starts: Vec<i64> = (0..rows).step_by(BLOCK_ROWS as usize).collect();
    starts.into_par_iter().map(|start| work(start, BLOCK_ROWS.min(rows - start))).collect()
}

/// A tensor that several threads take views of.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a>(pub(crate) &'a Tensor);

// SAFETY: a view is made by a function that only reads the tensor's metadata and counts references atomically, which libtorch
// allows from several threads at once. Threads write through views of disjoint blocks of rows only.
unsafe impl Sync for Shared<'_> {}
// SAFETY: as above; moving the reference to another thread is sharing it.
unsafe impl Send for Shared<'_> {}

impl Shared<'_> {
    /// A view of a block of rows.
    pub(crate) fn rows(self, start: i64, len: i64) -> Result<Tensor> {
        Ok(self.0.f_narrow(0, start, len)?)
    }

    /// A block of rows in the type of computations: bfloat16 is widened.
    pub(crate) fn wide_rows(self, start: i64, len: i64) -> Result<Tensor> {
        let rows = self.rows(start, len)?;
        Ok(if rows.kind() == Kind::BFloat16 { rows.f_to_kind(Kind::Float)? } else { rows })
    }

    /// A view of the whole tensor.
    pub(crate) fn whole(self) -> Tensor {
        self.0.shallow_clone()
    }
}

/// Size of a tensor's elements, in bytes.
pub(crate) fn byte_len(shape: &[i64], kind: Kind) -> usize {
    shape.iter().product::<i64>() as usize * kind.elt_size_in_bytes()
}

/// The elements of a contiguous CPU tensor as bytes.
///
/// # Panics
/// As [`slice()`].
pub(crate) fn bytes(tensor: &Tensor) -> Slice<'_, u8> {
    Slice::new(memory(tensor), || raw_bytes(tensor))
}

/// The elements of a contiguous CPU tensor as mutable bytes.
///
/// # Panics
/// As [`slice_mut`].
pub(crate) fn bytes_mut(tensor: &mut Tensor) -> SliceMut<'_, u8> {
    SliceMut::new(memory(tensor), || raw_bytes_mut(tensor))
}

/// The elements of a contiguous CPU tensor of `T`.
///
/// # Panics
/// If a mutable slice of the memory exists, through any handle.
pub(crate) fn slice<T: TensorElement>(tensor: &Tensor) -> Slice<'_, T> {
    assert_eq!(tensor.kind(), T::KIND, "a tensor of another element type");
    // An empty tensor's bytes have no particular address, so they may not be aligned for T.
    let elements =
        || if tensor.numel() == 0 { &[] } else { bytemuck::cast_slice(raw_bytes(tensor)) };
    Slice::new(memory(tensor), elements)
}

/// The elements of a contiguous CPU tensor of `T`, mutable.
///
/// # Panics
/// If a slice of the memory exists, through any handle.
pub(crate) fn slice_mut<T: TensorElement>(tensor: &mut Tensor) -> SliceMut<'_, T> {
    assert_eq!(tensor.kind(), T::KIND, "a tensor of another element type");
    SliceMut::new(memory(tensor), || match tensor.numel() {
        0 => &mut [],
        _ => bytemuck::cast_slice_mut(raw_bytes_mut(tensor)),
    })
}

/// Address range of a tensor's elements.
fn memory(tensor: &Tensor) -> Range<usize> {
    let begin = tensor.data_ptr() as usize;
    begin..begin + check(tensor)
}

/// Bytes of a tensor whose memory is leased.
fn raw_bytes(tensor: &Tensor) -> &[u8] {
    let len = check(tensor);
    if len == 0 {
        return &[];
    }
    // SAFETY: `check` asserts that the tensor is contiguous and on the CPU, so `len` bytes lie at `data_ptr`; they live as long
    // as the tensor, which the result borrows; every byte pattern is a valid u8; the lease excludes slices that write them.
    unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast(), len) }
}

/// Mutable bytes of a tensor whose memory is leased.
fn raw_bytes_mut(tensor: &mut Tensor) -> &mut [u8] {
    let len = check(tensor);
    if len == 0 {
        return &mut [];
    }
    // SAFETY: as in `raw_bytes`; the lease excludes all other slices of the memory, through whatever handle.
    unsafe { std::slice::from_raw_parts_mut(tensor.data_ptr().cast(), len) }
}

fn check(tensor: &Tensor) -> usize {
    assert!(tensor.device() == Device::Cpu, "a tensor that is not in main memory");
    assert!(tensor.is_contiguous(), "a tensor that is not contiguous");
    tensor.numel() * tensor.kind().elt_size_in_bytes()
}
