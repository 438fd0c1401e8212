//! Intermediate result of a reduction.

use half::{bf16, f16};

use crate::io::Dtype;
use crate::words::error::{Error, Result};

/// Number of elements that are widened at a time.
const BLOCK: usize = 4096;

/// How the values of all ranks are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReduceOp {
    /// Sum in the order of ranks; floating-point values are summed in double precision.
    Sum,
    /// Largest value.
    Max,
    /// Smallest value.
    Min,
}

/// Combined values of the ranks so far, in the widest type of their kind.
pub(super) enum Total {
    /// Floating-point values.
    Real(Vec<f64>),
    /// Integers and booleans.
    Whole(Vec<i64>),
}

impl Total {
    /// Starts with the values of the first rank.
    pub(super) fn new(dtype: Dtype, first: &[u8]) -> Result<Self> {
        let len = first.len() / dtype.size();
        if dtype.is_integer() {
            let mut values = vec![0; len];
            widen(dtype, first, &mut values)?;
            return Ok(Total::Whole(values));
        }
        let mut values = vec![0.0; len];
        dtype.to_f64(first, &mut values);
        Ok(Total::Real(values))
    }

    /// Combines the values with the next rank's, of the same type and number.
    pub(super) fn add(&mut self, dtype: Dtype, next: &[u8], op: ReduceOp) -> Result<()> {
        let blocks = next.chunks(BLOCK * dtype.size());
        match self {
            Total::Real(totals) => {
                let mut values = vec![0.0; BLOCK];
                for (totals, bytes) in totals.chunks_mut(BLOCK).zip(blocks) {
                    let values = &mut values[..totals.len()];
                    dtype.to_f64(bytes, values);
                    match op {
                        ReduceOp::Sum => combine(totals, values, |a, b| a + b),
                        // As in libtorch, NaN propagates.
                        ReduceOp::Max => {
                            combine(totals, values, |a, b| if b > a || b.is_nan() { b } else { a });
                        }
                        ReduceOp::Min => {
                            combine(totals, values, |a, b| if b < a || b.is_nan() { b } else { a });
                        }
                    }
                }
            }
            Total::Whole(totals) => {
                let mut values = vec![0; BLOCK];
                for (totals, bytes) in totals.chunks_mut(BLOCK).zip(blocks) {
                    let values = &mut values[..totals.len()];
                    widen(dtype, bytes, values)?;
                    match op {
                        ReduceOp::Sum => combine(totals, values, i64::wrapping_add),
                        ReduceOp::Max => combine(totals, values, i64::max),
                        ReduceOp::Min => combine(totals, values, i64::min),
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the result in the type of the values.
    pub(super) fn write(&self, dtype: Dtype, bytes: &mut [u8]) {
        match self {
            Total::Real(totals) => match dtype {
                Dtype::F64 => fill(totals, bytes, f64::to_le_bytes),
                Dtype::F32 => fill(totals, bytes, |x| (x as f32).to_le_bytes()),
                // As in libtorch, via single precision.
                Dtype::F16 => fill(totals, bytes, |x| f16::from_f32(x as f32).to_le_bytes()),
                _ => fill(totals, bytes, |x| bf16::from_f32(x as f32).to_le_bytes()),
            },
            Total::Whole(totals) => match (dtype, dtype.size()) {
                (Dtype::Bool, _) => fill(totals, bytes, |x| [u8::from(x != 0)]),
                (_, 1) => fill(totals, bytes, |x| (x as u8).to_le_bytes()),
                (_, 2) => fill(totals, bytes, |x| (x as u16).to_le_bytes()),
                (_, 4) => fill(totals, bytes, |x| (x as u32).to_le_bytes()),
                _ => fill(totals, bytes, i64::to_le_bytes),
            },
        }
    }
}

fn widen(dtype: Dtype, bytes: &[u8], values: &mut [i64]) -> Result<()> {
    let too_large = |_| Error::internal(format!("a reduction of {dtype} values beyond 63 bits"));
    dtype.to_i64(bytes, values).map_err(too_large)
}

fn combine<T: Copy>(totals: &mut [T], values: &[T], op: impl Fn(T, T) -> T) {
    totals.iter_mut().zip(values).for_each(|(total, value)| *total = op(*total, *value));
}

fn fill<const N: usize, T: Copy>(totals: &[T], bytes: &mut [u8], narrow: impl Fn(T) -> [u8; N]) {
    let slots = bytes.as_chunks_mut::<N>().0.iter_mut();
    slots.zip(totals).for_each(|(slot, total)| *slot = narrow(*total));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::array::ArrayElement;

    fn reduced<T: ArrayElement>(op: ReduceOp, ranks: &[&[T]]) -> Result<Vec<T>> {
        let mut total = Total::new(T::DTYPE, bytemuck::cast_slice(ranks[0]))?;
        for values in &ranks[1..] {
            total.add(T::DTYPE, bytemuck::cast_slice(values), op)?;
        }
        let mut bytes = vec![0; size_of_val(ranks[0])];
        total.write(T::DTYPE, &mut bytes);
        Ok(bytes.chunks(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
    }

    #[test]
    fn sums_of_small_types_are_rounded_once() {
        let halves: Vec<Vec<f16>> = [2048.0, 1.0, 1.0].map(|x| vec![f16::from_f32(x)]).into();
        let halves: Vec<&[f16]> = halves.iter().map(Vec::as_slice).collect();
        assert_eq!(reduced(ReduceOp::Sum, &halves).unwrap(), [f16::from_f32(2050.0)]);
        assert_eq!(reduced(ReduceOp::Sum, &[&[250_u8], &[10]]).unwrap(), [4]);
        assert_eq!(reduced(ReduceOp::Sum, &[&[-3_i16], &[-4]]).unwrap(), [-7]);
    }

    #[test]
    fn a_value_that_is_not_a_number_stays_one() {
        for op in [ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min] {
            for ranks in [[&[f32::NAN], &[1.0]], [&[1.0], &[f32::NAN]]] {
                assert!(reduced(op, &[&ranks[0][..], ranks[1]]).unwrap()[0].is_nan(), "{op:?}");
            }
        }
    }

    #[test]
    fn more_values_than_a_block_are_combined() {
        let values: Vec<f64> = (0..=2 * BLOCK).map(|i| i as f64).collect();
        let doubled: Vec<f64> = values.iter().map(|x| 2.0 * x).collect();
        assert_eq!(reduced(ReduceOp::Sum, &[&values, &values]).unwrap(), doubled);
        assert_eq!(reduced(ReduceOp::Max, &[&values, &doubled]).unwrap(), doubled);
    }

    #[test]
    fn unsigned_values_beyond_63_bits_are_refused() {
        assert!(reduced(ReduceOp::Sum, &[&[u64::MAX], &[1]]).is_err());
        assert_eq!(reduced(ReduceOp::Max, &[&[7_u64], &[9]]).unwrap(), [9]);
    }
}
