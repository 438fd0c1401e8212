//! The element types that kernels compute in.

/// Evaluates an expression with `T` as the element type of `size` bytes.
macro_rules! with_elements {
    ($size:expr, |$T:ident| $body:expr) => {
        match $size {
            4 => {
                type $T = f32;
                $body
            }
            8 => {
                type $T = f64;
                $body
            }
            _ => {
                let problem = "kernels compute in float32 and float64";
                Err(pyo3::exceptions::PyTypeError::new_err(problem))
            }
        }
    };
}
pub(crate) use with_elements;
