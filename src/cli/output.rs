//! Standard output and standard error.

use std::io::{self, Write};

use crate::error::{Error, Result};

/// Prints to standard output. Whoever reads it may stop reading: `sar-single inspect g.json | head` is no error.
pub(super) fn print(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::io("write", "standard output".as_ref(), e))
        }
        _ => Ok(()),
    }
}

/// Shows an error, and its remedy, on standard error.
pub(super) fn show(error: &Error) {
    eprintln!("error: {error}");
    if let Some(hint) = error.hint() {
        eprintln!("  hint: {hint}");
    }
}
