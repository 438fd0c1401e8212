//! DGL's record of one relation: its edges in up to three encodings.

use super::sparse::{Coo, CsrArrays, read_coo, read_csr};
use crate::formats::dgl::header::HeaderReader;
use crate::formats::dgl::magic;
use crate::words::error::Result;

/// Size in bytes of the smallest record: three numbers, a metagraph and a matrix.
pub(crate) const MIN_BYTES: u64 = 24 + 8 + 2 * 24;

/// The bit that marks the save code as a set of formats, since DGL 1.0.
const IS_MASK: u64 = 1 << 32;
const COO: u64 = 1;
const CSR: u64 = 2;
const CSC: u64 = 4;

/// The edges of one relation in at least one encoding; all encodings describe the same edges.
#[derive(Clone, Debug)]
pub struct DglRelation {
    /// Number of source nodes.
    pub num_src: u64,
    /// Number of destination nodes.
    pub num_dst: u64,
    /// Number of edges.
    pub num_edges: u64,
    /// Edges as (source, destination).
    pub coo: Option<Coo>,
    /// Edges by source.
    pub csr: Option<CsrArrays>,
    /// Edges by destination.
    pub csc: Option<CsrArrays>,
}

/// Reads one relation; arrays are named after the reader's field.
pub(crate) fn read(reader: &mut HeaderReader<'_>) -> Result<DglRelation> {
    let field = reader.field().to_owned();
    magic::expect(reader, magic::UNIT_GRAPH, "relation")?;
    let code = reader.u64()?;
    let formats = match code {
        // Up to DGL 0.9 the code names one format.
        1 => COO,
        2 => CSR,
        3 => CSC,
        _ if (1..8).contains(&(code ^ IS_MASK)) => code ^ IS_MASK,
        _ => return Err(reader.fail(format!("unknown save code {code:#x}"))),
    };
    reader.skip(8)?; // formats that DGL may build later: of no use to a reader
    let mut relation =
        DglRelation { num_src: 0, num_dst: 0, num_edges: 0, coo: None, csr: None, csc: None };
    let mut sizes = Vec::with_capacity(3);
    if formats & COO != 0 {
        enter_matrix(reader, &field, "COO")?;
        let coo = read_coo(reader)?;
        sizes.push((coo.num_rows, coo.num_cols, coo.row.num_rows()));
        relation.coo = Some(coo);
    }
    if formats & CSR != 0 {
        enter_matrix(reader, &field, "CSR")?;
        let csr = read_csr(reader)?;
        sizes.push((csr.num_rows, csr.num_cols, csr.indices.num_rows()));
        relation.csr = Some(csr);
    }
    if formats & CSC != 0 {
        enter_matrix(reader, &field, "CSC")?;
        let csc = read_csr(reader)?;
        sizes.push((csc.num_cols, csc.num_rows, csc.indices.num_rows()));
        relation.csc = Some(csc);
    }
    reader.enter(field);
    let first = sizes[0];
    if sizes.iter().any(|&other| other != first) {
        return Err(reader.fail("its encodings differ in size"));
    }
    (relation.num_src, relation.num_dst, relation.num_edges) = first;
    Ok(relation)
}

/// Skips the metagraph before each matrix, which repeats other parts of the file.
fn enter_matrix(reader: &mut HeaderReader<'_>, field: &str, format: &str) -> Result<()> {
    reader.enter(format!("{field} {format}"));
    magic::expect(reader, magic::IMMUTABLE_GRAPH, "metagraph")?;
    read_csr(reader)?;
    Ok(())
}
