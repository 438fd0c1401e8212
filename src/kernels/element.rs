//! Element types that kernels read and write in memory.

use bytemuck::Pod;
use half::bf16;

use super::bf16::{float, nearest};
use super::real::Real;

/// An element of a matrix in memory: a number that kernels compute with, or a bfloat16, which is widened on reading and
/// rounded to nearest on writing.
pub trait Element: Pod + Default + Send + Sync {
    /// The type that kernels compute in.
    type Real: Real;

    /// The value in the computing type.
    fn wide(self) -> Self::Real;

    /// The element nearest to a value.
    fn nearest(value: Self::Real) -> Self;
}

impl Element for bf16 {
    type Real = f32;

    #[inline(always)]
    fn wide(self) -> f32 {
        float(self.to_bits())
    }

    #[inline(always)]
    fn nearest(value: f32) -> bf16 {
        bf16::from_bits(nearest(value))
    }
}
