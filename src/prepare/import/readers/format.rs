//! The description of a format of files.

use super::input::Input;
use super::look::{Ask, Opened};
use crate::error::Result;

/// A format of files. Each is declared in its own file and listed in `formats.rs`.
pub(crate) struct Format {
    /// Name in messages.
    pub(crate) name: &'static str,
    /// Whether it is read at any place, so that the file cannot be packed.
    pub(crate) needs_places: bool,
    /// Whether a file has it, by its first bytes and its name.
    pub(crate) has: fn(&Input) -> bool,
    /// Looks at a file.
    pub(crate) open: fn(&Input, &Ask<'_>) -> Result<Opened>,
}
