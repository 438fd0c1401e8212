//! Results and errors.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::path::Path;

use clap::builder::Styles;
use serde_json::{Value, json};

use crate::cli::flags::fields::with_flags;
use crate::event::{Voice, printable, show_always, show_event, show_result, voice};
use crate::io::is_standard_output;
use crate::words::error::{Error, Result, exit};

/// Prints a result to standard output, for programs as an event. A reader may stop reading: `sar-single inspect g.json
/// | head` is not an error.
pub(in crate::cli) fn print(text: &str) -> Result<()> {
    match voice() {
        Voice::Json => print_event(&json!({ "event": "result", "text": text.trim_end() })),
        _ => write(text),
    }
}

pub(in crate::cli) fn print_event(event: &Value) -> Result<()> {
    write(&format!("{event}\n"))
}

fn write(text: &str) -> Result<()> {
    match show_result(text) {
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Err(Error::interrupted()),
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            let is_full = e.kind() == io::ErrorKind::StorageFull;
            let error = Error::io("write", "standard output".as_ref(), e);
            // No flag names this place.
            let hint = "free space there, or redirect standard output to another disk";
            Err(if is_full { error.with_hint(hint) } else { error })
        }
        _ => Ok(()),
    }
}

/// Prints the path of a command's result, for programs as the event `done`.
pub(in crate::cli) fn print_path(path: &Path) -> Result<()> {
    match voice() {
        Voice::Json => print_event(&json!({ "event": "done", "path": path })),
        _ => write(&format!("{}\n", path.display())),
    }
}

/// Refuses to send both a command's output file and the events of `--json` to standard output.
pub(in crate::cli) fn check_output(path: &Path) -> Result<()> {
    if voice() != Voice::Json || !is_standard_output(path) {
        return Ok(());
    }
    Err(Error::config("--json", "events go to standard output, and so does the output file")
        .with_hint("name another file with ‹out›, or leave --json out"))
}

/// Prints the path of a command's output file, unless the file is standard output.
pub(in crate::cli) fn print_output(path: &Path) -> Result<()> {
    if is_standard_output(path) { Ok(()) } else { print_path(path) }
}

/// Prints a message of the command line's parser: help and version are results, everything else is an error. Returns
/// the exit code.
pub(in crate::cli) fn print_usage(message: &clap::Error) -> Result<u8> {
    if message.use_stderr() {
        show_always(&styled(message, &io::stderr()));
        return Ok(exit::BAD_USAGE);
    }
    write(&styled(message, &io::stdout())).map(|()| exit::DONE)
}

/// The message, with colours where the stream shows them.
fn styled(message: &clap::Error, stream: &impl IsTerminal) -> String {
    let text = message.render();
    if has_colours(stream) { text.ansi().to_string() } else { text.to_string() }
}

/// Whether the stream is a terminal with colours, and the user has not turned them off.
fn has_colours(stream: &impl IsTerminal) -> bool {
    let is =
        |name: &str, value: fn(&OsStr) -> bool| std::env::var_os(name).is_some_and(|v| value(&v));
    let plain = is("NO_COLOR", |value| !value.is_empty()) || is("TERM", |value| value == "dumb");
    stream.is_terminal() && !plain
}

/// Words in front of an error and its remedy, in the parser's colours.
fn headings() -> [String; 2] {
    let styles = Styles::styled();
    if has_colours(&io::stderr()) {
        let [error, hint] = [styles.get_error(), styles.get_valid()];
        [format!("{error}error:{error:#}"), format!("{hint}hint:{hint:#}")]
    } else {
        ["error:", "hint:"].map(str::to_owned)
    }
}

/// Shows an error, and its remedy, on standard error, with names from files escaped.
pub(in crate::cli) fn show(error: &Error) {
    let message = with_flags(&error.marked());
    let hint = error.marked_hint().map(with_flags);
    show_event(&json!({
        "event": "error",
        "message": message,
        "hint": hint,
        "exit_code": error.exit_code(),
    }));
    let hint = hint.map(|hint| printable(&hint));
    let [error_heading, hint_heading] = headings();
    let hint = hint.map(|hint| format!("\n  {hint_heading} {hint}"));
    show_always(&format!("{error_heading} {}{}", printable(&message), hint.unwrap_or_default()));
}
