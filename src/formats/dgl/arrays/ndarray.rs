//! DGL's record of one array: a header with type and shape, then the elements.

use super::array::{ArrayRef, byte_len};
use super::header::HeaderReader;
use super::magic;
use crate::io::Dtype;
use crate::words::error::Result;

/// Size in bytes of the smallest record: no dimensions and one element of one byte.
pub(crate) const MIN_BYTES: u64 = 41;

/// Largest number of dimensions, which is torch's limit.
const MAX_DIMS: i32 = 64;

/// DLPack's type codes.
const SIGNED: u8 = 0;
const UNSIGNED: u8 = 1;
const FLOAT: u8 = 2;
const BFLOAT: u8 = 4;
const BOOL: u8 = 6;

/// Reads the header of an array and skips its elements. The reader's field names the array.
pub(crate) fn read(reader: &mut HeaderReader<'_>) -> Result<ArrayRef> {
    magic::expect(reader, magic::NDARRAY, "array")?;
    reader.skip(8)?; // reserved
    reader.skip(8)?; // device: DGL copies to the CPU before it saves
    let dims = reader.i32()?;
    if !(0..=MAX_DIMS).contains(&dims) {
        return Err(reader.fail(format!("an array has {dims} dimensions")));
    }
    let (code, bits, lanes) = (reader.u8()?, reader.u8()?, reader.u16()?);
    let mut types = TYPES.iter().filter(|_| lanes == 1);
    let Some(&(dtype, ..)) = types.find(|(_, c, b)| (*c, *b) == (code, bits)) else {
        return Err(reader.fail(format!(
            "element type (code {code}, {bits} bits, {lanes} lanes) is not supported; use integers, bool, float16, \
             bfloat16, float32 or float64"
        )));
    };
    let mut shape = Vec::with_capacity(dims as usize);
    for _ in 0..dims {
        shape.push(reader.size()?);
    }
    let bytes = reader.size()?;
    if byte_len(dtype, &shape) != Some(bytes) {
        return Err(reader.fail(format!("{bytes} bytes do not hold a {dtype} array of {shape:?}")));
    }
    let offset = reader.pos();
    reader.skip(bytes)?;
    ArrayRef::new(reader.file(), reader.field(), dtype, shape, offset)
        .ok_or_else(|| reader.fail("an array lies beyond the end of the file"))
}

/// The header that [`read`] parses, as DGL writes it.
pub(crate) fn header(dtype: Dtype, shape: &[u64], bytes: u64) -> Vec<u8> {
    const CPU: i32 = 1;
    let code = match dtype {
        // DGL saves truth values as bytes.
        Dtype::Bool => UNSIGNED,
        _ => TYPES.iter().find(|(ty, ..)| *ty == dtype).map_or(BOOL, |(_, code, _)| *code),
    };
    let mut out = Vec::with_capacity(40 + 8 * shape.len());
    out.extend(magic::NDARRAY.to_le_bytes());
    out.extend(0u64.to_le_bytes());
    out.extend(CPU.to_le_bytes());
    out.extend(0i32.to_le_bytes());
    out.extend((shape.len() as i32).to_le_bytes());
    out.extend([code, 8 * dtype.size() as u8]);
    out.extend(1u16.to_le_bytes());
    for &size in shape {
        out.extend(size.to_le_bytes());
    }
    out.extend(bytes.to_le_bytes());
    out
}

/// The types of elements, each with its code and its number of bits.
const TYPES: [(Dtype, u8, u8); 13] = [
    (Dtype::I8, SIGNED, 8),
    (Dtype::I16, SIGNED, 16),
    (Dtype::I32, SIGNED, 32),
    (Dtype::I64, SIGNED, 64),
    (Dtype::U8, UNSIGNED, 8),
    (Dtype::U16, UNSIGNED, 16),
    (Dtype::U32, UNSIGNED, 32),
    (Dtype::U64, UNSIGNED, 64),
    (Dtype::F16, FLOAT, 16),
    (Dtype::F32, FLOAT, 32),
    (Dtype::F64, FLOAT, 64),
    (Dtype::BF16, BFLOAT, 16),
    (Dtype::Bool, BOOL, 8),
];
