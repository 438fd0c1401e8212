//! Records of text files: rows of fields.

use std::borrow::Cow;
use std::path::Path;

use csv_core::{ReadFieldResult, Reader, ReaderBuilder};

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

    /// The fields, with empty ones at either end of a line whose separator is a tab.
    pub(super) fn all_fields(&self) -> Fields<'_> {
        match self.separator {
            Some(Separator::Byte(b'\t')) if !self.is_quoted => {
                Fields::Delimited { rest: Some(self.lines.without_end()), delimiter: b'\t' }
            }
            _ => self.fields(),
        }
    }

    /// The record as one field.
    pub(super) fn whole(&self) -> Cow<'_, [u8]> {
        match &self.quoted {
            Some(quoted) if self.is_quoted => Cow::Borrowed(quoted.field(0).unwrap_or_default()),
            _ => unquoted(self.lines.text()),
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
                Some(Cow::Borrowed(field.trim_ascii()))
            }
        }
    }
}

/// A parser of records with quotes, and the last record.
pub(crate) struct Quoted {
    reader: Reader,
    delimiter: u8,
    /// Whether the next byte begins a field.
    at_start: bool,
    bytes: Vec<u8>,
    /// The end of each field in `bytes`.
    ends: Vec<usize>,
}

impl Quoted {
    fn new(delimiter: u8) -> Self {
        let reader = ReaderBuilder::new().delimiter(delimiter).build();
        Quoted { reader, delimiter, at_start: true, bytes: Vec::new(), ends: Vec::new() }
    }

    /// Reads a record that begins on the current line.
    fn read(&mut self, lines: &mut Lines) -> Result<()> {
        let first = lines.number();
        self.reader.reset();
        self.at_start = true;
        self.ends.clear();
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
            if self.at_start {
                // The parser knows quotes only where they begin a field.
                let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t') && *byte != self.delimiter;
                line = &line[line.iter().take_while(|byte| is_blank(byte)).count()..];
            }
            // No bytes would mean the end of the file.
            if line.is_empty() {
                return false;
            }
            let (result, read, written) = self.reader.read_field(line, &mut self.bytes[*used..]);
            line = &line[read..];
            *used += written;
            self.at_start &= read == 0;
            match result {
                ReadFieldResult::InputEmpty => return false,
                ReadFieldResult::OutputFull => self.bytes.resize(*used + line.len() + 64, 0),
                ReadFieldResult::End => return true,
                ReadFieldResult::Field { record_end } => {
                    self.ends.push(*used);
                    self.at_start = true;
                    if record_end {
                        return true;
                    }
                }
            }
        }
    }

    fn field(&self, number: usize) -> Option<&[u8]> {
        let end = *self.ends.get(number)?;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
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
    fn quotes_behind_a_blank_begin_a_field_too() {
        assert_eq!(fields(r#"1, "a, b""#), ["1", "a, b"]);
        assert_eq!(fields("  \"a; b\" ;\t\"c\" ; \"d \"\"e;\"\"\""), ["a; b", "c", "d \"e;\""]);
        assert_eq!(fields("1,  \"a,\nb\",2\n"), ["1", "a,\nb", "2"]);
        assert_eq!(fields("1\t \"a\tb\"\t"), ["1", "a\tb", ""]);
        assert_eq!(fields("\"1\", "), ["1", ""]);
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
