//! How exactly rows are kept.

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use crate::error::Result;
use crate::kernels::{narrow_to_bf16, round_to_bf16, widen_bf16};
use crate::tensor;

/// Matrices with fewer columns are kept as they are: statistics, attention scores.
const LEAST_WIDTH: i64 = 16;

/// Elements converted at a time.
const CHUNK: usize = 1 << 20;

/// What the values of rows are rounded to that outlive an operation: in memory (where they still take their place), in
/// spill files and in messages. All of them, spilled or not, so that results do not depend on the memory budget.
///
/// Sums are accumulated, and parameters and optimizer kept, in the type the model computes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum SpillDtype {
    /// Nothing: rows stay as they are.
    #[default]
    F32,
    /// bfloat16, half the bytes; matrices of at least 16 columns in single precision.
    Bf16,
}

impl SpillDtype {
    /// Whether rows of this width and type are rounded.
    pub(crate) fn narrows(self, width: i64, kind: Kind) -> bool {
        self == SpillDtype::Bf16 && kind == Kind::Float && width >= LEAST_WIDTH
    }

    /// Rounds a matrix that nobody else has a handle on.
    pub(super) fn round(value: &mut Tensor) {
        round_to_bf16(tensor::slice_mut(value));
    }
}

/// Hands the nearest bfloat16s to `write`, piece by piece.
pub(crate) fn write_narrow(
    values: &[f32],
    mut write: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut narrow = vec![0_u16; values.len().min(CHUNK)];
    for values in values.chunks(CHUNK) {
        let narrow = &mut narrow[..values.len()];
        narrow_to_bf16(values, narrow);
        write(bytemuck::cast_slice(narrow))?;
    }
    Ok(())
}

/// Fills `values` from bfloat16s that `read` gives, piece by piece.
pub(crate) fn read_narrow(
    values: &mut [f32],
    mut read: impl FnMut(&mut [u8]) -> Result<()>,
) -> Result<()> {
    let mut narrow = vec![0_u16; values.len().min(CHUNK)];
    for values in values.chunks_mut(CHUNK) {
        let narrow = &mut narrow[..values.len()];
        read(bytemuck::cast_slice_mut(narrow))?;
        widen_bf16(narrow, values);
    }
    Ok(())
}
