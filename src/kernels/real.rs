//! Element types that kernels read and write in memory, and the number types that they compute in.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Sub};

use bytemuck::Pod;
use half::bf16;

use super::bf16::{float, nearest};

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

/// A number type that kernels compute in: `f32` or `f64`.
pub trait Real:
    Element<Real = Self>
    + 'static
    + PartialOrd
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

    /// The value nearest to a double.
    fn from_f64(value: f64) -> Self;

    /// The exponential function.
    #[must_use]
    fn exp(self) -> Self;

    /// The larger of two values.
    #[must_use]
    fn max(self, other: Self) -> Self;
}

/// The exponential function without branches, so that it vectorises; accurate to about one unit in the last place. 0
/// far below -87, practically infinite beyond 88.
#[inline(always)]
fn exp_f32(x: f32) -> f32 {
    // Adding this constant rounds to a whole number, which then occupies the low bits.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-104.0, 88.7);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let power = shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32;
    let whole = shifted - ROUND;
    // ln 2 in two parts, the first with few bits.
    let rest = (x - whole * 0.693_359_4) + whole * 2.121_944_4e-4;
    let series = 1.987_569_1e-4;
    let series = series * rest + 1.398_199_9e-3;
    let series = series * rest + 8.333_452e-3;
    let series = series * rest + 4.166_579_6e-2;
    let series = series * rest + 1.666_666_5e-1;
    let series = series * rest + 0.5;
    let value = series * rest * rest + rest + 1.0;
    // Two factors, so that neither leaves the exponent's range.
    let half = power >> 1;
    let two_to = |power: i32| f32::from_bits(((power + 127) << 23) as u32);
    value * two_to(half) * two_to(power - half)
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

/// Implements [`Element`] and [`Real`] for a type, with its exponential function.
macro_rules! real {
    ($($T:ident, $exp:path;)*) => {$(
        impl Element for $T {
            type Real = $T;

            #[inline(always)]
            fn wide(self) -> $T {
                self
            }

            #[inline(always)]
            fn nearest(value: $T) -> $T {
                value
            }
        }

        impl Real for $T {
            const ONE: $T = 1.0;
            const NEG_INFINITY: $T = $T::NEG_INFINITY;

            #[inline(always)]
            fn from_f64(value: f64) -> $T {
                value as $T
            }

            #[inline(always)]
            fn exp(self) -> $T {
                $exp(self)
            }

            #[inline(always)]
            fn max(self, other: $T) -> $T {
                self.max(other)
            }
        }
    )*};
}
real!(f32, exp_f32; f64, f64::exp;);

#[cfg(test)]
mod tests {
    use super::Real;

    #[test]
    fn the_single_precision_exponential_is_right_to_the_last_bits() {
        for i in -100_000..=87_000 {
            let x = i as f32 / 1000.0;
            let (ours, exact) = (Real::exp(x), f64::from(x).exp());
            let error = (f64::from(ours) - exact).abs();
            assert!(error <= 2e-7 * exact + 2e-45, "exp({x}) = {ours}, not {exact}");
        }
        assert_eq!(Real::exp(f32::NEG_INFINITY).to_bits(), 0);
        assert_eq!(Real::exp(0.0_f32).to_bits(), 1.0_f32.to_bits());
    }
}
