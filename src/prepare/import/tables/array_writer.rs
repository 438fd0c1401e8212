//! Conversion of any file's numbers to an array.

use std::path::{Path, PathBuf};

use crate::formats::dgl::ArrayRef;
use crate::formats::dgl::array_file::ArrayFile;
use crate::formats::dgl::blocks;
use crate::io::Dtype;
use crate::prepare::import::readers::{CellValue, FileRows};
use crate::words::error::Result;

/// Above the first limit, single precision loses fractions; above the second, whole numbers.
const FINE: f64 = 131_072.0;
const WHOLE: f64 = 16_777_216.0;

/// Numbers in an unnamed file. An array of unknown type becomes `int64` if all values are whole; otherwise `float32`,
/// or `float64` where single precision would make different times equal.
pub(crate) struct ConvertedArray {
    path: PathBuf,
    folder: PathBuf,
    dtype: Option<Dtype>,
    /// Whether missing values are NaN.
    takes_missing: bool,
    file: ArrayFile,
    values: u64,
    /// Number of values before the first that is not whole.
    whole: Option<u64>,
    needs_double: bool,
}

impl ConvertedArray {
    /// An array of values from `path`; it takes space in `folder`.
    pub(crate) fn create(path: &Path, folder: &Path, dtype: Option<Dtype>) -> Result<Self> {
        let file = ArrayFile::create(folder)?;
        let (path, folder) = (path.to_owned(), folder.to_owned());
        let (values, whole, needs_double) = (0, None, false);
        let takes_missing = false;
        Ok(ConvertedArray { path, folder, dtype, takes_missing, file, values, whole, needs_double })
    }

    /// The array with NaN for missing values.
    pub(crate) fn taking_missing(self) -> Self {
        ConvertedArray { takes_missing: true, ..self }
    }

    /// Whether the element type was known from the beginning.
    pub(crate) fn has_type(&self) -> bool {
        self.dtype.is_some()
    }

    /// Whether all values are whole numbers.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole.is_none()
    }

    /// Appends a value. Returns the reason if the value does not fit the array.
    pub(crate) fn push(&mut self, value: CellValue<'_>) -> Result<Option<String>> {
        let value = match storable(value) {
            Err(_) if self.takes_missing && value.parsed() == CellValue::Missing => {
                CellValue::Real(f64::NAN)
            }
            Err(problem) => return Ok(Some(problem)),
            Ok(CellValue::Date(days)) => {
                self.needs_double = true;
                CellValue::Real(days)
            }
            Ok(value) => value,
        };
        self.values += 1;
        let bits = match (value, self.dtype) {
            (value, Some(dtype)) => {
                return match bytes_of(value, dtype) {
                    Some((bytes, size)) => self.file.write(&bytes[..size]).map(|()| None),
                    None if value.number().is_none_or(f64::is_nan) => {
                        Ok(Some("the value is missing".to_owned()))
                    }
                    None => Ok(Some(format!("{} cannot be stored as {dtype}", value.shown()))),
                };
            }
            (CellValue::Whole(number), None) if self.whole.is_none() => number.to_le_bytes(),
            (value, None) => {
                self.whole.get_or_insert(self.values - 1);
                let number = value.number().unwrap_or(f64::NAN);
                self.needs_double |= needs_double(value);
                number.to_le_bytes()
            }
        };
        self.file.write(&bits).map(|()| None)
    }

    /// Finishes the array, whose rows have the given dimensions.
    pub(crate) fn finish(self, row_shape: &[u64]) -> Result<ArrayRef> {
        let width: u64 = row_shape.iter().product();
        let rows = self.values.checked_div(width).unwrap_or(0);
        let shape = [&[rows], row_shape].concat();
        let Some(whole) = self.whole else {
            return self.file.finish(&self.path, self.dtype.unwrap_or(Dtype::I64), shape);
        };
        let spool = self.file.finish(&self.path, Dtype::I64, vec![self.values])?;
        let dtype = if self.needs_double { Dtype::F64 } else { Dtype::F32 };
        let mut file = ArrayFile::create(&self.folder)?;
        let mut bits = Vec::new();
        for places in blocks::ranges(self.values) {
            bits.resize((places.end - places.start) as usize, 0);
            spool.read_i64(places.clone(), &mut bits)?;
            for (at, bits) in places.zip(&bits) {
                let number =
                    if at < whole { *bits as f64 } else { f64::from_bits(bits.cast_unsigned()) };
                match dtype {
                    Dtype::F64 => file.write(&number.to_le_bytes())?,
                    _ => file.write(&(number as f32).to_le_bytes())?,
                }
            }
        }
        file.finish(&self.path, dtype, shape)
    }
}

/// The current row's value of an edge data column, in storable form; the column was selected as number `at`.
pub(crate) fn edge_value(rows: &FileRows, at: usize, name: &str) -> Result<CellValue<'static>> {
    storable(rows.value(at))
        .map_err(|problem| rows.fail(format!("column {name}: {problem}")).with_hint(NUMBERS))
}

/// Hint for an edge data value that is not a number.
const NUMBERS: &str = "edge data are numbers: correct it, or leave the column out; several values of each edge are an array: \
                                  ‹edge_data=NAME=FILE.npy›";

/// Whether single precision would make different values equal.
pub(crate) fn needs_double(value: CellValue<'_>) -> bool {
    let is_large = |number: f64| number.abs() > if number.fract() == 0.0 { WHOLE } else { FINE };
    matches!(value, CellValue::Date(_)) || value.number().is_some_and(is_large)
}

/// The value in the form that arrays of numbers store: whole, real or a date. `Err` describes the mistake in any other
/// value.
pub(crate) fn storable(value: CellValue<'_>) -> Result<CellValue<'static>, String> {
    match value.parsed() {
        CellValue::Truth(truth) => Ok(CellValue::Whole(i64::from(truth))),
        CellValue::Missing => Err("the value is missing".to_owned()),
        text @ CellValue::Text(_) => Err(format!("{} is not a number", text.shown())),
        CellValue::Real(number) if !(number as f32).is_finite() => {
            Err(format!("{number:?} is not a finite number of single precision"))
        }
        CellValue::Whole(number) => Ok(CellValue::Whole(number)),
        CellValue::Real(number) => Ok(CellValue::Real(number)),
        CellValue::Date(days) => Ok(CellValue::Date(days)),
    }
}

/// The bytes of a number of type `dtype`, and their count; `None` for a missing integer, and for one beyond the type.
pub(crate) fn bytes_of(value: CellValue<'_>, dtype: Dtype) -> Option<([u8; 8], usize)> {
    let number = value.number()?;
    let mut bytes = [0; 8];
    let size = dtype.size();
    match (value, dtype) {
        (_, Dtype::F64) => bytes = number.to_le_bytes(),
        (CellValue::Whole(whole), dtype) if dtype.is_integer() => {
            bytes = whole.to_le_bytes();
            let mut kept = [0];
            let is_kept = dtype.to_i64(&bytes[..size], &mut kept).is_ok() && kept[0] == whole;
            is_kept.then_some(())?;
        }
        (_, dtype) if dtype.is_integer() => return None,
        (_, dtype) => dtype.from_f32(&[number as f32], &mut bytes[..size]),
    }
    Some((bytes, size))
}
