//! Results of a job's ranks, passed in files in the run's folder.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// Writes a rank's result.
pub(super) fn write_result<T: Serialize>(folder: &Path, rank: usize, result: &T) -> Result<()> {
    let path = path(folder, rank);
    let file = File::create_new(&path).map_err(|e| Error::io("create", &path, e))?;
    let mut file = BufWriter::new(file);
    let config = bincode::config::standard();
    bincode::serde::encode_into_std_write(result, &mut file, config).map_err(|e| match e {
        bincode::error::EncodeError::Io { inner, .. } => Error::io("write", &path, inner),
        e => Error::internal(format!("the result of rank {rank} cannot be encoded: {e}")),
    })?;
    file.flush().map_err(|e| Error::io("write", &path, e))
}

/// Reads all ranks' results, by rank.
pub(super) fn read_results<T: DeserializeOwned>(folder: &Path, ranks: usize) -> Result<Vec<T>> {
    let read = |rank| {
        let path = path(folder, rank);
        let file = File::open(&path).map_err(|e| Error::io("open", &path, e))?;
        let config = bincode::config::standard();
        bincode::serde::decode_from_std_read(&mut BufReader::new(file), config).map_err(|e| match e
        {
            bincode::error::DecodeError::Io { inner, .. } => Error::io("read", &path, inner),
            e => Error::internal(format!("the result of rank {rank} cannot be decoded: {e}")),
        })
    };
    (0..ranks).map(read).collect()
}

/// The file of a rank's result.
pub(super) fn path(folder: &Path, rank: usize) -> PathBuf {
    folder.join(format!("result-{rank}"))
}
