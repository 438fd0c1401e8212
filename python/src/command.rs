//! The commands that prepare graphs, in the interpreter's process.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs a command line of `sar-single` whose first word is the program's name, and ends the process with its exit code.
#[pyfunction]
pub(crate) fn command(arguments: Vec<OsString>) {
    sar::platform::leave(sar::cli::run_from(arguments))
}
