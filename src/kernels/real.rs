//! The element types kernels compute in.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Sub};

/// `f32` or `f64`.
pub trait Real:
    bytemuck::Pod
    + Send
    + Sync
    + PartialOrd
    + Default
    + From<f32>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + MulAssign
    + Sum
{
    /// One.
    const ONE: Self;

    /// Minus infinity.
    const NEG_INFINITY: Self;

    /// The nearest value.
    fn from_f64(value: f64) -> Self;

    /// The exponential function.
    #[must_use]
    fn exp(self) -> Self;

    /// The natural logarithm.
    #[must_use]
    fn ln(self) -> Self;

    /// The larger of two values.
    #[must_use]
    fn max(self, other: Self) -> Self;
}

impl Real for f32 {
    const ONE: f32 = 1.0;
    const NEG_INFINITY: f32 = f32::NEG_INFINITY;

    fn from_f64(value: f64) -> f32 {
        value as f32
    }

    fn exp(self) -> f32 {
        self.exp()
    }

    fn ln(self) -> f32 {
        self.ln()
    }

    fn max(self, other: f32) -> f32 {
        self.max(other)
    }
}

impl Real for f64 {
    const ONE: f64 = 1.0;
    const NEG_INFINITY: f64 = f64::NEG_INFINITY;

    fn from_f64(value: f64) -> f64 {
        value
    }

    fn exp(self) -> f64 {
        self.exp()
    }

    fn ln(self) -> f64 {
        self.ln()
    }

    fn max(self, other: f64) -> f64 {
        self.max(other)
    }
}
