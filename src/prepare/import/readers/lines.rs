//! Lines of a text that is not a table.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use super::input::{ByteStream, Input};
use super::sample::{LONGEST, too_long};
use crate::words::error::{Error, Result};

/// The lines of a file, without comments.
pub(super) struct Lines {
    path: PathBuf,
    stream: BufReader<ByteStream>,
    /// The bytes with which comments begin.
    comments: &'static [u8],
    text: Vec<u8>,
    number: u64,
}

impl Lines {
    /// The lines of a file from its start on.
    pub(super) fn open(input: &Input, comments: &'static [u8]) -> Result<Self> {
        let stream = BufReader::with_capacity(256 << 10, input.stream()?);
        Ok(Lines { path: input.path.clone(), stream, comments, text: Vec::new(), number: 0 })
    }

    /// Moves to the next line that is not a comment (it may be empty); false at the end.
    pub(super) fn advance(&mut self) -> Result<bool> {
        loop {
            self.text.clear();
            let mut bounded = self.stream.by_ref().take(LONGEST + 1);
            let read = bounded.read_until(b'\n', &mut self.text);
            let read = read.map_err(|e| Error::unreadable(&self.path, &e))?;
            if read == 0 {
                return Ok(false);
            }
            self.number += 1;
            if read as u64 > LONGEST {
                return Err(too_long(&self.path, self.number));
            }
            if !self.text.first().is_some_and(|byte| self.comments.contains(byte)) {
                return Ok(true);
            }
        }
    }

    /// Moves to the next nonempty line; false at the end.
    pub(super) fn advance_to_words(&mut self) -> Result<bool> {
        while self.advance()? {
            if self.words().next().is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The line without white space around it.
    pub(super) fn text(&self) -> &[u8] {
        self.text.trim_ascii()
    }

    /// The words of the line.
    pub(super) fn words(&self) -> impl Iterator<Item = &[u8]> {
        self.text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
    }

    /// Number of the line, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Approximate number of bytes of the file read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.stream.get_ref().bytes_read()
    }

    /// An error in this line.
    pub(super) fn fail(&self, problem: impl Into<String>) -> Error {
        Error::input(&self.path, &format!("line {}", self.number), problem)
    }
}
