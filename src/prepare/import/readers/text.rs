//! Text files: a row per line.

use std::io::Read;
use std::path::PathBuf;
use std::rc::Rc;

use memchr::{memchr, memrchr};

use super::bad_rows::BadRowList;
use super::block::{CellBlock, Cells, TextSpan};
use super::dialect::Dialect;
use super::fields::{Separator, line_breaks};
use super::format::Format;
use super::input::{ByteStream, Input};
use super::look::{Ask, Column, Form, Opened, Reader, Wants};
use super::sample::{Comments, LONGEST, too_long};
use crate::words::error::{Error, Result};

/// Number of bytes read at a time.
const CHUNK: usize = 256 << 10;

pub(crate) const FORMAT: Format = Format { name: "text", needs_places: false, has: |_| true, open };

fn open(input: &Input, ask: &Ask<'_>) -> Result<Opened> {
    let dialect = Dialect::of(input, ask)?;
    let name = |at: usize| match &dialect.names {
        Some(names) => names[at].as_str(),
        None => "",
    };
    let columns = (0..dialect.width).map(|at| Column::new(name(at), Form::Text)).collect();
    let reader = TextReader {
        path: input.path.clone(),
        stream: input.stream()?,
        is_named: dialect.names.is_some(),
        separator: dialect.separator,
        comments: dialect.comments,
        width: dialect.width,
        skip: dialect.skip,
        line: 0,
        rest: Vec::new(),
        chunk: CHUNK,
        is_end: false,
        keeps_empty: dialect.width == 1 && ask.wants == Wants::Table,
        empty: Vec::new(),
        fields: Vec::new(),
        bad_rows: ask.bad_rows.cloned(),
    };
    let opened = Opened::new(columns, &dialect.describe(), Box::new(reader));
    let (named, first) = (dialect.names.is_some(), dialect.skip + 1);
    let facts = dialect.facts;
    Ok(Opened { named, unit: "line", first, facts, has_words_for_missing: true, ..opened })
}

struct TextReader {
    path: PathBuf,
    stream: ByteStream,
    is_named: bool,
    separator: Separator,
    comments: Comments,
    width: usize,
    /// Number of lines before the first row.
    skip: u64,
    /// Number of the last line read, from 1.
    line: u64,
    /// Bytes after the last record.
    rest: Vec<u8>,
    /// Number of bytes to read.
    chunk: usize,
    is_end: bool,
    /// Whether an empty line between others is a missing value.
    keeps_empty: bool,
    /// Numbers of empty lines, which count as values if another record follows.
    empty: Vec<u64>,
    fields: Vec<TextSpan>,
    bad_rows: Option<Rc<BadRowList>>,
}

impl Reader for TextReader {
    fn read(&mut self, columns: &[usize], block: &mut CellBlock) -> Result<()> {
        while block.rows == 0 {
            block.clear();
            block.columns.extend(columns.iter().map(|_| Cells::Text(Vec::new())));
            if !self.fill(&mut block.bytes)? {
                return Ok(());
            }
            self.read_records(columns, block)?;
        }
        Ok(())
    }

    fn bytes_read(&self) -> u64 {
        self.stream.bytes_read()
    }
}

impl TextReader {
    /// Fills `bytes` with lines; returns false at the end.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> Result<bool> {
        std::mem::swap(bytes, &mut self.rest);
        self.rest.clear();
        loop {
            let before = bytes.len();
            let more = self.chunk.saturating_sub(before).max(CHUNK) as u64;
            let read = self.stream.by_ref().take(more).read_to_end(bytes);
            let read = read.map_err(|e| Error::unreadable(&self.path, &e))?;
            self.is_end = (read as u64) < more;
            let end = if self.is_end { Some(bytes.len()) } else { None };
            let end = end.or_else(|| memrchr(b'\n', &bytes[before..]).map(|at| before + at + 1));
            match end {
                Some(end) => {
                    self.rest.extend_from_slice(&bytes[end..]);
                    bytes.truncate(end);
                    break;
                }
                None if bytes.len() as u64 > LONGEST => {
                    return Err(too_long(&self.path, self.line + 1 + line_breaks(bytes)));
                }
                None => {}
            }
        }
        if let Err(e) = std::str::from_utf8(bytes) {
            let lines = line_breaks(&bytes[..e.valid_up_to()]);
            let problem = "is not UTF-8";
            return Err(self
                .fail(self.line + 1 + lines, problem)
                .with_hint("convert the file, for instance: iconv -f latin1 -t utf-8 FILE > NEW"));
        }
        Ok(!bytes.is_empty())
    }

    fn read_records(&mut self, columns: &[usize], block: &mut CellBlock) -> Result<()> {
        let end = block.bytes.len();
        let mut fields = std::mem::take(&mut self.fields);
        let mut at = 0;
        while at < end {
            let stop = memchr(b'\n', &block.bytes[at..end]).map_or(end, |len| at + len);
            if (stop - at) as u64 > LONGEST {
                return Err(too_long(&self.path, self.line + 1));
            }
            let line = &block.bytes[at..stop];
            if self.line < self.skip || self.separator.is_empty_line(line) {
                self.line += 1;
                if self.keeps_empty && self.line > self.skip {
                    self.empty.push(self.line);
                }
                at = stop + 1;
                continue;
            }
            let may_be_comment = self.comments.may_be(line.trim_ascii());
            let before = block.bytes.len();
            let next = self.separator.split(&mut block.bytes, at, end, &mut fields);
            let Some(next) = next else {
                // The record continues in the next chunk.
                if self.is_end || (end - at) as u64 > LONGEST {
                    let problem = "begins a field in quotes that does not end";
                    return Err(self.fail(self.line + 1, problem));
                }
                let tail = [&block.bytes[at..end], &self.rest].concat();
                (self.rest, self.chunk) = (tail, 2 * (end - at) + CHUNK);
                break;
            };
            if may_be_comment && self.is_comment(&block.bytes, &fields) {
                block.bytes.truncate(before);
                // A quote in a comment is a character.
                self.line += 1;
                at = stop + 1;
                continue;
            }
            let number = self.line + 1;
            (self.line, at) = (self.line + next.lines, next.at);
            if let Err(error) = self.check(&fields, number) {
                match &self.bad_rows {
                    Some(list) => list.take(error)?,
                    None => return Err(error),
                }
                continue;
            }
            self.add_empty(block);
            for (cells, column) in block.columns.iter_mut().zip(columns) {
                if let Cells::Text(spans) = cells {
                    spans.push(fields[*column]);
                }
            }
            block.lines.push(number);
            block.rows += 1;
        }
        self.fields = fields;
        Ok(())
    }

    /// Whether a line that looks like a comment is one.
    fn is_comment(&self, bytes: &[u8], fields: &[TextSpan]) -> bool {
        let is_mark = |byte: &u8| matches!(byte, b'#' | b'%');
        let first = fields.first().map_or(&[][..], |field| field.of(bytes));
        match self.comments {
            // A word of marks only begins a sentence.
            Comments::Usual => {
                fields.len() != self.width
                    || self.line < self.skip
                    || self.separator == Separator::Blank && first.iter().all(is_mark)
            }
            Comments::Char(_) => true,
            Comments::None => false,
        }
    }

    /// Adds the rows of empty lines.
    fn add_empty(&mut self, block: &mut CellBlock) {
        for number in self.empty.drain(..) {
            for cells in &mut block.columns {
                if let Cells::Text(spans) = cells {
                    spans.push(TextSpan::default());
                }
            }
            block.lines.push(number);
            block.rows += 1;
        }
    }

    /// Checks the number of fields.
    fn check(&self, fields: &[TextSpan], number: u64) -> Result<()> {
        let (found, due) = (fields.len(), self.width);
        if found == due {
            return Ok(());
        }
        let s = if found == 1 { "" } else { "s" };
        let (due, hint) = if self.is_named {
            let hint = "put a field that holds the separator between double quotes, and leave a \
                        missing value empty";
            (format!("the first line names {due}"), hint)
        } else {
            (format!("the lines before have {due}"), "all lines have the same columns")
        };
        let problem = format!("has {found} column{s}, but {due}");
        Err(self.fail(number, problem).with_hint(hint))
    }

    fn fail(&self, line: u64, problem: impl Into<String>) -> Error {
        Error::input(&self.path, &format!("line {line}"), problem)
    }
}
