//! SciPy sparse matrices in `.npz` files.

use std::path::{Path, PathBuf};

use super::archive::Archive;
use super::input::Input;
use super::look::{Ask, Opened, Wants};
use super::sparse::{SparseMatrix, SparseValue, SparseValues};
use crate::formats::dgl::ArrayRef;
use crate::words::error::{Error, Result};

/// Number of values read at a time.
const BLOCK: u64 = 1 << 14;

/// Name of the adjacency in an archive of a whole graph. Its arrays' names begin with this name; the names in SciPy's
/// own files have no prefix.
pub(super) const ADJACENCY: &str = "adj";

/// Arrays of which every matrix has exactly one, and all arrays that a matrix may have.
const PLACES: [&str; 3] = ["indptr", "row", "offsets"];
pub(super) const ARRAYS: [&str; 8] =
    ["data", "format", "indices", "shape", "col", PLACES[0], PLACES[1], PLACES[2]];

/// The name of a matrix's array.
pub(super) fn array_of(matrix: &str, array: &str) -> String {
    if matrix.is_empty() { array.to_owned() } else { format!("{matrix}_{array}") }
}

/// Whether the arrays make up a matrix.
pub(super) fn is_matrix(matrix: &str, has: impl Fn(&str) -> bool) -> bool {
    has(&array_of(matrix, "shape")) && PLACES.iter().any(|name| has(&array_of(matrix, name)))
}

/// Opens the matrix of an archive, if it holds one.
pub(super) fn open(
    archive: &mut Archive<'_>,
    input: &Input,
    ask: &Ask<'_>,
) -> Option<Result<Opened>> {
    let is_found = |matrix: &&str| is_matrix(matrix, |name| archive.has(name));
    let is_array = |name: &&str| archive.has(name) && !ARRAYS.contains(name);
    let matrix = match (ask.wants, ask.array) {
        (Wants::Edges, _) => ["", ADJACENCY].into_iter().find(is_found),
        (_, Some(array)) if is_array(&array) => None,
        (_, array) => array.into_iter().chain([""]).find(is_found),
    };
    let matrix = matrix?.to_owned();
    Some(Arrays { archive, input, matrix, folder: ask.folder }.open(ask))
}

/// Arrays of a matrix.
struct Arrays<'a, 'i> {
    archive: &'a mut Archive<'i>,
    input: &'a Input,
    /// Name of the matrix.
    matrix: String,
    folder: &'a Path,
}

impl Arrays<'_, '_> {
    fn open(mut self, ask: &Ask<'_>) -> Result<Opened> {
        let mut shape = [0; 2];
        let sides = self.array("shape")?;
        if sides.shape() != [2] {
            return Err(sides.fail("a matrix has two sides"));
        }
        sides.read_u64(0..2, &mut shape)?;
        let [rows, columns] = shape;
        let form = self.form()?;
        let is_listed = form == "coo";
        if !is_listed && form != "csr" && form != "csc" {
            return Err(self
                .input
                .fail(format!("is a sparse matrix in the form {form}, which is not read"))
                .with_hint(
                    "save it in another form: scipy.sparse.save_npz(\"x.npz\", m.tocsr())",
                ));
        }
        let by_columns = form == "csc";
        let [outer, inner] = if is_listed { ["row", "col"] } else { ["indptr", "indices"] };
        let (outer, inner, data) = (self.array(outer)?, self.array(inner)?, self.array("data")?);
        let count = data.num_rows();
        let majors = if by_columns { columns } else { rows };
        let due = if is_listed { Some(count) } else { majors.checked_add(1) };
        if !outer.dtype().is_integer() || !inner.dtype().is_integer() {
            return Err(inner.fail("holds fractions, not numbers of rows and columns"));
        }
        if inner.num_rows() != count || due != Some(outer.num_rows()) {
            return Err(self.input.fail("is a sparse matrix whose arrays differ in length"));
        }
        let dtype = Some(data.dtype());
        let values = StoredValues {
            path: self.input.path.clone(),
            is_listed,
            by_columns,
            outer: Numbers::new(outer),
            inner: Numbers::new(inner),
            data: Numbers::new(data),
            count,
            next: 0,
            major: 0,
            majors,
        };
        let (symmetric, values) = (false, Box::new(values));
        SparseMatrix { rows, columns, count, dtype, symmetric, values }.open(
            "a sparse matrix of SciPy",
            self.input,
            ask,
        )
    }

    fn array(&mut self, name: &str) -> Result<ArrayRef> {
        let npy = self.archive.read(&array_of(&self.matrix, name), self.folder)?;
        if npy.big_endian || npy.array.shape().len() != 1 {
            return Err(npy.array.fail("is not a little-endian array of one dimension"));
        }
        Ok(npy.array)
    }

    /// The storage format of the values: the only word of an array, with one or four bytes per letter.
    fn form(&mut self) -> Result<String> {
        let name = array_of(&self.matrix, "format");
        if !self.archive.has(&name) {
            let is_listed = self.archive.has(&array_of(&self.matrix, "row"));
            return Ok(if is_listed { "coo" } else { "csr" }.to_owned());
        }
        let bytes = self.archive.start(&name)?;
        let letters: Vec<u8> = bytes.into_iter().filter(u8::is_ascii_lowercase).collect();
        let word = letters.last_chunk::<3>().copied().unwrap_or_default();
        Ok(String::from_utf8_lossy(&word).into_owned())
    }
}

/// Values of a matrix, in file order.
struct StoredValues {
    path: PathBuf,
    /// Whether each value's row is listed; otherwise, the place of each row's first value.
    is_listed: bool,
    /// Whether the values lie column by column; "row" and "column" below are then exchanged.
    by_columns: bool,
    outer: Numbers,
    inner: Numbers,
    data: Numbers,
    count: u64,
    next: u64,
    /// Row of the next value, and number of rows.
    major: u64,
    majors: u64,
}

impl SparseValues for StoredValues {
    fn next(&mut self) -> Result<Option<SparseValue>> {
        if self.next == self.count {
            return Ok(None);
        }
        let at = self.next;
        self.next += 1;
        if self.is_listed {
            self.major = index(self.outer.at(at)?);
        } else {
            while self.major < self.majors && self.outer.at(self.major + 1)? <= at as f64 {
                self.major += 1;
            }
        }
        let (major, minor) = (self.major, index(self.inner.at(at)?));
        let (row, column) = if self.by_columns { (minor, major) } else { (major, minor) };
        Ok(Some(SparseValue { row, column, value: self.data.at(at)? }))
    }

    fn fail(&self, problem: String) -> Error {
        Error::input(&self.path, &format!("value {}", self.next - 1), problem)
    }

    fn bytes_read(&self) -> u64 {
        self.next * self.data.array.dtype().size() as u64
    }
}

/// A row or column; a negative one becomes one outside any matrix.
fn index(value: f64) -> u64 {
    if value < 0.0 { u64::MAX } else { value as u64 }
}

/// Numbers of an array, one block of which is in memory.
struct Numbers {
    array: ArrayRef,
    first: u64,
    block: Vec<f64>,
}

impl Numbers {
    fn new(array: ArrayRef) -> Self {
        Numbers { array, first: 0, block: Vec::new() }
    }

    fn at(&mut self, at: u64) -> Result<f64> {
        let is_here = |first: u64, len: usize| (first..first + len as u64).contains(&at);
        if !is_here(self.first, self.block.len()) {
            let end = self.array.num_rows().min(at + BLOCK);
            self.block.resize((end - at) as usize, 0.0);
            self.array.read_f64(at..end, &mut self.block)?;
            self.first = at;
        }
        Ok(self.block[(at - self.first) as usize])
    }
}
