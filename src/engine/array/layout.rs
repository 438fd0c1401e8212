//! Element type and shape.

use std::fmt;

use crate::io::Dtype;

/// Element type and shape of an array. Elements are contiguous, the last index runs fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayLayout {
    /// The element type.
    pub dtype: Dtype,
    /// The number of elements along each dimension.
    pub shape: Vec<i64>,
}

impl ArrayLayout {
    /// Makes a layout of this type and shape.
    pub fn new(dtype: Dtype, shape: &[i64]) -> Self {
        ArrayLayout { dtype, shape: shape.to_vec() }
    }

    /// The size of the elements in bytes; `None` for a negative dimension, and for more bytes than can be addressed.
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
