//! Standard output and standard error.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::fields::with_flags;
use crate::error::{Error, Result, exit};
use crate::event::{Voice, printable, show_always, show_event, voice};

/// Prints a result to standard output; to programs as an event. A reader may stop reading: `sar-single inspect g.json | head` is
/// not an error.
pub(super) fn print(text: &str) -> Result<()> {
    match voice() {
        Voice::Json => print_event(&json!({ "event": "result", "text": text.trim_end() })),
        _ => write(text),
    }
}

/// Prints an event that is a result.
pub(super) fn print_event(event: &Value) -> Result<()> {
    write(&format!("{event}\n"))
}

fn write(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    printed(output.write_all(text.as_bytes()).and_then(|()| output.flush()))
}

/// Prints the path of a command's result; to programs as the event `done`.
pub(super) fn print_path(path: &Path) -> Result<()> {
    match voice() {
        Voice::Json => print_event(&json!({ "event": "done", "path": path })),
        _ => write(&format!("{}\n", path.display())),
    }
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
    let message = with_flags(&error.marked());
    let hint = error.marked_hint().map(with_flags);
    show_event(&json!({
        "event": "error",
        "message": message,
        "hint": hint,
        "exit_code": error.exit_code(),
    }));
    let hint = hint.map(|hint| printable(&hint));
    let hint = hint.map(|hint| format!("\n  hint: {hint}"));
    show_always(&format!("error: {}{}", printable(&message), hint.unwrap_or_default()));
}
