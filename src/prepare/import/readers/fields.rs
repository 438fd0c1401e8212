//! Records of text: rows of fields.

use memchr::{memchr, memchr2};

use super::block::TextSpan;

/// The separator between the fields of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    /// Nothing: a record is one field.
    None,
    /// Any white space.
    Blank,
    /// One such byte, with optional white space around it.
    Byte(u8),
}

/// The end of a record in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordEnd {
    /// The place after it.
    pub(crate) at: usize,
    /// Number of lines that it takes: several if fields in quotes hold line breaks.
    pub(crate) lines: u64,
}

impl Separator {
    /// Splits the record that begins at `start` into fields, without surrounding white space and quotes. Texts that
    /// differ from the file's bytes are appended to `bytes`, whose first `end` bytes are the file's. `None` if a quoted
    /// field continues after `end`.
    pub(crate) fn split(
        self,
        bytes: &mut Vec<u8>,
        start: usize,
        end: usize,
        fields: &mut Vec<TextSpan>,
    ) -> Option<RecordEnd> {
        fields.clear();
        let (mut at, mut lines) = (start, 1);
        loop {
            while at < end && self.is_padding(bytes[at]) {
                at += 1;
            }
            if self == Separator::Blank && (at == end || bytes[at] == b'\n') {
                return Some(RecordEnd { at: (at + 1).min(end), lines });
            }
            // A quote starts a quoted field only at the beginning of a field.
            let is_quoted = at < end && bytes[at] == b'"';
            let quoted =
                if is_quoted { self.quoted_field(bytes, at, end) } else { Quoted::Literal };
            let field = match quoted {
                Quoted::Field { text, stop, breaks } => {
                    lines += breaks;
                    at = stop;
                    text
                }
                Quoted::Open => return None,
                Quoted::Literal => {
                    let stop = self.end_of_field(bytes, at, end);
                    let text = trimmed(bytes, at, stop);
                    at = stop;
                    text
                }
            };
            fields.push(field);
            if at == end || bytes[at] == b'\n' {
                return Some(RecordEnd { at: (at + 1).min(end), lines });
            }
            at += 1;
        }
    }

    /// Whether a line holds neither text nor separators.
    pub(crate) fn is_empty_line(self, line: &[u8]) -> bool {
        line.iter().all(|byte| byte.is_ascii_whitespace() && self != Separator::Byte(*byte))
    }

    /// White space before a field.
    fn is_padding(self, byte: u8) -> bool {
        let is_separator = matches!(self, Separator::Byte(separator) if separator == byte);
        byte.is_ascii_whitespace() && byte != b'\n' && !is_separator
    }

    /// The place of the separator or of the line break after a field.
    fn end_of_field(self, bytes: &[u8], start: usize, end: usize) -> usize {
        let bytes = &bytes[start..end];
        let len = match self {
            Separator::None => memchr(b'\n', bytes),
            Separator::Blank => bytes.iter().position(u8::is_ascii_whitespace),
            Separator::Byte(separator) => memchr2(separator, b'\n', bytes),
        };
        len.map_or(end, |len| start + len)
    }

    /// A field whose first byte is a quote.
    fn quoted_field(self, bytes: &mut Vec<u8>, start: usize, end: usize) -> Quoted {
        let mut close = start + 1;
        let mut has_escapes = false;
        loop {
            let Some(len) = memchr(b'"', &bytes[close.min(end)..end]) else {
                // Quoted fields may contain line breaks only if there are separators.
                return match self {
                    Separator::Byte(_) => Quoted::Open,
                    _ => Quoted::Literal,
                };
            };
            close += len;
            if bytes.get(close + 1).filter(|_| close + 1 < end) != Some(&b'"') {
                break;
            }
            has_escapes = true;
            close += 2;
        }
        let stop = self.end_of_field(bytes, close + 1, end);
        let behind = trimmed(bytes, close + 1, stop);
        let breaks = line_breaks(&bytes[start..close]);
        if behind.start < behind.end && self == Separator::None
            || breaks > 0 && self == Separator::Blank
        {
            return Quoted::Literal;
        }
        if !has_escapes && behind.start == behind.end {
            return Quoted::Field { text: TextSpan::new(start + 1, close), stop, breaks };
        }
        let mut text = Vec::with_capacity(stop - start);
        let mut rest = &bytes[start + 1..close];
        while let Some((&byte, following)) = rest.split_first() {
            text.push(byte);
            rest = if byte == b'"' { &following[following.len().min(1)..] } else { following };
        }
        text.extend_from_slice(behind.of(bytes));
        let first = bytes.len();
        bytes.extend_from_slice(&text);
        Quoted::Field { text: TextSpan::new(first, bytes.len()), stop, breaks }
    }
}

/// Role of a quote at the beginning of a field.
enum Quoted {
    /// The beginning of a field in quotes, and the place of the separator after it.
    Field { text: TextSpan, stop: usize, breaks: u64 },
    /// The beginning of a field in quotes that does not end.
    Open,
    /// An ordinary character.
    Literal,
}

/// A range of bytes without white space around it.
fn trimmed(bytes: &[u8], start: usize, end: usize) -> TextSpan {
    let text = &bytes[start..end.max(start)];
    let before = text.len() - text.trim_ascii_start().len();
    let len = text.trim_ascii().len();
    TextSpan::new(start + before, start + before + len)
}

/// Number of line breaks in a text.
pub(super) fn line_breaks(bytes: &[u8]) -> u64 {
    bytes.split(|byte| *byte == b'\n').count() as u64 - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of each record of a text.
    fn records(separator: Separator, text: &str) -> Vec<Vec<String>> {
        let mut bytes = text.as_bytes().to_vec();
        let (mut found, mut fields, mut at) = (Vec::new(), Vec::new(), 0);
        while at < text.len() {
            let Some(end) = separator.split(&mut bytes, at, text.len(), &mut fields) else { break };
            at = end.at;
            found.push(fields.iter().map(|span| span.text_of(&bytes)).collect());
        }
        found
    }

    fn fields(separator: u8, text: &str) -> Vec<String> {
        let separator =
            if separator == b' ' { Separator::Blank } else { Separator::Byte(separator) };
        records(separator, text).remove(0)
    }

    #[test]
    fn separators_inside_quotes_belong_to_the_field() {
        assert_eq!(fields(b',', r#""a,b","say ""hi""""#), ["a,b", r#"say "hi""#]);
        assert_eq!(fields(b'\t', "New York\tRome"), ["New York", "Rome"]);
        assert_eq!(fields(b',', "5\" pipe,2"), ["5\" pipe", "2"]);
        assert_eq!(fields(b',', "\"\",2"), ["", "2"]);
        assert_eq!(fields(b',', r#""a", "b c""#), ["a", "b c"]);
        assert_eq!(fields(b' ', r#""a b" 2"#), ["a b", "2"]);
        assert_eq!(fields(b' ', "\"1\" 2\r\n"), ["1", "2"]);
        assert_eq!(records(Separator::None, "\"a, b\"\n\"c\" d\n"), [["a, b"], ["\"c\" d"]]);
    }

    #[test]
    fn quotes_behind_a_blank_begin_a_field_too() {
        assert_eq!(fields(b',', r#"1, "a, b""#), ["1", "a, b"]);
        assert_eq!(
            fields(b';', "  \"a; b\" ;\t\"c\" ; \"d \"\"e;\"\"\""),
            ["a; b", "c", "d \"e;\""]
        );
        assert_eq!(fields(b',', "1,  \"a,\nb\",2\n"), ["1", "a,\nb", "2"]);
        assert_eq!(fields(b'\t', "1\t \"a\tb\"\t"), ["1", "a\tb", ""]);
        assert_eq!(fields(b',', "\"1\", "), ["1", ""]);
    }

    #[test]
    fn fields_in_quotes_may_hold_line_breaks() {
        let text = "\"a\nb, c\",\"d\n\n# no comment\"\r\n\"%e\",f";
        let first = vec!["a\nb, c".to_owned(), "d\n\n# no comment".to_owned()];
        let due = [first, vec!["%e".to_owned(), "f".to_owned()]];
        assert_eq!(records(Separator::Byte(b','), text), due);
        assert_eq!(records(Separator::Byte(b','), "a,b\n\"c,d\ne,f\n").len(), 1);
    }
}
