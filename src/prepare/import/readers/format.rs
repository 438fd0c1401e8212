//! The description of a format of files.

use super::input::Input;
use super::look::{Ask, Opened};
use crate::words::error::Result;

/// Hint for lists of different lengths in a column.
pub(super) const SAME_LENGTH: &str =
    "lists become columns, so all lists of a column need the same length";

/// A file format. Each is declared in its own file and listed in `formats.rs`.
pub(crate) struct Format {
    /// Name in messages.
    pub(crate) name: &'static str,
    /// Whether reading needs random access, so that the file cannot be compressed.
    pub(crate) needs_places: bool,
    /// Whether a file has this format, judged by its first bytes and its name.
    pub(crate) has: fn(&Input) -> bool,
    /// Opens a file.
    pub(crate) open: fn(&Input, &Ask<'_>) -> Result<Opened>,
}
