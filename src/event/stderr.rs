//! Standard error: the one place that shows the progress of a command.

use std::io::{IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::printable::printable;

/// Shows `text` to people, and ends its last line if the text does not. An empty text shows nothing.
///
/// Nobody may be there to read it: the terminal was closed, the reader of a pipe has left (`2>&1 | head -1`), or the disk that
/// takes a log is full. The work matters more than the text about it, so a failure to write is ignored.
pub fn show_status(text: &str) {
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    // In one piece, so that lines of other processes do not come in between.
    let _ = std::io::stderr().write_all(format!("{text}{end}").as_bytes());
}

/// Shows a remark, as [`show_status`] does. Names from files are escaped here, wherever they come from.
pub fn show_note(text: &str) {
    show_status(&format!("note: {}", printable(text)));
}

/// A progress bar, if standard error is a terminal. `indicatif` ignores what it cannot draw, as [`show_status`] does.
pub(super) fn progress_bar(len: Option<u64>, template: &str) -> Option<ProgressBar> {
    std::io::stderr().is_terminal().then(|| {
        let bar = ProgressBar::with_draw_target(len, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(template);
        bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    })
}
