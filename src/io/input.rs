//! Opening of files from other programs.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::words::error::{Error, Result};

/// Mark with which some editors begin a text in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Opens a regular file for reading. A FIFO or a device is refused, because opening it could wait for ever.
///
/// # Errors
/// If the file does not exist, cannot be read, or is not a regular file.
pub fn open_input(path: &Path) -> io::Result<File> {
    // The flag has no effect on a regular file.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

/// The text of a regular file, without a byte order mark.
///
/// # Errors
/// As for [`open_input`], or if the file is not UTF-8.
pub fn read_input(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_input(path)?.read_to_string(&mut text)?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The text of a regular file, without a byte order mark; `None` if the file does not exist.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<String>> {
    match read_input(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::unreadable(path, &e)),
        Ok(text) => Ok(Some(text)),
    }
}
