//! NumPy `.npy` files.

use std::ops::Range;

use super::block::{CellBlock, Cells};
use super::format::Format;
use super::look::{Ask, Column, EdgeShape, Form, Opened, Reader, Wants};
use crate::formats::dgl::array_file::ArrayFile;
use crate::formats::dgl::file::InputFile;
use crate::formats::dgl::npy::{NpyArray, read_npy};
use crate::formats::dgl::{ArrayRef, blocks};
use crate::words::error::Result;

/// Number of values read at a time.
const BLOCK: u64 = 1 << 16;

/// Name of arrays of shape `(2, E)` in PyTorch Geometric.
const EDGE_INDEX: &str = "edge_index";

pub(crate) const FORMAT: Format = Format {
    name: "NumPy",
    needs_places: true,
    has: |input| input.head.starts_with(b"\x93NUMPY") || input.has_extension("npy"),
    open: |input, ask| {
        let file = InputFile::open(&input.path)?;
        open_array(read_npy(&file, 0..file.len())?, ask)
    },
};

/// Opens an array as columns: two columns of edges, or one column with each row's values.
pub(crate) fn open_array(npy: NpyArray, ask: &Ask<'_>) -> Result<Opened> {
    let NpyArray { array, transposed, big_endian } = npy;
    let array = if big_endian { swapped(&array, ask)? } else { array };
    let ends = match ask.wants {
        Wants::Edges => Some(Ends::of(&array, transposed, ask)?),
        _ => None,
    };
    let dtype = array.dtype();
    let by_columns = ends.as_ref().map_or(transposed, |ends| !ends.by_turns);
    let shape = array.shape();
    let (rows, width) = match (&ends, shape) {
        (Some(ends), _) => (ends.edges, 2),
        (None, []) => {
            return Err(array.fail("holds a single number, not a row per node or edge"));
        }
        (None, [head @ .., rows]) if transposed => (*rows, head.iter().product()),
        (None, _) => (array.num_rows(), array.row_len()),
    };
    if transposed && shape.len() > 2 {
        let problem = "the array is in Fortran order and has more than two dimensions";
        return Err(array.fail(problem).with_hint("save numpy.ascontiguousarray(array) instead"));
    }
    let columns = if ends.is_some() {
        Column::ends(&Form::Number(dtype))
    } else {
        let width = (shape.len() > 1).then_some(width as usize);
        vec![Column { width, ..Column::new("", Form::Number(dtype)) }]
    };
    let sides = shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let is_split = ends.is_some();
    let reader = ArrayReader { array: array.flat(), rows, width, by_columns, is_split, next: 0 };
    let in_place = !transposed || shape.len() == 1;
    let kind = format!("an array of {dtype}, ({sides})");
    Ok(Opened {
        named: false,
        unit: if ends.is_some() { "edge" } else { "row" },
        array: in_place.then_some(array),
        ..Opened::new(columns, &kind, Box::new(reader))
    })
}

/// Layout of an array of edges, `(2, E)` or `(E, 2)`.
struct Ends {
    edges: u64,
    /// Whether sources and destinations alternate; otherwise all sources come first.
    by_turns: bool,
}

impl Ends {
    fn of(array: &ArrayRef, transposed: bool, ask: &Ask<'_>) -> Result<Self> {
        let known = ask.edge_shape;
        if !array.dtype().is_integer() {
            let problem = format!("holds {}, but node ids are integers", array.dtype());
            return Err(array.fail(problem).with_hint("save array.astype(\"int64\")"));
        }
        let mut shape = array.shape().to_vec();
        if transposed {
            shape.reverse();
        }
        let (edges, is_by_edge) = match (&shape[..], known) {
            (&[2, 2], None) if ask.array != Some(EDGE_INDEX) => {
                let problem = "has shape [2, 2]: its rows may be two edges, or sources and targets";
                return Err(array.fail(problem).with_hint(
                    "with sources in the first row: numpy.savez(\"edges.npz\", edge_index=array)",
                ));
            }
            (&[2, edges], None | Some(EdgeShape::TwoRows)) => (edges, false),
            (&[edges, 2], None | Some(EdgeShape::TwoColumns)) => (edges, true),
            _ => {
                let due = match known {
                    None => "edges are an array of shape (2, E) or (E, 2)",
                    Some(EdgeShape::TwoRows) => "edges are an array of shape (2, E)",
                    Some(EdgeShape::TwoColumns) => "pairs are an array of shape (N, 2)",
                };
                let error = array.fail(format!("has shape {shape:?}, but {due}"));
                let is_turned = known.is_some() && shape.len() == 2 && shape.contains(&2);
                return Err(error.with_hint(if is_turned {
                    "save its transpose: numpy.save(FILE, array.T)"
                } else {
                    "save the edges of a matrix: numpy.argwhere(matrix)"
                }));
            }
        };
        Ok(Ends { edges, by_turns: is_by_edge != transposed })
    }
}

/// Reader of an array's rows.
struct ArrayReader {
    /// All values.
    array: ArrayRef,
    rows: u64,
    width: u64,
    /// Whether a column's values are contiguous.
    by_columns: bool,
    /// Whether the values of a row are columns; otherwise they form a list.
    is_split: bool,
    next: u64,
}

impl Reader for ArrayReader {
    fn read(&mut self, columns: &[usize], block: &mut CellBlock) -> Result<()> {
        let count = (BLOCK / self.width.max(1)).max(1).min(self.rows - self.next);
        if self.array.dtype().is_integer() {
            let read = |places, out: &mut [i64]| self.array.read_i64(places, out);
            block.columns.extend(self.columns(columns, count, read)?.into_iter().map(Cells::Whole));
        } else {
            let read = |places, out: &mut [f64]| self.array.read_f64(places, out);
            block.columns.extend(self.columns(columns, count, read)?.into_iter().map(Cells::Real));
        }
        block.rows = count as usize;
        self.next += count;
        Ok(())
    }

    fn bytes_read(&self) -> u64 {
        self.next * self.width * self.array.dtype().size() as u64
    }
}

impl ArrayReader {
    /// The values of columns in the next `count` rows. `read` reads contiguous values.
    fn columns<T: Copy + Default>(
        &self,
        columns: &[usize],
        count: u64,
        read: impl Fn(Range<u64>, &mut [T]) -> Result<()>,
    ) -> Result<Vec<Vec<T>>> {
        let (first, width) = (self.next, self.width as usize);
        let contiguous = |column: usize| -> Result<Vec<T>> {
            let mut values = vec![T::default(); count as usize];
            let place = column as u64 * self.rows + first;
            read(place..place + count, &mut values)?;
            Ok(values)
        };
        if self.is_split && self.by_columns {
            return columns.iter().map(|column| contiguous(*column)).collect();
        }
        let mut all = vec![T::default(); count as usize * width];
        if self.by_columns {
            for column in 0..width {
                let places = all.iter_mut().skip(column).step_by(width);
                places.zip(contiguous(column)?).for_each(|(place, value)| *place = value);
            }
        } else {
            read(first * self.width..(first + count) * self.width, &mut all)?;
        }
        if !self.is_split {
            return Ok(vec![all; columns.len()]);
        }
        let column = |at: &usize| all.iter().skip(*at).step_by(width).copied().collect();
        Ok(columns.iter().map(column).collect())
    }
}

/// A copy of an array in this machine's byte order, in an unnamed file.
fn swapped(array: &ArrayRef, ask: &Ask<'_>) -> Result<ArrayRef> {
    let flat = array.flat();
    let size = array.dtype().size();
    let mut out = ArrayFile::create(ask.folder)?;
    for rows in blocks::ranges(flat.num_rows()) {
        let mut bytes = vec![0; (rows.end - rows.start) as usize * size];
        flat.read_rows(rows, &mut bytes)?;
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        out.write(&bytes)?;
    }
    out.finish(array.path(), array.dtype(), array.shape().to_vec())
}
