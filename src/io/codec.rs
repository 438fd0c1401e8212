//! Small records between processes: bincode with a size limit, decoded without leftover bytes.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::words::error::{Error, Result};

/// Largest size of a record in bytes; this program never writes a larger one.
const LIMIT: usize = 1 << 20;

/// Encodes a record as bytes.
///
/// # Errors
/// If the record is longer than a mebibyte (`Internal`).
pub fn encode<T: Serialize>(record: &T) -> Result<Vec<u8>> {
    bincode::serde::encode_to_vec(record, bincode::config::standard().with_limit::<LIMIT>())
        .map_err(|e| Error::internal(format!("cannot encode a record: {e}")))
}

/// Decodes the record that fills `bytes`.
///
/// # Errors
/// If the bytes are not a record of this type (`Internal`).
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let config = bincode::config::standard().with_limit::<LIMIT>();
    let (record, used) = bincode::serde::decode_from_slice(bytes, config)
        .map_err(|e| Error::internal(format!("cannot decode a record: {e}")))?;
    if used == bytes.len() {
        Ok(record)
    } else {
        Err(Error::internal(format!("a record has {} bytes left over", bytes.len() - used)))
    }
}
