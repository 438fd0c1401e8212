//! The interface between arrays and collectives.

use super::layout::ArrayLayout;
use crate::words::error::Result;

/// An array in main memory: [`Array`](super::Array) or, with the cargo feature `torch`, a `tch::Tensor`. Implement it
/// for another library's arrays to send them through collectives.
pub trait Elements: Sized {
    /// Element type and shape.
    ///
    /// # Errors
    /// If messages do not support the element type.
    fn array_layout(&self) -> Result<ArrayLayout>;

    /// Passes the elements' bytes, contiguous and in native byte order, to `read`.
    ///
    /// # Errors
    /// If they cannot be made contiguous, or `read` fails.
    fn read_elements<R>(&self, read: impl FnOnce(&[u8]) -> Result<R>) -> Result<R>;

    /// Creates an array with this layout; `write` fills in its elements' bytes.
    ///
    /// # Errors
    /// If the library lacks the element type or memory, or `write` fails.
    fn from_elements(
        layout: &ArrayLayout,
        write: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Self>;
}
