//! The terminal on standard error, as progress bars draw on it.

use std::fmt::Write;
use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use parking_lot::Mutex;
use rustix::termios::tcgetwinsize;

use super::stderr::{Voice, voice};
use super::stream::ERRORS;

/// Largest number of pictures per second.
const PICTURES: u8 = 20;
/// Columns and rows of a terminal whose size is unknown.
const USUAL_SIZE: [u16; 2] = [80, 24];

/// A progress bar, if standard error is a terminal and the voice shows one. It is cleared when it is dropped.
pub(super) fn progress_bar(len: Option<u64>, template: &str) -> Option<ProgressBar> {
    let shows = matches!(voice(), Voice::Usual | Voice::Verbose);
    (shows && io::stderr().is_terminal()).then(|| {
        let screen = Box::new(Screen::default());
        let target = ProgressDrawTarget::term_like_with_hz(screen, PICTURES);
        let bar = ProgressBar::with_draw_target(len, target);
        let style = ProgressStyle::with_template(template);
        bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    })
}

/// The picture being drawn. It is shown as a whole, and left out while the terminal accepts nothing.
#[derive(Debug, Default)]
struct Screen(Mutex<String>);

impl Screen {
    fn size() -> [u16; 2] {
        let size = tcgetwinsize(io::stderr()).map_or([0; 2], |size| [size.ws_col, size.ws_row]);
        if size[0] == 0 { USUAL_SIZE } else { size }
    }

    /// Moves the cursor; `direction` is the last letter of the escape sequence.
    fn move_cursor(&self, n: usize, direction: char) -> io::Result<()> {
        if n == 0 {
            return Ok(());
        }
        write!(self.0.lock(), "\x1b[{n}{direction}").map_err(io::Error::other)
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        Screen::size()[0]
    }

    fn height(&self) -> u16 {
        Screen::size()[1]
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)?;
        self.write_str("\n")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.lock().push_str(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write_str("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        ERRORS.draw(&std::mem::take(&mut *self.0.lock()));
        Ok(())
    }
}
