//! Results of a job's ranks, passed in files in the run's folder.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use bincode::error::{DecodeError, EncodeError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::words::error::{Error, Result};

/// Writes a rank's result, and checks that it can be read.
pub(super) fn write_result<T: Serialize + DeserializeOwned>(
    folder: &Path,
    rank: usize,
    result: T,
) -> Result<()> {
    let path = path(folder, rank);
    let file = File::create_new(&path).map_err(|e| Error::io("create", &path, e))?;
    let mut file = BufWriter::new(file);
    let config = bincode::config::standard();
    bincode::serde::encode_into_std_write(&result, &mut file, config).map_err(|e| match e {
        EncodeError::Io { inner, .. } => Error::io("write", &path, inner),
        e => unsuitable(format!("cannot be written: {e}")),
    })?;
    drop(result);
    file.flush().map_err(|e| Error::io("write", &path, e))?;
    read_result::<T>(folder, rank).map(drop)
}

pub(super) fn read_results<T: DeserializeOwned>(folder: &Path, ranks: usize) -> Result<Vec<T>> {
    (0..ranks).map(|rank| read_result(folder, rank)).collect()
}

fn read_result<T: DeserializeOwned>(folder: &Path, rank: usize) -> Result<T> {
    let path = path(folder, rank);
    let file = File::open(&path).map_err(|e| Error::io("open", &path, e))?;
    let config = bincode::config::standard();
    bincode::serde::decode_from_std_read(&mut BufReader::new(file), config).map_err(|e| match e {
        DecodeError::Io { inner, .. } if inner.kind() != ErrorKind::UnexpectedEof => {
            Error::io("read", &path, inner)
        }
        e => unsuitable(format!("cannot be read back: {e}")),
    })
}

/// The error of a result whose type needs another format.
fn unsuitable(problem: String) -> Error {
    Error::config("result", problem).with_hint(
        "return plain values: bincode reads neither serde_json::Value nor tagged enums; a text can hold them",
    )
}

/// The file of a rank's result.
pub(super) fn path(folder: &Path, rank: usize) -> PathBuf {
    folder.join(format!("result-{rank}"))
}
