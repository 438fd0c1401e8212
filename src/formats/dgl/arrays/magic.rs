//! The numbers with which DGL's records begin.

use super::header::HeaderReader;
use crate::words::error::Result;

pub(crate) const GRAPH_FILE: u64 = 0xDD2E_4FF0_46B4_A13F;
pub(crate) const TENSOR_FILE: u64 = 0xDD5A_9FBE_3FA2_443F;
pub(crate) const NDARRAY: u64 = 0xDD5E_40F0_96B4_A13F;
pub(crate) const HETERO_GRAPH: u64 = 0xDD58_9FBE_3522_4ABF;
pub(crate) const IMMUTABLE_GRAPH: u64 = 0xDD3C_5FFE_2004_6ABF;
pub(crate) const UNIT_GRAPH: u64 = 0xDD2E_60F0_F6B4_A127;
pub(crate) const COO_MATRIX: u64 = 0xDD61_FFD3_05DF_F127;
pub(crate) const CSR_MATRIX: u64 = 0xDD6C_D312_05DF_F127;

/// Reads the number at the start of a record and checks that it is the number of `record`.
pub(crate) fn expect(reader: &mut HeaderReader<'_>, magic: u64, record: &str) -> Result<()> {
    let at = reader.pos();
    let found = reader.u64()?;
    if found == magic {
        return Ok(());
    }
    Err(reader.fail(format!("no {record} at offset {at} (found {found:#018x})")))
}

/// Reads the number at the start of a file. If it belongs to another kind of file, the error names that kind.
pub(crate) fn expect_file(reader: &mut HeaderReader<'_>, magic: u64, wanted: &str) -> Result<()> {
    if reader.remaining() < 8 {
        return Err(reader.fail(format!("is too short to be {wanted}")));
    }
    let found = reader.u64()?;
    if found == magic {
        return Ok(());
    }
    let problem = match kind_of(&found.to_le_bytes()) {
        Some(kind) => format!("this is {kind}, not {wanted}"),
        None => format!("this is not {wanted}"),
    };
    Err(reader.fail(problem))
}

/// The kind of a file in a partition directory, recognised by its first bytes.
pub(crate) fn kind_of(start: &[u8]) -> Option<&'static str> {
    let first = start.first_chunk::<8>().map(|&b| u64::from_le_bytes(b));
    match first {
        Some(GRAPH_FILE) => Some("a DGL graph file"),
        Some(TENSOR_FILE) => Some("a DGL tensor file"),
        _ if start.starts_with(b"PK\x03\x04") => Some("a PyTorch file"),
        _ if start.starts_with(b"\x93NUMPY") => Some("a numpy file"),
        _ => None,
    }
}
