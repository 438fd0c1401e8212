//! Errors of the engine as Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyBaseException, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use sar::Error;
use sar::words::error::ErrorKind;

create_exception!(
    sar_single._engine,
    Stopped,
    PyBaseException,
    "Another worker failed, or the user interrupted the run: this worker has nothing to add."
);

/// The exception for an error, with its hint on its own line.
pub(crate) fn exception(error: Error) -> PyErr {
    let text = match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    };
    match error.kind() {
        ErrorKind::Interrupted | ErrorKind::Aborted => Stopped::new_err(text),
        ErrorKind::Input | ErrorKind::Config => PyValueError::new_err(text),
        ErrorKind::OutOfMemory | ErrorKind::OutOfProcesses => PyMemoryError::new_err(text),
        ErrorKind::Io | ErrorKind::OutOfDisk | ErrorKind::Corrupt => PyOSError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}
