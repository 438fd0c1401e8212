//! The element types kernels compute in.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

/// `f32` or `f64`.
pub trait Real:
    bytemuck::Pod
    + Send
    + Sync
    + PartialOrd
    + Default
    + From<f32>
    + Add<Output = Self>
    + Mul<Output = Self>
    + AddAssign
    + Sum
{
    /// One.
    const ONE: Self;

    /// The nearest value.
    fn from_f64(value: f64) -> Self;
}

impl Real for f32 {
    const ONE: f32 = 1.0;

    fn from_f64(value: f64) -> f32 {
        value as f32
    }
}

impl Real for f64 {
    const ONE: f64 = 1.0;

    fn from_f64(value: f64) -> f64 {
        value
    }
}
