//! How kernels find values in memory.

use bytemuck::Pod;
use half::bf16;

use super::bf16::{float, nearest};
use super::real::Real;

/// What matrices hold: numbers that kernels compute in, or bfloat16s, which are widened when they are read and rounded to
/// the nearest when they are written.
pub trait Element: Pod + Default + Send + Sync {
    /// What is computed in.
    type Real: Real;

    /// The value.
    fn wide(self) -> Self::Real;

    /// The nearest element.
    fn nearest(value: Self::Real) -> Self;
}

impl Element for f32 {
    type Real = f32;

    #[inline(always)]
    fn wide(self) -> f32 {
        self
    }

    #[inline(always)]
    fn nearest(value: f32) -> f32 {
        value
    }
}

impl Element for f64 {
    type Real = f64;

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[inline(always)]
    fn nearest(value: f64) -> f64 {
        value
    }
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
