//! A cursor over the headers of a binary file, with small sequential reads that skip large data.

use super::file::InputFile;
use crate::words::error::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// Number of bytes per read. Headers are short and close together.
const WINDOW: u64 = 4096;

/// Reads consecutive little-endian numbers and strings. Every count is checked against the rest of the file before
/// memory is allocated for it.
pub(crate) struct HeaderReader<'a> {
    file: &'a Arc<InputFile>,
    field: String,
    pos: u64,
    end: u64,
    window: Vec<u8>,
    window_start: u64,
}

impl<'a> HeaderReader<'a> {
    /// A cursor at the start of the file.
    pub(crate) fn new(file: &'a Arc<InputFile>) -> Self {
        Self::within(file, 0..file.len())
    }

    /// A cursor at the start of a range of the file, which it cannot leave. A range that starts after its end, as in
    /// the directory of a damaged archive, is empty.
    pub(crate) fn within(file: &'a Arc<InputFile>, place: Range<u64>) -> Self {
        HeaderReader {
            file,
            field: String::new(),
            pos: place.start.min(place.end),
            end: place.end,
            window: Vec::new(),
            window_start: 0,
        }
    }

    /// The file under the cursor.
    pub(crate) fn file(&self) -> &'a Arc<InputFile> {
        self.file
    }

    /// Sets the name of the part that is read next, for errors.
    pub(crate) fn enter(&mut self, field: impl Into<String>) {
        self.field = field.into();
    }

    /// Name of the part that is being read.
    pub(crate) fn field(&self) -> &str {
        &self.field
    }

    /// Offset of the next byte.
    pub(crate) fn pos(&self) -> u64 {
        self.pos
    }

    /// Number of bytes left.
    pub(crate) fn remaining(&self) -> u64 {
        self.end - self.pos
    }

    /// An error in the current field.
    pub(crate) fn fail(&self, problem: impl Into<String>) -> Error {
        self.file.fail(&self.field, problem)
    }

    /// Moves to an absolute offset.
    pub(crate) fn seek(&mut self, pos: u64) -> Result<()> {
        if pos > self.end {
            return Err(self.fail(format!("offset {pos} lies beyond the end of the file")));
        }
        self.pos = pos;
        Ok(())
    }

    /// Skips `bytes` bytes.
    pub(crate) fn skip(&mut self, bytes: u64) -> Result<()> {
        self.need(bytes)?;
        self.pos += bytes;
        Ok(())
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.take()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.take()?))
    }

    pub(crate) fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_le_bytes(self.take()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    /// Reads a nonnegative `i64`.
    pub(crate) fn size(&mut self) -> Result<u64> {
        let value = i64::from_le_bytes(self.take()?);
        u64::try_from(value).map_err(|_| self.fail(format!("a size is negative ({value})")))
    }

    /// Reads the number of following elements, each of at least `min_bytes`.
    pub(crate) fn count(&mut self, min_bytes: u64) -> Result<usize> {
        let count = self.u64()?;
        if count.checked_mul(min_bytes).is_none_or(|bytes| bytes > self.remaining()) {
            return Err(self.fail(format!(
                "claims {count} elements, but only {} bytes are left",
                self.remaining()
            )));
        }
        Ok(count as usize)
    }

    /// Reads a length and a UTF-8 string of that length.
    pub(crate) fn string(&mut self) -> Result<String> {
        let len = self.count(1)?;
        let mut bytes = vec![0; len];
        self.file.read_at(&self.field, self.pos, &mut bytes)?;
        self.pos += len as u64;
        String::from_utf8(bytes).map_err(|_| self.fail("a name is not UTF-8"))
    }

    fn need(&self, bytes: u64) -> Result<()> {
        if bytes > self.remaining() {
            return Err(self.fail(format!(
                "the file ends early: {bytes} bytes are needed at offset {}, {} are left",
                self.pos,
                self.remaining()
            )));
        }
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.need(N as u64)?;
        let ahead = self.pos.checked_sub(self.window_start).unwrap_or(u64::MAX);
        if ahead.saturating_add(N as u64) > self.window.len() as u64 {
            self.window.resize(self.remaining().min(WINDOW) as usize, 0);
            self.window_start = self.pos;
            self.file.read_at(&self.field, self.pos, &mut self.window)?;
        }
        let at = (self.pos - self.window_start) as usize;
        self.pos += N as u64;
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.window[at..at + N]);
        Ok(bytes)
    }
}
