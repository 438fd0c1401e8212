//! DGL's records of sparse matrices, which make up a graph's structure.

use crate::formats::dgl::array::ArrayRef;
use crate::formats::dgl::arrays::ndarray;
use crate::formats::dgl::header::HeaderReader;
use crate::formats::dgl::magic;
use crate::io::Dtype;
use crate::words::error::Result;

/// An adjacency as a list of (row, column). Rows are sources, columns are destinations.
#[derive(Clone, Debug)]
pub struct Coo {
    /// Number of sources.
    pub num_rows: u64,
    /// Number of destinations.
    pub num_cols: u64,
    /// Source of each entry.
    pub row: ArrayRef,
    /// Destination of each entry.
    pub col: ArrayRef,
    /// Edge id of each entry; without it entry `i` is edge `i`.
    pub edge_ids: Option<ArrayRef>,
}

/// An adjacency by rows. In a CSC matrix, which is stored as the CSR matrix of the transpose, rows are destinations.
#[derive(Clone, Debug)]
pub struct CsrArrays {
    /// Number of rows.
    pub num_rows: u64,
    /// Number of columns.
    pub num_cols: u64,
    /// Start of each row in `indices`, and the number of entries at the end.
    pub indptr: ArrayRef,
    /// Column of each entry.
    pub indices: ArrayRef,
    /// Edge id of each entry; without it entry `i` is edge `i`.
    pub edge_ids: Option<ArrayRef>,
}

/// Reads a COO matrix; arrays are named after the reader's field.
pub(crate) fn read_coo(reader: &mut HeaderReader<'_>) -> Result<Coo> {
    let field = reader.field().to_owned();
    magic::expect(reader, magic::COO_MATRIX, "COO matrix")?;
    let (num_cols, num_rows) = (reader.size()?, reader.size()?);
    let row = index_array(reader, &field, "row")?;
    let col = index_array(reader, &field, "col")?;
    let ids = index_array(reader, &field, "edge ids")?;
    reader.skip(2)?; // sortedness flags: never set by DGL, of no use here
    reader.enter(field);
    if col.num_rows() != row.num_rows() {
        return Err(reader.fail(format!(
            "{} sources and {} destinations",
            row.num_rows(),
            col.num_rows()
        )));
    }
    let edge_ids = optional_ids(reader, ids, row.num_rows())?;
    Ok(Coo { num_rows, num_cols, row, col, edge_ids })
}

/// Reads a CSR matrix; arrays are named after the reader's field.
pub(crate) fn read_csr(reader: &mut HeaderReader<'_>) -> Result<CsrArrays> {
    let field = reader.field().to_owned();
    magic::expect(reader, magic::CSR_MATRIX, "CSR matrix")?;
    let (num_cols, num_rows) = (reader.size()?, reader.size()?);
    let indptr = index_array(reader, &field, "indptr")?;
    let indices = index_array(reader, &field, "indices")?;
    let ids = index_array(reader, &field, "edge ids")?;
    reader.skip(1)?; // sortedness flag
    reader.enter(field);
    if Some(indptr.num_rows()) != num_rows.checked_add(1) {
        return Err(reader.fail(format!("{} row starts for {num_rows} rows", indptr.num_rows())));
    }
    let edge_ids = optional_ids(reader, ids, indices.num_rows())?;
    Ok(CsrArrays { num_rows, num_cols, indptr, indices, edge_ids })
}

fn index_array(reader: &mut HeaderReader<'_>, field: &str, part: &str) -> Result<ArrayRef> {
    reader.enter(format!("{field} {part}"));
    let array = ndarray::read(reader)?;
    if array.shape().len() != 1 || !matches!(array.dtype(), Dtype::I32 | Dtype::I64) {
        return Err(array.fail(format!(
            "an index array must be int32 or int64 with one dimension, but is {} {:?}",
            array.dtype(),
            array.shape()
        )));
    }
    Ok(array)
}

fn optional_ids(
    reader: &HeaderReader<'_>,
    ids: ArrayRef,
    num_entries: u64,
) -> Result<Option<ArrayRef>> {
    match ids.num_rows() {
        0 => Ok(None),
        count if count == num_entries => Ok(Some(ids)),
        count => Err(reader.fail(format!("{count} edge ids for {num_entries} edges"))),
    }
}
