//! Small records between processes: bincode, with a limit, and nothing left over.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// No record is longer; a length that says otherwise is not one of ours.
const LIMIT: usize = 1 << 20;

/// A record as bytes.
pub fn encode<T: Serialize>(record: &T) -> Result<Vec<u8>> {
    bincode::serde::encode_to_vec(record, bincode::config::standard().with_limit::<LIMIT>())
        .map_err(|e| Error::Internal(format!("a record cannot be encoded: {e}")))
}

/// The record in `bytes`, which must hold it and nothing else.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let config = bincode::config::standard().with_limit::<LIMIT>();
    let (record, used) = bincode::serde::decode_from_slice(bytes, config)
        .map_err(|e| Error::Internal(format!("a record cannot be decoded: {e}")))?;
    if used == bytes.len() {
        Ok(record)
    } else {
        Err(Error::Internal(format!("a record has {} bytes left over", bytes.len() - used)))
    }
}
