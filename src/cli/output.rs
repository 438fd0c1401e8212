//! Standard output and standard error.

use std::io::{self, Write};

use super::fields::with_flags;
use crate::error::{Error, Result, exit};
use crate::event::{printable, show_status};

/// Prints to standard output. A reader may stop reading: `sar-single inspect g.json | head` is not an error.
pub(super) fn print(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    printed(output.write_all(text.as_bytes()).and_then(|()| output.flush()))
}

/// Prints a message of the command line's parser: help and version are results, all others are errors. Returns the exit code.
pub(super) fn print_usage(message: &clap::Error) -> Result<u8> {
    let written = message.print();
    if message.use_stderr() {
        // As in `show_status`: the exit code also shows it.
        return Ok(exit::BAD_USAGE);
    }
    printed(written).map(|()| exit::DONE)
}

fn printed(written: io::Result<()>) -> Result<()> {
    match written {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::io("write", "standard output".as_ref(), e))
        }
        _ => Ok(()),
    }
}

/// Shows an error, and its remedy, on standard error. Names from files are escaped here, wherever they come from.
pub(super) fn show(error: &Error) {
    let hint = error.marked_hint().map(|hint| printable(&with_flags(hint)));
    let hint = hint.map(|hint| format!("\n  hint: {hint}"));
    let error = printable(&with_flags(&error.marked()));
    show_status(&format!("error: {error}{}", hint.unwrap_or_default()));
}
