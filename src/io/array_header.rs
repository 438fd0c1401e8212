//! Headers of array files. Other code streams the data after them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::io::Dtype;
use crate::words::error::{Error, Result};

/// Name, element type and shape of an array.
pub struct ArraySpec<'a> {
    /// Key of the array in the file.
    pub name: &'a str,
    /// Element type.
    pub dtype: Dtype,
    /// Dimensions.
    pub shape: &'a [u64],
}

/// The header of a safetensors file with these arrays, one after the other in this order, and these texts as metadata.
///
/// # Errors
/// If an array has a type that this program does not write (`Internal`).
pub fn safetensors_header(
    arrays: &[ArraySpec<'_>],
    metadata: &BTreeMap<String, String>,
) -> Result<Vec<u8>> {
    let mut entries = Map::new();
    if !metadata.is_empty() {
        entries.insert("__metadata__".to_owned(), json!(metadata));
    }
    let mut end = 0;
    for ArraySpec { name, dtype, shape } in arrays {
        let begin = end;
        end += shape.iter().product::<u64>() * dtype.size() as u64;
        let dtype = match dtype {
            Dtype::F32 => "F32",
            Dtype::F64 => "F64",
            Dtype::U8 => "U8",
            Dtype::I64 => "I64",
            other => return Err(Error::internal(format!("arrays of {other:?} cannot be written"))),
        };
        let entry = json!({"dtype": dtype, "shape": shape, "data_offsets": [begin, end]});
        entries.insert((*name).to_owned(), entry);
    }
    let mut text = serde_json::to_vec(&Value::Object(entries))
        .map_err(|e| Error::internal(format!("cannot encode a header: {e}")))?;
    // Padded, so that the data begin at a multiple of 8 bytes.
    text.resize(text.len().next_multiple_of(8), b' ');
    let mut header = (text.len() as u64).to_le_bytes().to_vec();
    header.extend(text);
    Ok(header)
}

/// NumPy's names of the number types that this program writes.
pub(crate) const NPY_TYPES: [(Dtype, &str); 11] = [
    (Dtype::F16, "<f2"),
    (Dtype::F32, "<f4"),
    (Dtype::F64, "<f8"),
    (Dtype::I8, "|i1"),
    (Dtype::I16, "<i2"),
    (Dtype::I32, "<i4"),
    (Dtype::I64, "<i8"),
    (Dtype::U8, "|u1"),
    (Dtype::U16, "<u2"),
    (Dtype::U32, "<u4"),
    (Dtype::U64, "<u8"),
];

/// The header of a `.npy` file, version 1.0, little endian, in C order.
///
/// # Errors
/// If this program does not write arrays of the type (`Internal`).
pub fn npy_header(dtype: Dtype, shape: &[u64]) -> Result<Vec<u8>> {
    let Some((_, descr)) = NPY_TYPES.iter().find(|(ty, _)| *ty == dtype) else {
        return Err(Error::internal(format!("arrays of {dtype:?} cannot be written")));
    };
    let sides: Vec<String> = shape.iter().map(u64::to_string).collect();
    // A Python tuple of one element ends with a comma.
    let comma = if shape.len() == 1 { "," } else { "" };
    let shape = sides.join(", ");
    let mut text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}{comma}), }}");
    // Magic, version and length take 10 bytes; the header ends with a newline at a multiple of 64.
    let padded = (10 + text.len() + 1).next_multiple_of(64) - 10;
    text.extend(std::iter::repeat_n(' ', padded - text.len() - 1));
    text.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((text.len() as u16).to_le_bytes());
    header.extend(text.into_bytes());
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_npy_header_is_numpys_own() {
        let header = npy_header(Dtype::F32, &[3, 2]).unwrap();
        assert_eq!(header.len(), 128);
        let text = String::from_utf8(header[10..].to_vec()).unwrap();
        assert_eq!(text.trim_end(), "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }");
    }

    #[test]
    fn a_npy_header_of_any_length_ends_at_a_multiple_of_64() {
        for sides in 1..40 {
            let header = npy_header(Dtype::I64, &vec![5; sides]).unwrap();
            assert!(header.len().is_multiple_of(64) && header.ends_with(b"\n"));
            assert_eq!(usize::from(header[9]) << 8 | usize::from(header[8]), header.len() - 10);
            assert!(header.len() - header.trim_ascii_end().len() <= 64);
        }
    }

    #[test]
    fn the_safetensors_crate_reads_our_header() {
        let specs = [
            ArraySpec { name: "logits", dtype: Dtype::F32, shape: &[2, 3] },
            ArraySpec { name: "loss", dtype: Dtype::I64, shape: &[1] },
        ];
        let mut file = safetensors_header(&specs, &BTreeMap::new()).unwrap();
        file.extend([0; 24 + 8]);
        let file = safetensors::SafeTensors::deserialize(&file).unwrap();
        assert_eq!(file.tensor("logits").unwrap().shape(), [2, 3]);
        assert_eq!(file.tensor("loss").unwrap().data().len(), 8);
    }
}
