//! Matrix Market files: sparse and dense matrices as text.

use super::fields::line_breaks;
use super::format::Format;
use super::input::Input;
use super::lines::Lines;
use super::look::{Ask, Opened};
use super::sparse::{SparseMatrix, SparseValue, SparseValues};
use super::values::{CellValue, parse_id, shown};
use crate::io::Dtype;
use crate::words::error::{Error, Result};

const BANNER: &[u8] = b"MatrixMarket";

pub(crate) const FORMAT: Format = Format {
    name: "Matrix Market",
    needs_places: false,
    has: |input| has_banner(&input.head),
    open,
};

/// Whether a text begins with the banner, behind white space and one or two `%`, as `scipy.io.mmread` accepts it.
fn has_banner(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let word = text.strip_prefix(b"%%").or_else(|| text.strip_prefix(b"%")).unwrap_or_default();
    word.get(..BANNER.len()).is_some_and(|word| word.eq_ignore_ascii_case(BANNER))
}

fn open(input: &Input, ask: &Ask<'_>) -> Result<Opened> {
    let mut lines = Lines::open(input, b"%")?;
    let header = Header::of(input)?;
    lines.advance_to_words()?;
    // Behind white space, the banner does not count as a comment.
    if has_banner(lines.text()) {
        lines.advance_to_words()?;
    }
    let sizes: Option<Vec<u64>> = lines.words().map(parse_id).collect();
    let (rows, columns, count) = match (sizes.as_deref(), header.is_dense) {
        (Some(&[rows, columns, count]), false) => (rows, columns, count),
        (Some(&[rows, columns]), true) => (rows, columns, header.listed(rows, columns)),
        (_, false) => return Err(lines.fail("must hold the numbers of rows, columns and values")),
        (_, true) => return Err(lines.fail("must hold the numbers of rows and columns")),
    };
    if header.symmetry != Symmetry::None && rows != columns {
        return Err(lines.fail(format!("a symmetric matrix of {rows} x {columns}")));
    }
    let first = header.first_row(0);
    let values =
        Values { lines, header, rows, count, done: 0, row: first, column: 0, mirrored: None };
    let matrix = SparseMatrix {
        rows,
        columns,
        count,
        dtype: header.dtype,
        symmetric: header.symmetry == Symmetry::Same,
        values: Box::new(values),
    };
    matrix.open(FORMAT.name, input, ask)
}

/// Relation of a value to the value with row and column exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symmetry {
    None,
    Same,
    Negative,
}

/// The content of the banner's line: `%%MatrixMarket matrix coordinate real general`.
#[derive(Clone, Copy)]
struct Header {
    /// Whether all values are listed, column by column.
    is_dense: bool,
    dtype: Option<Dtype>,
    symmetry: Symmetry,
}

impl Header {
    fn of(input: &Input) -> Result<Self> {
        let text = input.head.trim_ascii_start();
        let number = 1 + line_breaks(&input.head[..input.head.len() - text.len()]);
        let fail = |problem: String| Error::input(&input.path, &format!("line {number}"), problem);
        let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line).to_lowercase();
        let words: Vec<&str> = line.split_ascii_whitespace().skip(1).collect();
        let &["matrix", form @ ("coordinate" | "array"), field, symmetry] = &words[..] else {
            let problem =
                "does not say which matrix follows, as in: matrix coordinate real general";
            return Err(fail(problem.to_owned()));
        };
        let is_dense = form == "array";
        let dtype = match field {
            "real" | "double" => Some(Dtype::F64),
            "integer" | "unsigned-integer" => Some(Dtype::I64),
            "pattern" if !is_dense => None,
            _ => {
                return Err(fail(format!("the values are {field}, which is not read"))
                    .with_hint("write real numbers: scipy.io.mmwrite(\"x.mtx\", m.real)"));
            }
        };
        let symmetry = match symmetry {
            "general" => Symmetry::None,
            "symmetric" => Symmetry::Same,
            "skew-symmetric" => Symmetry::Negative,
            _ => return Err(fail(format!("the matrix is {symmetry}, which is not read"))),
        };
        Ok(Header { is_dense, dtype, symmetry })
    }

    /// First row of a column whose values are listed.
    fn first_row(self, column: u64) -> u64 {
        match self.symmetry {
            Symmetry::None => 0,
            Symmetry::Same => column,
            Symmetry::Negative => column + 1,
        }
    }

    /// Number of values in the file if all are listed.
    fn listed(self, rows: u64, columns: u64) -> u64 {
        match self.symmetry {
            Symmetry::None => rows.saturating_mul(columns),
            Symmetry::Same => rows.saturating_mul(rows.saturating_add(1)) / 2,
            Symmetry::Negative => rows.saturating_mul(rows.saturating_sub(1)) / 2,
        }
    }
}

struct Values {
    lines: Lines,
    header: Header,
    rows: u64,
    count: u64,
    /// Number of values so far.
    done: u64,
    /// Row of the next value, if all are listed.
    row: u64,
    column: u64,
    /// The last value with row and column exchanged, if it comes next.
    mirrored: Option<SparseValue>,
}

impl SparseValues for Values {
    fn next(&mut self) -> Result<Option<SparseValue>> {
        if let Some(mirrored) = self.mirrored.take() {
            return Ok(Some(mirrored));
        }
        let Some(value) = self.read()? else { return Ok(None) };
        let SparseValue { row, column, value: number } = value;
        let exchanged = |number| SparseValue { row: column, column: row, value: number };
        self.mirrored = match self.header.symmetry {
            Symmetry::Same if row != column => Some(exchanged(number)),
            Symmetry::Negative if row != column => Some(exchanged(-number)),
            _ => None,
        };
        Ok(Some(value))
    }

    fn fail(&self, problem: String) -> Error {
        self.lines.fail(problem)
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }
}

impl Values {
    /// The next value in the file, without zeros where all values are listed.
    fn read(&mut self) -> Result<Option<SparseValue>> {
        loop {
            let (done, count) = (self.done, self.count);
            match (self.lines.advance_to_words()?, done == count) {
                (false, true) => return Ok(None),
                (true, true) => {
                    return Err(self.lines.fail(format!("comes after the last of {count} values")));
                }
                (false, false) => {
                    let problem =
                        format!("is the last line, but only {done} of {count} values have one");
                    return Err(self.lines.fail(problem).with_hint("copy the file again"));
                }
                (true, false) => self.done += 1,
            }
            if !self.header.is_dense {
                return self.placed().map(Some);
            }
            let mut words = self.lines.words();
            let value = SparseValue {
                row: self.row,
                column: self.column,
                value: self.number(&mut words, Dtype::F64)?,
            };
            self.row += 1;
            if self.row == self.rows {
                self.column += 1;
                self.row = self.header.first_row(self.column);
            }
            if value.value != 0.0 {
                return Ok(Some(value));
            }
        }
    }

    /// Parses a line such as `3 1 0.5`.
    fn placed(&self) -> Result<SparseValue> {
        let mut words = self.lines.words();
        let mut place = || words.next().and_then(parse_id).and_then(|at| at.checked_sub(1));
        let (Some(row), Some(column)) = (place(), place()) else {
            let problem = "does not begin with the numbers of a row and a column";
            return Err(self.lines.fail(problem).with_hint("they are counted from 1"));
        };
        let value = match self.header.dtype {
            Some(dtype) => self.number(&mut words, dtype)?,
            None => 1.0,
        };
        Ok(SparseValue { row, column, value })
    }

    /// Parses the number at the end of a line.
    fn number<'w>(&self, words: &mut impl Iterator<Item = &'w [u8]>, dtype: Dtype) -> Result<f64> {
        let word = words.next().unwrap_or_default();
        let number = match CellValue::of(word) {
            CellValue::Whole(value) => Some(value as f64),
            CellValue::Real(value) if !dtype.is_integer() => Some(value),
            _ => None,
        };
        number.filter(|_| words.next().is_none()).ok_or_else(|| {
            let kind = if dtype.is_integer() { "a whole number" } else { "a number" };
            self.lines.fail(format!("does not end with {kind}: {}", shown(self.lines.text())))
        })
    }
}
