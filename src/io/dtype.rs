//! Element types of stored arrays, and conversion of their bytes to numbers.
//!
//! Stored bytes are little endian and may start at any address: nothing here casts a byte slice to a wider type.

use std::fmt;

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

/// Type of a stored array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Dtype {
    /// 8-bit signed integer.
    I8,
    /// 16-bit signed integer.
    I16,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
    /// 8-bit unsigned integer.
    U8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit unsigned integer.
    U64,
    /// A byte: zero is false, anything else is true.
    Bool,
    /// IEEE half precision.
    F16,
    /// The upper half of an IEEE single.
    BF16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

impl Dtype {
    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Dtype::I8 | Dtype::U8 | Dtype::Bool => 1,
            Dtype::I16 | Dtype::U16 | Dtype::F16 | Dtype::BF16 => 2,
            Dtype::I32 | Dtype::U32 | Dtype::F32 => 4,
            Dtype::I64 | Dtype::U64 | Dtype::F64 => 8,
        }
    }

    /// Name of the type in numpy and torch, such as `float32`.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::I8 => "int8",
            Dtype::I16 => "int16",
            Dtype::I32 => "int32",
            Dtype::I64 => "int64",
            Dtype::U8 => "uint8",
            Dtype::U16 => "uint16",
            Dtype::U32 => "uint32",
            Dtype::U64 => "uint64",
            Dtype::Bool => "bool",
            Dtype::F16 => "float16",
            Dtype::BF16 => "bfloat16",
            Dtype::F32 => "float32",
            Dtype::F64 => "float64",
        }
    }

    /// Whether the type holds whole numbers or truth values.
    pub const fn is_integer(self) -> bool {
        !matches!(self, Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64)
    }

    /// Fills `out` from `bytes` (`out.len() * size()` of them); numbers beyond 24 bits are rounded.
    pub fn to_f32(self, bytes: &[u8], out: &mut [f32]) {
        match self {
            Dtype::I8 => fill(bytes, out, |b| f32::from(i8::from_le_bytes(b))),
            Dtype::I16 => fill(bytes, out, |b| f32::from(i16::from_le_bytes(b))),
            Dtype::I32 => fill(bytes, out, |b| i32::from_le_bytes(b) as f32),
            Dtype::I64 => fill(bytes, out, |b| i64::from_le_bytes(b) as f32),
            Dtype::U8 => fill(bytes, out, |b| f32::from(u8::from_le_bytes(b))),
            Dtype::U16 => fill(bytes, out, |b| f32::from(u16::from_le_bytes(b))),
            Dtype::U32 => fill(bytes, out, |b| u32::from_le_bytes(b) as f32),
            Dtype::U64 => fill(bytes, out, |b| u64::from_le_bytes(b) as f32),
            Dtype::Bool => fill(bytes, out, |[b]| f32::from(u8::from(b != 0))),
            Dtype::F16 => fill(bytes, out, |b| f16::from_le_bytes(b).to_f32()),
            Dtype::BF16 => fill(bytes, out, |b| bf16::from_le_bytes(b).to_f32()),
            Dtype::F32 => fill(bytes, out, f32::from_le_bytes),
            Dtype::F64 => fill(bytes, out, |b| f64::from_le_bytes(b) as f32),
        }
    }

    /// Fills `bytes` (`values.len() * size()` of them) with this type's nearest values. Inverse of
    /// [`to_f32`](Self::to_f32) for its results.
    pub fn from_f32(self, values: &[f32], bytes: &mut [u8]) {
        match self {
            Dtype::I8 => put(values, bytes, |v| (v as i8).to_le_bytes()),
            Dtype::I16 => put(values, bytes, |v| (v as i16).to_le_bytes()),
            Dtype::I32 => put(values, bytes, |v| (v as i32).to_le_bytes()),
            Dtype::I64 => put(values, bytes, |v| (v as i64).to_le_bytes()),
            Dtype::U8 => put(values, bytes, |v| (v as u8).to_le_bytes()),
            Dtype::U16 => put(values, bytes, |v| (v as u16).to_le_bytes()),
            Dtype::U32 => put(values, bytes, |v| (v as u32).to_le_bytes()),
            Dtype::U64 => put(values, bytes, |v| (v as u64).to_le_bytes()),
            Dtype::Bool => put(values, bytes, |v| [u8::from(v != 0.0)]),
            Dtype::F16 => put(values, bytes, |v| f16::from_f32(v).to_le_bytes()),
            Dtype::BF16 => put(values, bytes, |v| bf16::from_f32(v).to_le_bytes()),
            Dtype::F32 => put(values, bytes, f32::to_le_bytes),
            Dtype::F64 => put(values, bytes, |v| f64::from(v).to_le_bytes()),
        }
    }

    /// Fills `out` from `bytes` (`out.len() * size()` of them); integers beyond 53 bits are rounded.
    pub fn to_f64(self, bytes: &[u8], out: &mut [f64]) {
        match self {
            Dtype::I8 => fill(bytes, out, |b| f64::from(i8::from_le_bytes(b))),
            Dtype::I16 => fill(bytes, out, |b| f64::from(i16::from_le_bytes(b))),
            Dtype::I32 => fill(bytes, out, |b| f64::from(i32::from_le_bytes(b))),
            Dtype::I64 => fill(bytes, out, |b| i64::from_le_bytes(b) as f64),
            Dtype::U8 => fill(bytes, out, |b| f64::from(u8::from_le_bytes(b))),
            Dtype::U16 => fill(bytes, out, |b| f64::from(u16::from_le_bytes(b))),
            Dtype::U32 => fill(bytes, out, |b| f64::from(u32::from_le_bytes(b))),
            Dtype::U64 => fill(bytes, out, |b| u64::from_le_bytes(b) as f64),
            Dtype::Bool => fill(bytes, out, |[b]| f64::from(u8::from(b != 0))),
            Dtype::F16 => fill(bytes, out, |b| f16::from_le_bytes(b).to_f64()),
            Dtype::BF16 => fill(bytes, out, |b| bf16::from_le_bytes(b).to_f64()),
            Dtype::F32 => fill(bytes, out, |b| f64::from(f32::from_le_bytes(b))),
            Dtype::F64 => fill(bytes, out, f64::from_le_bytes),
        }
    }

    /// Fills `out` from `bytes` (`out.len() * size()` of them) without any loss.
    ///
    /// # Errors
    /// The index of the first value that is not an `i64`: a fraction, an infinity, or a number out of range.
    pub fn to_i64(self, bytes: &[u8], out: &mut [i64]) -> Result<(), usize> {
        match self {
            Dtype::I8 => fill(bytes, out, |b| i64::from(i8::from_le_bytes(b))),
            Dtype::I16 => fill(bytes, out, |b| i64::from(i16::from_le_bytes(b))),
            Dtype::I32 => fill(bytes, out, |b| i64::from(i32::from_le_bytes(b))),
            Dtype::I64 => fill(bytes, out, i64::from_le_bytes),
            Dtype::U8 => fill(bytes, out, |b| i64::from(u8::from_le_bytes(b))),
            Dtype::U16 => fill(bytes, out, |b| i64::from(u16::from_le_bytes(b))),
            Dtype::U32 => fill(bytes, out, |b| i64::from(u32::from_le_bytes(b))),
            Dtype::Bool => fill(bytes, out, |[b]| i64::from(b != 0)),
            Dtype::U64 => {
                return try_fill(bytes, out, |b| i64::try_from(u64::from_le_bytes(b)).ok());
            }
            Dtype::F16 => return try_fill(bytes, out, |b| whole(f16::from_le_bytes(b).to_f64())),
            Dtype::BF16 => return try_fill(bytes, out, |b| whole(bf16::from_le_bytes(b).to_f64())),
            Dtype::F32 => return try_fill(bytes, out, |b| whole(f64::from(f32::from_le_bytes(b)))),
            Dtype::F64 => return try_fill(bytes, out, |b| whole(f64::from_le_bytes(b))),
        }
        Ok(())
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Converts a double to an integer if it has an integral value in range.
fn whole(value: f64) -> Option<i64> {
    // 2^63 is a double; the largest i64 is not.
    let limit = -(i64::MIN as f64);
    let fits = value.fract() == 0.0 && (-limit..limit).contains(&value);
    fits.then_some(value as i64)
}

fn fill<const N: usize, T>(bytes: &[u8], out: &mut [T], convert: impl Fn([u8; N]) -> T) {
    debug_assert_eq!(bytes.len(), out.len() * N);
    for (slot, &chunk) in out.iter_mut().zip(bytes.as_chunks::<N>().0) {
        *slot = convert(chunk);
    }
}

fn put<const N: usize>(values: &[f32], bytes: &mut [u8], convert: impl Fn(f32) -> [u8; N]) {
    debug_assert_eq!(bytes.len(), values.len() * N);
    for (chunk, &value) in bytes.as_chunks_mut::<N>().0.iter_mut().zip(values) {
        *chunk = convert(value);
    }
}

fn try_fill<const N: usize, T>(
    bytes: &[u8],
    out: &mut [T],
    convert: impl Fn([u8; N]) -> Option<T>,
) -> Result<(), usize> {
    debug_assert_eq!(bytes.len(), out.len() * N);
    for (i, (slot, &chunk)) in out.iter_mut().zip(bytes.as_chunks::<N>().0).enumerate() {
        *slot = convert(chunk).ok_or(i)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_at_an_odd_address_are_converted() {
        let mut bytes = vec![0u8];
        bytes.extend(1.5f32.to_le_bytes());
        bytes.extend((-2.0f32).to_le_bytes());
        let mut out = [0.0f32; 2];
        Dtype::F32.to_f32(&bytes[1..], &mut out);
        assert_eq!(out.map(f32::to_bits), [1.5f32, -2.0].map(f32::to_bits));
    }

    #[test]
    fn what_comes_from_a_type_goes_back_to_it() {
        let types =
            [Dtype::I8, Dtype::I16, Dtype::I32, Dtype::I64, Dtype::U8, Dtype::U16, Dtype::U32];
        let types = types.into_iter().chain([Dtype::U64, Dtype::Bool, Dtype::F16, Dtype::BF16]);
        for dtype in types.chain([Dtype::F32, Dtype::F64]) {
            let size = dtype.size();
            let mut bytes = vec![0; 2 * size];
            dtype.from_f32(&[1.0, 0.0], &mut bytes);
            let mut values = [7.0; 2];
            dtype.to_f32(&bytes, &mut values);
            assert_eq!(values.map(f32::to_bits), [1.0_f32, 0.0].map(f32::to_bits), "{dtype}");
        }
        let mut all = [0; 256];
        let values: Vec<f32> = (0..=255).map(|byte: u8| f32::from(byte)).collect();
        Dtype::U8.from_f32(&values, &mut all);
        assert_eq!(all.to_vec(), (0..=255).collect::<Vec<u8>>());
        Dtype::I8.from_f32(&[-128.0, 127.0], &mut all[..2]);
        assert_eq!(all[..2], [0x80, 0x7f]);
        Dtype::F16.from_f32(&[-0.125], &mut all[..2]);
        assert_eq!(all[..2], f16::from_f32(-0.125).to_le_bytes());
    }

    #[test]
    fn halves_keep_their_value() {
        let mut out = [0.0f32; 1];
        Dtype::F16.to_f32(&f16::from_f32(0.125).to_le_bytes(), &mut out);
        assert_eq!(out[0].to_bits(), 0.125f32.to_bits());
        Dtype::BF16.to_f32(&bf16::from_f32(-3.0).to_le_bytes(), &mut out);
        assert_eq!(out[0].to_bits(), (-3.0f32).to_bits());
    }

    #[test]
    fn only_whole_numbers_in_range_become_integers() {
        let mut out = [0i64; 2];
        let whole: Vec<u8> = [3.0f64, -4.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(Dtype::F64.to_i64(&whole, &mut out), Ok(()));
        assert_eq!(out, [3, -4]);
        let broken: Vec<u8> = [3.0f64, 0.5].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(Dtype::F64.to_i64(&broken, &mut out), Err(1));
        let huge = 9_223_372_036_854_775_808f64.to_le_bytes();
        assert_eq!(Dtype::F64.to_i64(&huge, &mut out[..1]), Err(0));
        assert_eq!(Dtype::U64.to_i64(&u64::MAX.to_le_bytes(), &mut out[..1]), Err(0));
        assert_eq!(Dtype::F64.to_i64(&f64::NAN.to_le_bytes(), &mut out[..1]), Err(0));
    }

    #[test]
    fn any_byte_but_zero_is_true() {
        let mut out = [0i64; 3];
        assert_eq!(Dtype::Bool.to_i64(&[0, 1, 255], &mut out), Ok(()));
        assert_eq!(out, [0, 1, 1]);
        let (mut single, mut double) = ([0.0_f32; 3], [0.0_f64; 3]);
        Dtype::Bool.to_f32(&[0, 1, 255], &mut single);
        Dtype::Bool.to_f64(&[0, 1, 255], &mut double);
        assert_eq!((single, double), ([0.0, 1.0, 1.0], [0.0, 1.0, 1.0]));
    }
}
