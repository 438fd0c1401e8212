//! Slices over the memory of tensors.
#![allow(unsafe_code)] // addresses that Python hands over

use bytemuck::Pod;

/// The memory of a contiguous tensor: where it begins, and its bytes. The tensor lives as long as the call that it is handed to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) address: usize,
    pub(crate) bytes: usize,
}

impl Memory {
    pub(crate) fn new(address: usize, bytes: usize) -> Self {
        Memory { address, bytes }
    }

    /// The elements. They are not written while the slice is used: a call gets tensors that it reads and others that it fills.
    pub(crate) fn slice<'a, T: Pod>(self) -> &'a [T] {
        let len = self.elements::<T>();
        if len == 0 {
            return &[];
        }
        // SAFETY: the tensor is contiguous, holds `len` elements of plain data, is aligned (checked below), and lives for the call.
        unsafe { std::slice::from_raw_parts(self.address as *const T, len) }
    }

    /// The elements, of a tensor that only this call uses.
    pub(crate) fn slice_mut<'a, T: Pod>(self) -> &'a mut [T] {
        let len = self.elements::<T>();
        if len == 0 {
            return &mut [];
        }
        // SAFETY: as in `slice`; the package passes a tensor that it has just made to be filled, and passes it once.
        unsafe { std::slice::from_raw_parts_mut(self.address as *mut T, len) }
    }

    fn elements<T>(self) -> usize {
        assert!(self.bytes.is_multiple_of(size_of::<T>()), "half an element");
        assert!(
            self.bytes == 0 || self.address.is_multiple_of(align_of::<T>()),
            "an unaligned tensor"
        );
        self.bytes / size_of::<T>()
    }
}

/// The place of a tensor's elements: address and bytes.
pub(crate) type Place = (usize, usize);

/// The memory of a tensor at a place.
pub(crate) fn memory((address, bytes): Place) -> Memory {
    Memory::new(address, bytes)
}
