//! The element types that kernels compute in.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The element type of a call's tensors.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Elements {
    /// `float32`.
    Single,
    /// `float64`.
    Double,
}

impl Elements {
    /// By bytes of an element.
    pub(crate) fn of_size(size: usize) -> PyResult<Self> {
        match size {
            4 => Ok(Elements::Single),
            8 => Ok(Elements::Double),
            _ => Err(PyTypeError::new_err("kernels compute in float32 and float64")),
        }
    }
}

/// Calls a generic function for the element type.
macro_rules! for_elements {
    ($elements:expr, $function:ident $(:: $rest:ident)* ($($argument:expr),* $(,)?)) => {
        match $elements {
            $crate::elements::Elements::Single => $function $(::$rest)* ::<f32>($($argument),*),
            $crate::elements::Elements::Double => $function $(::$rest)* ::<f64>($($argument),*),
        }
    };
}
pub(crate) use for_elements;
