//! Records of text files: rows of fields.

use std::borrow::Cow;
use std::path::Path;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::text::{LONGEST, Lines, Separator, unquoted};
use crate::error::{Error, Result};

/// The records of a text file. A record is a line, or several if fields in quotes hold line breaks.
pub(crate) struct Records {
    lines: Lines,
    separator: Option<Separator>,
    /// Number of the line on which the record begins.
    number: u64,
    /// The parser of records with quotes among delimiters, once there was one.
    quoted: Option<Quoted>,
    /// Whether this record is such a one.
    is_quoted: bool,
}

impl Records {
    /// Opens a file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let lines = Lines::open(path)?;
        Ok(Records { lines, separator: None, number: 0, quoted: None, is_quoted: false })
    }

    /// Moves to the next record; false at the end. The first one shows which separator the file uses.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        if !self.lines.advance()? {
            return Ok(false);
        }
        self.number = self.lines.number();
        let text = self.lines.text();
        let separator = *self.separator.get_or_insert_with(|| Separator::guess(text));
        self.is_quoted = false;
        if let Separator::Byte(delimiter) = separator
            && text.contains(&b'"')
        {
            self.quoted.get_or_insert_with(|| Quoted::new(delimiter)).read(&mut self.lines)?;
            self.is_quoted = true;
        }
        Ok(true)
    }

    /// Lets the next record show the separator again: this one was a header.
    pub(crate) fn forget_separator(&mut self) {
        (self.separator, self.quoted) = (None, None);
    }

    /// The fields, without quotes and white space around them.
    pub(crate) fn fields(&self) -> Fields<'_> {
        match (&self.quoted, self.separator) {
            (Some(quoted), _) if self.is_quoted => Fields::Quoted { quoted, next: 0 },
            (_, Some(Separator::Byte(delimiter))) => {
                Fields::Delimited { rest: Some(self.lines.text()), delimiter }
            }
            _ => Fields::Blank { rest: self.lines.text() },
        }
    }

    /// The number of the record's first line, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Bytes read so far; compressed bytes if the file is compressed.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }

    /// An error in this record.
    pub(crate) fn fail(&self, problem: impl Into<String>) -> Error {
        Error::input(self.lines.path(), &format!("line {}", self.number), problem)
    }
}

/// The fields of a record.
pub(crate) enum Fields<'r> {
    /// Between white space; a field in quotes is a word.
    Blank { rest: &'r [u8] },
    /// Between delimiters, without quotes; `None` after the last field.
    Delimited { rest: Option<&'r [u8]>, delimiter: u8 },
    /// Between delimiters, some of them in quotes.
    Quoted { quoted: &'r Quoted, next: usize },
}

impl<'r> Iterator for Fields<'r> {
    type Item = Cow<'r, [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Fields::Blank { rest } => {
                let line = rest.trim_ascii_start();
                if line.is_empty() {
                    return None;
                }
                let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
                let (field, behind) = line.split_at(end);
                *rest = behind;
                Some(unquoted(field))
            }
            Fields::Delimited { rest, delimiter } => {
                let line = rest.take()?;
                let field = match line.iter().position(|byte| byte == delimiter) {
                    Some(end) => {
                        *rest = Some(&line[end + 1..]);
                        &line[..end]
                    }
                    None => line,
                };
                Some(Cow::Borrowed(field.trim_ascii()))
            }
            Fields::Quoted { quoted, next } => {
                let field = quoted.field(*next)?;
                *next += 1;
                // Quotes behind a blank do not count for the parser.
                let is_plain = field.first().is_some_and(u8::is_ascii_whitespace);
                let field = field.trim_ascii();
                Some(if is_plain { unquoted(field) } else { Cow::Borrowed(field) })
            }
        }
    }
}

/// A parser of records with quotes, and the last record.
pub(crate) struct Quoted {
    reader: Reader,
    bytes: Vec<u8>,
    /// The end of each field in `bytes`.
    ends: Vec<usize>,
    /// Number of fields.
    fields: usize,
}

impl Quoted {
    fn new(delimiter: u8) -> Self {
        let reader = ReaderBuilder::new().delimiter(delimiter).build();
        Quoted { reader, bytes: Vec::new(), ends: Vec::new(), fields: 0 }
    }

    /// Reads a record that begins on the current line.
    fn read(&mut self, lines: &mut Lines) -> Result<()> {
        let first = lines.number();
        self.reader.reset();
        self.fields = 0;
        let mut used = 0;
        while !self.parse(lines.raw(), &mut used) {
            // The last line of a file may lack its end.
            if !lines.raw().ends_with(b"\n") && self.parse(b"\n", &mut used) {
                break;
            }
            // A line break between quotes.
            if used as u64 > LONGEST || !lines.advance_raw()? {
                let problem = "begins a field in quotes that does not end";
                return Err(Error::input(lines.path(), &format!("line {first}"), problem));
            }
        }
        Ok(())
    }

    /// Parses a line; false if the record continues behind it. `used` bytes are there already.
    fn parse(&mut self, line: &[u8], used: &mut usize) -> bool {
        let mut line = line;
        loop {
            let (bytes, ends) = (&mut self.bytes[*used..], &mut self.ends[self.fields..]);
            let (result, read, written, ended) = self.reader.read_record(line, bytes, ends);
            line = &line[read..];
            *used += written;
            self.fields += ended;
            match result {
                ReadRecordResult::Record | ReadRecordResult::End => return true,
                ReadRecordResult::InputEmpty => return false,
                ReadRecordResult::OutputFull => self.bytes.resize(*used + line.len() + 64, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.fields + 8, 0),
            }
        }
    }

    fn field(&self, number: usize) -> Option<&[u8]> {
        let ends = &self.ends[..self.fields];
        let start = number.checked_sub(1).map_or(0, |before| ends[before]);
        Some(&self.bytes[start..*ends.get(number)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of each record of a text, and the numbers of their lines.
    fn records(text: &str) -> Result<Vec<(u64, Vec<String>)>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let mut records = Records::open(file.path())?;
        let mut found = Vec::new();
        while records.advance()? {
            let fields = records.fields();
            let fields = fields.map(|field| String::from_utf8(field.into_owned()).unwrap());
            found.push((records.number(), fields.collect()));
        }
        Ok(found)
    }

    fn fields(text: &str) -> Vec<String> {
        records(text).unwrap().remove(0).1
    }

    #[test]
    fn any_usual_separator_is_understood() {
        for line in ["1,2", "1, 2", "1;2", "1\t2", "1 | 2", "1   2", "1 \t2", "\"1\",2", "\"1\" 2"]
        {
            assert_eq!(fields(line), ["1", "2"], "{line}");
        }
    }

    #[test]
    fn separators_inside_quotes_belong_to_the_field() {
        assert_eq!(fields(r#""a,b","say ""hi""""#), ["a,b", r#"say "hi""#]);
        assert_eq!(fields("New York\tRome"), ["New York", "Rome"]);
        assert_eq!(fields("5\" pipe,2"), ["5\" pipe", "2"]);
        assert_eq!(fields("\"\",2"), ["", "2"]);
        assert_eq!(fields(r#""a", "b c""#), ["a", "b c"]);
    }

    #[test]
    fn fields_in_quotes_may_hold_line_breaks() {
        let text = "\u{feff}# who, whom\r\n\"a\nb, c\",\"d\n\n# no comment\"\r\n\n% end\n\"%e\",f";
        let found = records(text).unwrap();
        let first = vec!["a\nb, c".to_owned(), "d\n\n# no comment".to_owned()];
        assert_eq!(found, [(2, first), (8, vec!["%e".to_owned(), "f".to_owned()])]);
    }

    #[test]
    fn a_field_that_does_not_end_is_an_error_of_its_first_line() {
        let error = records("a,b\n\"c,d\ne,f\n").unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
        assert!(error.contains("in quotes that does not end"), "{error}");
    }
}
