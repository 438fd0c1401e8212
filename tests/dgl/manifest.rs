//! The expected values of the sample files, and their comparison with arrays.

use crate::common;
use sar::formats::dgl::array::ArrayRef;
use sar::io::Dtype;
use serde_json::Value;
use std::path::PathBuf;

/// The folder of samples and its manifest.
pub(crate) struct Manifest {
    pub(crate) root: PathBuf,
    pub(crate) json: Value,
}

impl Manifest {
    pub(crate) fn load() -> Option<Self> {
        let root = common::shared("dgl-samples")?;
        let json = std::fs::read(root.join("manifest.json")).unwrap();
        Some(Manifest { root, json: serde_json::from_slice(&json).unwrap() })
    }

    /// Path and entry of every described file whose name ends in `suffix`.
    pub(crate) fn files(&self, suffix: &str) -> Vec<(PathBuf, &Value)> {
        let files = self.json["files"].as_object().unwrap().iter();
        let files = files.filter(|(path, _)| path.ends_with(suffix));
        files.map(|(path, entry)| (self.root.join(path), entry)).collect()
    }
}

/// The dtype that the manifest abbreviates.
fn dtype(name: &str) -> Dtype {
    match name {
        "i8" | "int8" => Dtype::I8,
        "i16" | "int16" => Dtype::I16,
        "i32" | "int32" => Dtype::I32,
        "i64" | "int64" => Dtype::I64,
        "u8" | "uint8" => Dtype::U8,
        "f16" | "float16" => Dtype::F16,
        "bf16" => Dtype::BF16,
        "f32" | "float32" => Dtype::F32,
        "f64" => Dtype::F64,
        other => panic!("unknown dtype {other}"),
    }
}

pub(crate) fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect()
}

pub(crate) fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

/// All elements of an index array.
pub(crate) fn all_u64(array: &ArrayRef) -> Vec<u64> {
    let mut out = vec![0; (array.num_rows() * array.row_len()) as usize];
    array.read_u64(0..array.num_rows(), &mut out).unwrap();
    out
}

/// Checks an array against `{dtype, shape?, values}`.
pub(crate) fn assert_array(array: &ArrayRef, expected: &Value, what: &str) {
    assert_eq!(array.dtype(), dtype(expected["dtype"].as_str().unwrap()), "{what}");
    if let Some(shape) = expected.get("shape") {
        assert_eq!(array.shape(), numbers(shape), "{what}");
    }
    let scalar = [expected["values"].clone()];
    let values = expected["values"].as_array().map_or(&scalar[..], Vec::as_slice);
    let rows = 0..array.num_rows();
    let mut as_f64 = vec![0.0; values.len()];
    array.read_f64(rows.clone(), &mut as_f64).unwrap();
    let expected_f64: Vec<f64> = values.iter().map(|v| v.as_f64().unwrap()).collect();
    assert_eq!(as_f64, expected_f64, "{what}");
    let mut as_f32 = vec![0.0; values.len()];
    array.read_f32(rows.clone(), &mut as_f32).unwrap();
    let expected_f32: Vec<f32> = expected_f64.iter().map(|&v| v as f32).collect();
    assert_eq!(as_f32, expected_f32, "{what}");
    if array.dtype().is_integer() {
        let mut as_i64 = vec![0; values.len()];
        array.read_i64(rows, &mut as_i64).unwrap();
        let expected: Vec<i64> = values.iter().map(|v| v.as_i64().unwrap()).collect();
        assert_eq!(as_i64, expected, "{what}");
    }
}

/// Checks named arrays against an object of `{name: array}`: the same names, the same arrays.
pub(crate) fn assert_arrays<'a>(
    arrays: impl IntoIterator<Item = (&'a String, &'a ArrayRef)>,
    expected: &Value,
    what: &str,
) {
    let expected = expected.as_object().unwrap();
    let mut count = 0;
    for (name, array) in arrays {
        let entry = expected.get(name).unwrap_or_else(|| panic!("{what}: unexpected {name}"));
        assert_array(array, entry, &format!("{what} {name}"));
        count += 1;
    }
    assert_eq!(count, expected.len(), "{what}: arrays are missing");
}
