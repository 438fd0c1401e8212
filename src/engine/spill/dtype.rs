//! The precision in which rows are kept.

use serde::{Deserialize, Serialize};

use crate::io::Dtype;
use crate::kernels::{narrow_to_bf16, widen_bf16};
use crate::words::choice::choices;
use crate::words::error::Result;

/// Minimum number of columns of matrices that are rounded. Narrower ones, such as statistics and attention scores, keep
/// their type.
const LEAST_WIDTH: i64 = 16;

/// Number of elements converted at a time.
const CHUNK: usize = 1 << 20;

choices! {
    /// Type in which rows that outlive an operation are held: in memory, spill files and messages. It applies to rows
    /// whether or not they are spilled, so that results do not depend on the memory budget.
    ///
    /// Sums, parameters and optimizer state keep the type that the model computes in.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum SpillDtype {
        /// The type the model computes in
        @default F32 = "f32",
        /// bfloat16, half the bytes; matrices of fewer than 16 columns stay in single precision
        Bf16 = "bf16",
    }
}

impl SpillDtype {
    /// Whether single-precision rows of this width are rounded.
    pub fn narrows(self, width: i64) -> bool {
        self == SpillDtype::Bf16 && width >= LEAST_WIDTH
    }
}

choices! {
    /// Type of computations in layers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ComputeDtype {
        /// Single precision
        @default F32 = "f32",
        /// bfloat16 for all rows and for weights in products; sums, parameters, optimizer state, losses, statistics and
        /// attention scores stay in single precision
        Bf16 = "bf16",
    }
}

/// Converts values to the narrower type, rounding to nearest, and passes them to `write` in chunks.
///
/// # Errors
/// If `write` fails.
pub fn write_narrow(
    values: &[f32],
    dtype: Dtype,
    mut write: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut narrow = vec![0; values.len().min(CHUNK) * dtype.size()];
    for values in values.chunks(CHUNK) {
        let narrow = &mut narrow[..values.len() * dtype.size()];
        match dtype {
            Dtype::BF16 => narrow_to_bf16(values, bytemuck::cast_slice_mut(narrow)),
            _ => dtype.from_f32(values, narrow),
        }
        write(narrow)?;
    }
    Ok(())
}

/// Fills `values` from chunks of a narrower type that `read` provides.
///
/// # Errors
/// If `read` fails.
pub fn read_narrow(
    values: &mut [f32],
    dtype: Dtype,
    mut read: impl FnMut(&mut [u8]) -> Result<()>,
) -> Result<()> {
    let mut narrow = vec![0; values.len().min(CHUNK) * dtype.size()];
    for values in values.chunks_mut(CHUNK) {
        let narrow = &mut narrow[..values.len() * dtype.size()];
        read(narrow)?;
        match dtype {
            Dtype::BF16 => widen_bf16(bytemuck::cast_slice(narrow), values),
            _ => dtype.to_f32(narrow, values),
        }
    }
    Ok(())
}
