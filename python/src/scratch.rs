//! Values for a moment.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use sar::platform::blocks::{LARGE, MemoryBlock, give_back, large_block};

use crate::memory::Place;

/// Values that are gone after an operation; if they are many, in a block that is used again.
pub(crate) struct Scratch<T>(Values<T>);

enum Values<T> {
    Small(Vec<T>),
    Large { block: MemoryBlock, bytes: usize },
}

impl<T: Pod> Scratch<T> {
    /// Any values, to be overwritten.
    pub(crate) fn new(len: usize) -> Self {
        let bytes = len * size_of::<T>();
        Scratch(if bytes < LARGE {
            Values::Small(vec![T::zeroed(); len])
        } else {
            Values::Large { block: large_block(bytes), bytes }
        })
    }

    /// Zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        let mut values = Self::new(len);
        values.fill(T::zeroed());
        values
    }
}

impl<T: Pod> Deref for Scratch<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Values::Small(values) => values,
            Values::Large { block, bytes } => Place(block.address, *bytes).slice(),
        }
    }
}

impl<T: Pod> DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Values::Small(values) => values,
            Values::Large { block, bytes } => Place(block.address, *bytes).slice_mut(),
        }
    }
}

impl<T> Drop for Scratch<T> {
    fn drop(&mut self) {
        if let Values::Large { block, .. } = &self.0 {
            give_back(block);
        }
    }
}
