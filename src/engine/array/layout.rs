//! Element type and shape.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::io::Dtype;

/// Element type and shape of an array. Elements are contiguous, in row-major order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayLayout {
    /// The element type.
    pub dtype: Dtype,
    /// Size of each dimension.
    pub shape: Vec<i64>,
}

impl ArrayLayout {
    /// Creates a layout of this type and shape.
    pub fn new(dtype: Dtype, shape: &[i64]) -> Self {
        ArrayLayout { dtype, shape: shape.to_vec() }
    }

    /// Size of the elements in bytes; `None` if a dimension is negative or the size exceeds the address space.
    pub fn byte_len(&self) -> Option<usize> {
        let times = |bytes: usize, size: &i64| bytes.checked_mul(usize::try_from(*size).ok()?);
        let bytes = self.shape.iter().try_fold(self.dtype.size(), times)?;
        isize::try_from(bytes).is_ok().then_some(bytes)
    }
}

impl fmt::Display for ArrayLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.dtype, self.shape)
    }
}
