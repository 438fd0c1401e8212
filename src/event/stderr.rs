//! Status on standard error, events and results on standard output.

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::{Value, json};

use super::printable::printable;
use super::stream::{ERRORS, OUTPUT};

/// How much a command says while it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// Progress, remarks and results.
    Usual = 0,
    /// Results and errors only.
    Quiet = 1,
    /// Progress every second as well, where no bar shows it.
    Verbose = 2,
    /// Events on standard output in place of text, one JSON object each.
    Json = 3,
}

/// The voice of this process.
static VOICE: AtomicU8 = AtomicU8::new(0);

/// Sets how much this process says.
pub fn set_voice(voice: Voice) {
    VOICE.store(voice as u8, Ordering::Relaxed);
}

/// How much this process says.
pub fn voice() -> Voice {
    match VOICE.load(Ordering::Relaxed) {
        0 => Voice::Usual,
        1 => Voice::Quiet,
        2 => Voice::Verbose,
        _ => Voice::Json,
    }
}

/// Shows `text` to people, and ends the last line if `text` does not. An empty text shows nothing.
///
/// The text may find no reader: the terminal is closed or stopped (Ctrl-S), the reader of a pipe has left (`2>&1 | head
/// -1`) or does not read, or the disk with the log is full. Work must not stop for its messages: a failure to write is
/// ignored, and text that is not read in time is left out.
pub fn show_status(text: &str) {
    match voice() {
        _ if text.is_empty() => {}
        Voice::Usual | Voice::Verbose => show_always(text),
        Voice::Quiet => {}
        Voice::Json => show_event(&json!({ "event": "status", "text": text.trim_end() })),
    }
}

/// Shows a remark, as [`show_status`] does, with names from files escaped.
pub fn show_note(text: &str) {
    match voice() {
        Voice::Json => show_event(&json!({ "event": "note", "text": text })),
        _ => show_status(&format!("note: {}", printable(text))),
    }
}

/// Shows `text` whatever the voice: errors, and lines of the log.
pub fn show_always(text: &str) {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    // In one piece, so that other processes' lines do not come in between.
    ERRORS.offer(&format!("{text}{end}"));
}

/// Writes an event to standard output if the voice is [`Voice::Json`]. Failures are ignored, as in [`show_status`].
pub fn show_event(event: &Value) {
    if voice() == Voice::Json {
        show_line(&event.to_string());
    }
}

/// Writes a line with an event to standard output, as [`show_event`] does.
pub(super) fn show_line(line: &str) {
    OUTPUT.offer(&format!("{line}\n"));
}

/// Writes a result to standard output, and waits until it is read or a signal ends the program.
pub(crate) fn show_result(text: &str) -> io::Result<()> {
    OUTPUT.deliver(text)
}
