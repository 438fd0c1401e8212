//! numpy's `.npy` files: arrays of numbers.

use super::array::{ArrayRef, byte_len};
use super::file::InputFile;
use super::header::HeaderReader;
use crate::io::{Dtype, NPY_TYPES};
use crate::words::error::{Error, Result};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The array of a numpy file.
#[derive(Clone, Debug)]
pub(crate) struct NpyArray {
    /// The array; for an array in Fortran order, its transpose, with dimensions in reverse order.
    pub(crate) array: ArrayRef,
    /// Whether the array is in Fortran order.
    pub(crate) transposed: bool,
    /// Whether elements are big-endian.
    pub(crate) big_endian: bool,
}

/// Reads the header of the file at `path`. The elements must end at the end of the file.
///
/// # Errors
/// If the file cannot be read, is not a numpy file, is cut short, in Fortran order or big endian, or has an unsupported type.
pub fn open_npy(path: &Path) -> Result<ArrayRef> {
    let file = InputFile::open(path)?;
    let npy = read_npy(&file, 0..file.len())?;
    if npy.big_endian {
        return Err(Error::input(path, "npy header", "the array is big-endian")
            .with_hint("save array.astype(array.dtype.newbyteorder(\"<\")) instead"));
    }
    if npy.transposed && npy.array.shape().len() > 1 {
        return Err(Error::input(path, "npy header", "the array is in Fortran order")
            .with_hint("save numpy.ascontiguousarray(array) instead"));
    }
    Ok(npy.array)
}

/// Reads the header of an array that occupies a range of an open file.
pub(crate) fn read_npy(file: &Arc<InputFile>, place: Range<u64>) -> Result<NpyArray> {
    let mut reader = HeaderReader::within(file, place);
    reader.enter("npy header");
    let mut start = [0; 6];
    for byte in &mut start {
        *byte = reader.u8()?;
    }
    let (major, _minor) = (reader.u8()?, reader.u8()?);
    if &start != MAGIC || !(1..=3).contains(&major) {
        return Err(reader
            .fail("this is not a numpy file of version 1 to 3")
            .with_hint("write it with numpy.save, or give the file the ending of its format"));
    }
    let low = u64::from(reader.u16()?);
    let high = if major == 1 { 0 } else { u64::from(reader.u16()?) };
    let len = low | high << 16;
    let at = reader.pos();
    reader.skip(len)?;
    let mut text = vec![0; len as usize];
    file.read_at("npy header", at, &mut text)?;
    let header = std::str::from_utf8(&text).ok().and_then(parse);
    let Some(Header { dtype, mut shape, transposed, big_endian }) = header else {
        return Err(reader
            .fail("is not an array of integers, bool or floating point")
            .with_hint(
                "save numbers: array.astype(\"int64\") or array.astype(\"float32\"); save fields and words as \
                 a table: pandas.DataFrame(array).to_parquet(\"x.parquet\")",
            ));
    };
    if transposed {
        shape.reverse();
    }
    if byte_len(dtype, &shape) != Some(reader.remaining()) {
        return Err(reader.fail(format!(
            "{} bytes do not hold a {dtype} array of {shape:?}",
            reader.remaining()
        )));
    }
    reader.enter("");
    let array = ArrayRef::new(file, "", dtype, shape, at + len)
        .ok_or_else(|| reader.fail("the array lies beyond the end of the file"))?;
    Ok(NpyArray { array, transposed, big_endian })
}

/// The description at the beginning of an array's file.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    dtype: Dtype,
    /// Size of each dimension, as stored.
    shape: Vec<u64>,
    /// Whether the array is in Fortran order.
    transposed: bool,
    big_endian: bool,
}

/// Parses `{'descr': '<i8', 'fortran_order': False, 'shape': (12,), }`.
fn parse(header: &str) -> Option<Header> {
    let descr = value_of(header, "descr")?.strip_prefix('\'')?;
    let descr = &descr[..descr.find('\'')?];
    let big_endian = descr.starts_with('>');
    let dtype = dtype_of(&descr.replacen('>', "<", 1))?;
    let order = value_of(header, "fortran_order")?;
    let transposed = order.starts_with("True");
    if !transposed && !order.starts_with("False") {
        return None;
    }
    let shape = value_of(header, "shape")?.strip_prefix('(')?;
    let sizes = shape[..shape.find(')')?].split(',').map(str::trim).filter(|size| !size.is_empty());
    let shape = sizes.map(|size| size.parse().ok()).collect::<Option<_>>()?;
    Some(Header { dtype, shape, transposed, big_endian })
}

/// The text that follows `'key': `.
fn value_of<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}'"))?;
    Some(rest.trim_start().strip_prefix(':')?.trim_start())
}

fn dtype_of(descr: &str) -> Option<Dtype> {
    match descr {
        "|b1" => Some(Dtype::Bool),
        // numpy's representation of ml_dtypes.bfloat16.
        "<V2" | "|V2" => Some(Dtype::BF16),
        _ => NPY_TYPES.iter().find(|(_, name)| *name == descr).map(|(dtype, _)| *dtype),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(dtype: Dtype, shape: &[u64], transposed: bool) -> Header {
        Header { dtype, shape: shape.to_vec(), transposed, big_endian: false }
    }

    #[test]
    fn the_header_is_read_whatever_its_spacing() {
        let text = "{'descr': '<i8', 'fortran_order': False, 'shape': (12,), }   \n";
        assert_eq!(parse(text), Some(header(Dtype::I64, &[12], false)));
        let text = "{'shape':(2, 3),'fortran_order':False,'descr':'<f4'}";
        assert_eq!(parse(text), Some(header(Dtype::F32, &[2, 3], false)));
        let fortran = text.replace("False", "True");
        assert_eq!(parse(&fortran), Some(header(Dtype::F32, &[2, 3], true)));
        let big = Header { big_endian: true, ..header(Dtype::F32, &[2, 3], false) };
        assert_eq!(parse(&text.replace("<f4", ">f4")), Some(big));
        assert_eq!(parse("{'descr': '"), None);
    }
}
