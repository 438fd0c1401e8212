//! Standard error, and events on standard output: the one place that shows the progress of a command.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU8, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::printable::printable;

/// How much a command says while it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// Progress, remarks and results.
    Usual = 0,
    /// Results and errors only.
    Quiet = 1,
    /// Progress every second, too, where it is not shown as a bar.
    Verbose = 2,
    /// Events on standard output, a JSON object each, in place of text.
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

/// Shows `text` to people, and ends its last line if the text does not. An empty text shows nothing.
///
/// Nobody may be there to read it: the terminal was closed, the reader of a pipe has left (`2>&1 | head -1`), or the disk that
/// takes a log is full. The work matters more than the text about it, so a failure to write is ignored.
pub fn show_status(text: &str) {
    match voice() {
        _ if text.is_empty() => {}
        Voice::Usual | Voice::Verbose => show_always(text),
        Voice::Quiet => {}
        Voice::Json => show_event(&json!({ "event": "status", "text": text.trim_end() })),
    }
}

/// Shows a remark, as [`show_status`] does. Names from files are escaped here, wherever they come from.
pub fn show_note(text: &str) {
    match voice() {
        Voice::Json => show_event(&json!({ "event": "note", "text": text })),
        _ => show_status(&format!("note: {}", printable(text))),
    }
}

/// Shows `text` whatever the voice: errors, and lines of the log.
pub fn show_always(text: &str) {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    // In one piece, so that lines of other processes do not come in between.
    let _ = std::io::stderr().write_all(format!("{text}{end}").as_bytes());
}

/// Writes an event to standard output if the voice is [`Voice::Json`]. As with text, the work matters more than the words about it.
pub fn show_event(event: &Value) {
    if voice() == Voice::Json {
        show_line(&event.to_string());
    }
}

/// Writes a line that is an event to standard output, as [`show_event`] does.
pub(super) fn show_line(line: &str) {
    let mut output = std::io::stdout().lock();
    let _ = output.write_all(format!("{line}\n").as_bytes()).and_then(|()| output.flush());
}

/// A progress bar, if standard error is a terminal and the voice shows one. `indicatif` ignores what it cannot draw, as
/// [`show_status`] does.
pub(super) fn progress_bar(len: Option<u64>, template: &str) -> Option<ProgressBar> {
    let shows = matches!(voice(), Voice::Usual | Voice::Verbose);
    (shows && std::io::stderr().is_terminal()).then(|| {
        let bar = ProgressBar::with_draw_target(len, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(template);
        bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    })
}
