//! Slices over the memory of tensors.
#![allow(unsafe_code)] // addresses that Python hands over

use bytemuck::Pod;
use pyo3::prelude::*;

/// The place of a contiguous tensor: its address, and its bytes. The tensor lives as long as the call that it is handed to.
#[derive(Debug, Clone, Copy, FromPyObject)]
pub(crate) struct Place(pub(crate) usize, pub(crate) usize);

impl Place {
    /// The elements. They are not written while the slice is used: a call gets tensors that it reads and others that it fills.
    pub(crate) fn slice<'a, T: Pod>(self) -> &'a [T] {
        let (Place(address, _), len) = (self, self.elements::<T>());
        if len == 0 {
            return &[];
        }
        // SAFETY: the tensor is contiguous, holds `len` elements of plain data, is aligned (checked below), and lives for the call.
        unsafe { std::slice::from_raw_parts(address as *const T, len) }
    }

    /// The elements, of a tensor that only this call uses.
    pub(crate) fn slice_mut<'a, T: Pod>(self) -> &'a mut [T] {
        let (Place(address, _), len) = (self, self.elements::<T>());
        if len == 0 {
            return &mut [];
        }
        // SAFETY: as in `slice`; the package passes a tensor that it has just made to be filled, and passes it once.
        unsafe { std::slice::from_raw_parts_mut(address as *mut T, len) }
    }

    fn elements<T>(self) -> usize {
        let Place(address, bytes) = self;
        assert!(bytes.is_multiple_of(size_of::<T>()), "half an element");
        assert!(bytes == 0 || address.is_multiple_of(align_of::<T>()), "an unaligned tensor");
        bytes / size_of::<T>()
    }
}
