//! The interface of arrays to collectives.

use super::layout::ArrayLayout;
use crate::error::Result;

/// An array in main memory: [`Array`](super::Array), and with the cargo feature `torch` a `tch::Tensor`. Implement it for the
/// arrays of another library to send them through collectives.
pub trait Elements: Sized {
    /// Element type and shape.
    ///
    /// # Errors
    /// If no message carries such elements.
    fn array_layout(&self) -> Result<ArrayLayout>;

    /// Passes the elements, contiguous and in native byte order, to `read`.
    ///
    /// # Errors
    /// If they cannot be made contiguous, and those of `read`.
    fn read_elements<R>(&self, read: impl FnOnce(&[u8]) -> Result<R>) -> Result<R>;

    /// Makes an array of this layout, whose elements `write` fills in.
    ///
    /// # Errors
    /// If the library has no such element type or no memory, and those of `write`.
    fn from_elements(
        layout: &ArrayLayout,
        write: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Self>;
}
