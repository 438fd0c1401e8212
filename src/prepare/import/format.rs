//! The formats of files, recognised by their first bytes.

use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::error::{Error, Result};
use crate::io::open_input;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// numpy's `.npy`.
    Npy,
    /// numpy's `.npz`.
    Npz,
    /// Apache Parquet.
    Parquet,
    /// A graph file of METIS, recognised by its name: one line per node with its neighbours.
    MetisGraph,
    /// Lines of text, plain or compressed.
    Text,
}

impl Format {
    /// Recognises the format of a file.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let mut start = Vec::new();
        let file = open_input(path).map_err(|e| {
            let error = Error::unreadable(path, &e);
            match e.kind() {
                ErrorKind::InvalidInput => error.with_hint("for standard input pass - as the file"),
                _ => error,
            }
        })?;
        file.take(6).read_to_end(&mut start).map_err(|e| Error::unreadable(path, &e))?;
        let extension = path.extension().and_then(|extension| extension.to_str());
        Ok(match (&start[..], extension) {
            (b"\x93NUMPY", _) | (_, Some("npy")) => Format::Npy,
            (start, _) if start.starts_with(b"PK\x03\x04") => Format::Npz,
            (start, _) if start.starts_with(b"PAR1") => Format::Parquet,
            (_, Some("graph")) => Format::MetisGraph,
            _ => Format::Text,
        })
    }
}
