//! The engine's own array.

use super::element::ArrayElement;
use super::elements::Elements;
use super::layout::ArrayLayout;
use crate::io::Dtype;
use crate::words::error::{Error, Result};

/// An array with its own memory, aligned for every element type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    layout: ArrayLayout,
    byte_len: usize,
    words: Vec<u64>,
}

impl Array {
    /// Creates an array of zeros.
    ///
    /// # Errors
    /// If a dimension is negative, or the elements do not fit in the address space.
    pub fn zeros(layout: ArrayLayout) -> Result<Self> {
        let byte_len = layout.byte_len();
        let byte_len = byte_len
            .ok_or_else(|| Error::internal(format!("an array of shape {:?}", layout.shape)))?;
        Ok(Array { layout, byte_len, words: vec![0; byte_len.div_ceil(size_of::<u64>())] })
    }

    /// Copies `values` into an array of this shape.
    ///
    /// # Errors
    /// If the shape has another number of elements.
    pub fn from_slice<T: ArrayElement>(shape: &[i64], values: &[T]) -> Result<Self> {
        let mut array = Array::zeros(ArrayLayout::new(T::DTYPE, shape))?;
        if array.byte_len != size_of_val(values) {
            let problem = format!("{} values for an array of shape {shape:?}", values.len());
            return Err(Error::internal(problem));
        }
        array.bytes_mut().copy_from_slice(bytemuck::cast_slice(values));
        Ok(array)
    }

    /// Element type and shape.
    pub fn layout(&self) -> &ArrayLayout {
        &self.layout
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        self.layout.dtype
    }

    /// Size of each dimension.
    pub fn shape(&self) -> &[i64] {
        &self.layout.shape
    }

    /// The elements as bytes.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.byte_len]
    }

    /// The elements as mutable bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.byte_len]
    }

    /// The elements.
    ///
    /// # Panics
    /// If `T` is not the element type.
    pub fn slice<T: ArrayElement>(&self) -> &[T] {
        assert_eq!(self.dtype(), T::DTYPE, "an array of another element type");
        bytemuck::cast_slice(self.bytes())
    }
}

impl Elements for Array {
    fn array_layout(&self) -> Result<ArrayLayout> {
        Ok(self.layout.clone())
    }

    fn read_elements<R>(&self, read: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        read(self.bytes())
    }

    fn from_elements(
        layout: &ArrayLayout,
        write: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Self> {
        let mut array = Array::zeros(layout.clone())?;
        write(array.bytes_mut())?;
        Ok(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_what_was_given() {
        let array = Array::from_slice(&[3, 1], &[1.5_f32, -2.0, 0.25]).unwrap();
        assert_eq!(array.slice::<f32>(), [1.5, -2.0, 0.25]);
        assert_eq!((array.shape(), array.bytes().len()), (&[3, 1][..], 12));
        let empty = Array::from_slice::<f64>(&[0, 7], &[]).unwrap();
        assert!(empty.slice::<f64>().is_empty());
        let scalar = Array::from_slice(&[], &[7_i64]).unwrap();
        assert_eq!(scalar.slice::<i64>(), [7]);
    }

    #[test]
    fn shapes_that_no_memory_holds_are_refused() {
        for shape in [&[-1][..], &[i64::MAX, 2], &[1 << 31, 1 << 31, 4]] {
            assert!(Array::zeros(ArrayLayout::new(Dtype::F64, shape)).is_err(), "{shape:?}");
        }
        assert!(Array::from_slice(&[2], &[1_u8]).is_err());
    }
}
