//! The first lines of a text file.

use std::io::Read;
use std::path::Path;

use super::fields::{Separator, line_breaks};
use super::input::Input;
use crate::words::error::{Error, Result};

/// Largest number of records examined.
const RECORDS: usize = 100;

/// Smallest number of lines examined, if the file has them.
const FEWEST: usize = 4;

/// Largest number of columns of a file, because each takes some hundred bytes of memory.
pub(crate) const MOST_COLUMNS: usize = 1 << 16;

/// Largest length of a line in bytes. A line is held in memory, and a small compressed file may have lines of any
/// length.
pub(crate) const LONGEST: u64 = 64 << 20;

/// Rule that says which lines are comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comments {
    /// Before the first record, lines with `#` or `%`. After it, only those lines that do not have the file's number of
    /// columns.
    Usual,
    /// Lines that begin with this character.
    Char(u8),
    None,
}

impl Comments {
    /// Whether a line may be a comment.
    pub(crate) fn may_be(self, line: &[u8]) -> bool {
        match self {
            Comments::Usual => matches!(line.first(), Some(b'#' | b'%')),
            Comments::Char(byte) => line.first() == Some(&byte),
            Comments::None => false,
        }
    }
}

/// A line, and its number from 1.
#[derive(Clone, Debug)]
pub(crate) struct SampleLine {
    pub(crate) number: u64,
    pub(crate) text: String,
}

/// The first lines of a text file.
pub(crate) struct Sample {
    /// Comments before the first record.
    pub(crate) comments: Vec<SampleLine>,
    /// Nonempty lines from the first record on.
    pub(crate) lines: Vec<SampleLine>,
    /// Number of lines before the first record, and with it.
    pub(crate) skip: u64,
    pub(crate) first_lines: u64,
    /// The separator that the file names, as Excel does: `sep=;`.
    named: Option<u8>,
    bytes: Vec<u8>,
    /// Place of the first record's beginning.
    start: usize,
    rule: Comments,
}

impl Sample {
    /// Reads the first lines of a file.
    pub(crate) fn of(input: &Input, rule: Comments) -> Result<Self> {
        let bytes = complete_lines(input)?;
        if bytes.iter().take(1 << 12).any(|byte| *byte == 0) {
            return Err(input.fail("is a binary file of an unknown format").with_hint(
                "files may be text, numpy's .npy and .npz, Parquet, Matrix Market, JSON, METIS's .graph and networkx's .adjlist",
            ));
        }
        if !bytes.contains(&b'\n') && bytes.trim_ascii_end().contains(&b'\r') {
            return Err(input
                .fail("ends lines with carriage returns alone")
                .with_hint("write line feeds: tr '\\r' '\\n' < FILE > NEW"));
        }
        let (mut comments, mut lines) = (Vec::new(), Vec::new());
        let (mut skip, mut at, mut start, mut named) = (0, 0, None, None);
        for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            let text = line.trim_ascii();
            let of_excel = text.strip_prefix(b"sep=").filter(|rest| rest.len() == 1);
            let shown =
                || SampleLine { number, text: String::from_utf8_lossy(line).trim_end().to_owned() };
            // Tabs may separate empty fields, but not before comments.
            let has_none = || lines.iter().all(|line: &SampleLine| line.text.is_empty());
            if text.is_empty() && !line.contains(&b'\t') {
            } else if rule.may_be(text) && has_none() {
                comments.push(shown());
                (start, lines) = (None, Vec::new());
            } else if start.is_none() && of_excel.is_some() {
                named = of_excel.map(|rest| rest[0]);
            } else {
                if start.is_none() {
                    (start, skip) = (Some(at), number - 1);
                }
                lines.push(shown());
                if lines.len() == RECORDS {
                    break;
                }
            }
            at += line.len();
        }
        if start.is_none() {
            skip = bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
        }
        let start = start.unwrap_or(bytes.len());
        let first_lines = skip + 1;
        Ok(Sample { comments, lines, skip, first_lines, named, bytes, start, rule })
    }

    /// The separator that the file names.
    pub(crate) fn separator(&self) -> Option<Separator> {
        self.named.map(Separator::Byte)
    }

    /// The first records, without possible comments.
    pub(crate) fn records(&mut self, separator: Separator) -> Vec<Vec<String>> {
        let end = self.bytes.len();
        let (mut found, mut fields, mut at, mut lines) =
            (Vec::new(), Vec::new(), self.start, self.skip);
        while at < end && found.len() < RECORDS {
            let Some(next) = separator.split(&mut self.bytes, at, end, &mut fields) else { break };
            lines += next.lines;
            let text = &self.bytes[at..next.at];
            let is_comment = !found.is_empty() && self.rule.may_be(text.trim_ascii());
            if !is_comment && !separator.is_empty_line(text) {
                let words = fields.iter().take(MOST_COLUMNS + 1);
                found.push(words.map(|field| field.text_of(&self.bytes)).collect());
                if found.len() == 1 {
                    self.first_lines = lines;
                }
            }
            at = next.at;
        }
        self.bytes.truncate(end);
        found
    }

    /// Splits a line into fields.
    pub(crate) fn fields(separator: Separator, line: &str) -> Vec<String> {
        let (mut bytes, mut fields) = (line.as_bytes().to_vec(), Vec::new());
        let end = bytes.len();
        separator.split(&mut bytes, 0, end, &mut fields);
        fields.iter().map(|field| field.text_of(&bytes)).collect()
    }

    /// Whether every occurrence of a byte is followed by a blank.
    pub(crate) fn is_always_before_blank(&self, byte: u8) -> bool {
        let text = &self.bytes[self.start..];
        text.windows(2).filter(|pair| pair[0] == byte).all(|pair| pair[1] == b' ')
    }
}

/// The beginning of a file, up to the end of a line.
fn complete_lines(input: &Input) -> Result<Vec<u8>> {
    let mut bytes = input.head.clone();
    let mut is_whole = input.is_whole;
    // Rows with many columns are long.
    for more in [1 << 20, LONGEST + 1] {
        let lines = line_breaks(&bytes) as usize;
        if is_whole || lines >= if more > LONGEST { 1 } else { FEWEST } {
            break;
        }
        let mut start = Vec::new();
        let read = input.stream()?.take(more).read_to_end(&mut start);
        read.map_err(|e| Error::unreadable(&input.path, &e))?;
        is_whole = (start.len() as u64) < more;
        bytes = start;
    }
    if is_whole {
        return Ok(bytes);
    }
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    let Some(end) = end else { return Err(too_long(&input.path, 1)) };
    bytes.truncate(end + 1);
    Ok(bytes)
}

pub(crate) fn too_long(path: &Path, line: u64) -> Error {
    let problem = format!("is longer than {} MiB", LONGEST >> 20);
    Error::input(path, &format!("line {line}"), problem)
        .with_hint("a line holds one edge, or the row of one node")
}
