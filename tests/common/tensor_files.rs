//! Files of tensors.

use std::collections::HashMap;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

/// Shape and values of each tensor.
pub(crate) type Tensors = HashMap<String, (Vec<i64>, Vec<f64>)>;

/// The tensors in the bytes of a file.
pub(crate) fn tensors(bytes: &[u8]) -> Tensors {
    let file = SafeTensors::deserialize(bytes).unwrap();
    let tensors = file.iter().map(|(name, view)| {
        let shape = view.shape().iter().map(|size| *size as i64).collect();
        (name.to_owned(), (shape, values(&view)))
    });
    tensors.collect()
}

fn values(view: &TensorView<'_>) -> Vec<f64> {
    let four = view.data().as_chunks::<4>().0.iter();
    let eight = view.data().as_chunks::<8>().0.iter();
    match view.dtype() {
        Dtype::F32 => four.map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
        Dtype::F64 => eight.map(|b| f64::from_le_bytes(*b)).collect(),
        Dtype::I64 => eight.map(|b| i64::from_le_bytes(*b) as f64).collect(),
        other => panic!("{other:?}"),
    }
}

/// Compares values; small ones by their distance, large ones by their ratio.
pub(crate) fn assert_close(what: &str, ours: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), expected.len(), "{what}");
    for (i, (a, b)) in ours.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}[{i}]: {a} instead of {b}");
    }
}
