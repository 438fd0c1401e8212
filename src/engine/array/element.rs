//! Rust types of elements.

use bytemuck::Pod;
use half::{bf16, f16};

use crate::io::Dtype;

/// A Rust type with the layout of an array's elements.
pub trait ArrayElement: Pod {
    /// The element type of such arrays.
    const DTYPE: Dtype;
}

macro_rules! array_elements {
    ($($T:ty => $dtype:ident),*) => {
        $(impl ArrayElement for $T {
            const DTYPE: Dtype = Dtype::$dtype;
        })*
    };
}

array_elements!(
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64
);
