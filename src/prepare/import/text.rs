//! Lines and fields of text files, plain or compressed.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use crate::error::{Error, Result};
use crate::io::open_input;

/// Number of bytes read at a time.
const BUFFER: usize = 256 << 10;

/// The first bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The byte order mark that some programs write at the start of a file.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Largest length of a line in bytes: a small compressed file may have lines of any length, and a line is held in memory.
pub(super) const LONGEST: u64 = 64 << 20;

/// The lines of a text file without empty lines and comments, which begin with `#` or `%`.
pub(crate) struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    read: Arc<AtomicU64>,
    number: u64,
    line: Vec<u8>,
}

impl Lines {
    /// Opens a file; gzip is recognised by the first bytes.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = open_input(path).map_err(|e| Error::unreadable(path, &e))?;
        let read = Arc::new(AtomicU64::new(0));
        let counted = Counted { file, read: Arc::clone(&read) };
        let mut raw = BufReader::with_capacity(BUFFER, counted);
        let start = raw.fill_buf().map_err(|e| Error::unreadable(path, &e))?;
        let reader: Box<dyn BufRead> = if start.starts_with(&GZIP) {
            Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(raw)))
        } else {
            Box::new(raw)
        };
        Ok(Lines { path: path.to_owned(), reader, read, number: 0, line: Vec::new() })
    }

    /// Moves to the next line that is neither empty nor a comment; false at the end.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        while self.advance_any()? {
            if !self.text().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Moves to the next line that is not a comment, though it may be empty; false at the end.
    pub(super) fn advance_any(&mut self) -> Result<bool> {
        loop {
            if !self.advance_raw()? {
                return Ok(false);
            }
            if self.number == 1 && self.line.starts_with(&BYTE_ORDER_MARK) {
                self.line.drain(..BYTE_ORDER_MARK.len());
            }
            if !matches!(self.text().first(), Some(b'#' | b'%')) {
                return Ok(true);
            }
        }
    }

    /// Moves to the next line, whatever it holds; false at the end.
    pub(super) fn advance_raw(&mut self) -> Result<bool> {
        self.line.clear();
        let mut bounded = self.reader.by_ref().take(LONGEST + 1);
        let read = bounded.read_until(b'\n', &mut self.line);
        let read = read.map_err(|e| Error::unreadable(&self.path, &e))?;
        if read == 0 {
            return Ok(false);
        }
        self.number += 1;
        if read as u64 > LONGEST {
            self.line = Vec::new();
            return Err(self
                .fail(format!("is longer than {} MiB", LONGEST >> 20))
                .with_hint("a line holds one edge, or the row of one node"));
        }
        Ok(true)
    }

    /// Path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the line, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The line, without white space around it.
    pub(crate) fn text(&self) -> &[u8] {
        self.line.trim_ascii()
    }

    /// The line with white space, but without its end.
    pub(super) fn without_end(&self) -> &[u8] {
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// The line with white space and the end of line.
    pub(super) fn raw(&self) -> &[u8] {
        &self.line
    }

    /// Bytes read so far; compressed bytes if the file is compressed.
    pub(super) fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// An error in this line.
    pub(crate) fn fail(&self, problem: impl Into<String>) -> Error {
        Error::input(&self.path, &format!("line {}", self.number), problem)
    }
}

/// A file that counts the bytes read from it.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The separator between the fields of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// Any white space.
    Blank,
    /// One such byte, with optional white space around it.
    Byte(u8),
}

impl Separator {
    /// The separator that a line seems to use.
    pub(super) fn guess(line: &[u8]) -> Self {
        let found = b",;\t|".iter().find(|byte| line.contains(byte));
        // A first field in quotes whose end is on another line hides the separator: most files use commas.
        let quotes_are_odd = || line.iter().fold(false, |odd, byte| odd ^ (*byte == b'"'));
        let hidden = || line.starts_with(b"\"") && quotes_are_odd();
        match found {
            Some(&byte) => Separator::Byte(byte),
            None if hidden() => Separator::Byte(b','),
            None => Separator::Blank,
        }
    }
}

/// The words of a line.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// A field without the quotes around it, if there are any; two quotes inside stand for one.
pub(crate) fn unquoted(field: &[u8]) -> Cow<'_, [u8]> {
    match field.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) {
        None => Cow::Borrowed(field),
        Some(inside) if !inside.contains(&b'"') => Cow::Borrowed(inside),
        Some(inside) => {
            let mut bytes = Vec::with_capacity(inside.len());
            let mut rest = inside;
            while let Some((&byte, following)) = rest.split_first() {
                bytes.push(byte);
                rest = if byte == b'"' { &following[following.len().min(1)..] } else { following };
            }
            Cow::Owned(bytes)
        }
    }
}

/// A non-negative whole number.
pub(crate) fn parse_id(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then_some(())?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// A field as messages show it.
pub(crate) fn shown(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_digits_and_nothing_else() {
        assert_eq!(parse_id(b"18446744073709551615"), Some(u64::MAX));
        for wrong in ["", "-1", "1.0", "18446744073709551616", "x", "1 "] {
            assert_eq!(parse_id(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
