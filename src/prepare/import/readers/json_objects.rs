//! Objects of a JSON file, one after the other, or entries of its only object.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::input::{ByteStream, Input};
use super::values::parse_id;
use crate::words::error::{Error, Result};

/// Maximum length of an object in bytes; parsed, it takes several times as much.
const LONGEST: usize = 4 << 20;

/// Hint for an object of lists that are not the columns of one table.
pub(super) const LISTS: &str = "save each of its lists in Python: numpy.savetxt(\"NAME.txt\", json.load(open(\"x.json\"))[\"NAME\"], \"%s\")";

/// A value of an object, and its key.
pub(super) struct JsonField {
    pub(super) key: String,
    pub(super) value: Value,
}

/// An object, in the order in which the file has it.
pub(super) struct JsonObject {
    pub(super) fields: Vec<JsonField>,
}

impl JsonObject {
    /// The value of a key, which is probably at index `place`.
    pub(super) fn value(&self, place: usize, key: &str) -> Option<&Value> {
        let likely = self.fields.get(place).filter(|field| field.key == key);
        let field = likely.or_else(|| self.fields.iter().rev().find(|field| field.key == key));
        field.map(|field| &field.value)
    }
}

impl<'de> Deserialize<'de> for JsonObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Collects the fields.
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = JsonObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<JsonObject, M::Error> {
                let mut fields = Vec::new();
                while let Some((key, value)) = map.next_entry()? {
                    fields.push(JsonField { key, value });
                }
                Ok(JsonObject { fields })
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// The objects of a file that follow one another, or are in a list.
pub(super) struct JsonObjects {
    path: PathBuf,
    stream: BufReader<ByteStream>,
    /// Whether each entry of the file's only object is a row: an object with the entry's key as `id`, and its `value`.
    is_map: bool,
    /// The bytes of the last object.
    text: Vec<u8>,
    /// Number of bytes of all objects so far.
    bytes: usize,
    /// Number of line breaks so far, and before the last object.
    breaks: u64,
    before: u64,
}

impl JsonObjects {
    /// The objects of a file from its start on, or the entries of its only object.
    pub(super) fn open(input: &Input, is_map: bool) -> Result<Self> {
        let stream = BufReader::with_capacity(256 << 10, input.stream()?);
        let (path, text) = (input.path.clone(), Vec::new());
        Ok(JsonObjects { path, stream, is_map, text, bytes: 0, breaks: 0, before: 0 })
    }

    pub(super) fn next(&mut self) -> Result<Option<JsonObject>> {
        if !self.advance()? {
            return Ok(None);
        }
        self.bytes += self.text.len();
        let mut parsed = serde_json::from_slice::<JsonObject>(&self.text);
        if parsed.as_ref().is_ok_and(|object| object.fields.iter().any(|f| is_large(&f.value))) {
            parsed = serde_json::from_slice(&with_all_digits(&self.text));
        }
        let mut object = parsed.map_err(|e| {
            let error = self.fail(format!("is not JSON: {e}"));
            // Python's json writes them.
            let has_words = ["NaN", "Infinity"]
                .iter()
                .any(|word| self.text.windows(word.len()).any(|bytes| bytes == word.as_bytes()));
            if has_words {
                error.with_hint("write null for missing values, not NaN")
            } else {
                error
            }
        })?;
        if self.is_map {
            let Some(JsonField { key, value }) = object.fields.pop() else { return Ok(None) };
            let id = JsonField { key: "id".to_owned(), value: Value::String(key) };
            object.fields = vec![id, JsonField { key: "value".to_owned(), value }];
        }
        Ok(Some(object))
    }

    /// Number of bytes of all objects so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of the line on which the last object begins.
    pub(super) fn line(&self) -> u64 {
        self.before + 1
    }

    /// Approximate number of bytes of the file read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.stream.get_ref().bytes_read()
    }

    /// An error in the last object.
    pub(super) fn fail(&self, problem: impl Into<String>) -> Error {
        Error::input(&self.path, &format!("line {}", self.line()), problem)
    }

    /// Reads the text of the next object, or of the next entry as a separate object; false at the end.
    fn advance(&mut self) -> Result<bool> {
        let is_map = self.is_map;
        // In a map, the only object's own braces count as separators.
        let separators = if is_map { b"{}," } else { b"[]," };
        self.text.clear();
        self.text.extend(is_map.then_some(b'{'));
        let (mut depth, mut is_string, mut is_escaped, mut has_begun) = (0u64, false, false, false);
        loop {
            let bytes = self.stream.fill_buf();
            let bytes = bytes.map_err(|e| Error::unreadable(&self.path, &e))?;
            if bytes.is_empty() {
                return self.at_end(has_begun);
            }
            let (mut start, mut end) = (0, None);
            for (at, &byte) in bytes.iter().enumerate() {
                self.breaks += u64::from(byte == b'\n');
                if !has_begun {
                    if byte.is_ascii_whitespace() || separators.contains(&byte) {
                        continue;
                    }
                    (has_begun, start, self.before) = (true, at, self.breaks);
                    if !is_map && byte != b'{' {
                        let byte = char::from(byte);
                        let problem = format!("{byte:?} stands where an object begins");
                        return Err(self
                            .fail(problem)
                            .with_hint("each row is an object: {\"source\": 0, \"target\": 1}; write a list of nodes as a text with one on each line"));
                    }
                }
                match byte {
                    _ if is_escaped => is_escaped = false,
                    b'\\' if is_string => is_escaped = true,
                    b'"' => is_string = !is_string,
                    _ if is_string => {}
                    b',' | b'}' if depth == 0 => end = Some(at),
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if depth == 0 && !is_map {
                    end = Some(at + 1);
                }
                if end.is_some() {
                    break;
                }
            }
            let count = end.unwrap_or(bytes.len());
            if has_begun {
                self.text.extend_from_slice(&bytes[start..count]);
            }
            self.stream.consume(count);
            if end.is_some() {
                self.text.extend(is_map.then_some(b'}'));
                return Ok(true);
            }
            if self.text.len() > LONGEST {
                let what = if is_map { "a value" } else { "an object" };
                let problem = format!("begins {what} that is longer than {} MiB", LONGEST >> 20);
                let hint = format!(
                    "write each row as a separate object; if it is an object of lists, {LISTS}"
                );
                return Err(self.fail(problem).with_hint(hint));
            }
        }
    }

    /// The result at the end of the file.
    fn at_end(&mut self, has_begun: bool) -> Result<bool> {
        if self.is_map {
            self.before = self.breaks;
            let is_end = !has_begun && self.bytes > 0;
            return if is_end { Ok(false) } else { Err(self.fail("ends inside an object")) };
        }
        if has_begun { Err(self.fail("begins an object that does not end")) } else { Ok(false) }
    }
}

/// Whether a value is a number beyond those that keep all digits.
fn is_large(value: &Value) -> bool {
    const LARGEST: f64 = (1u64 << 63) as f64;
    value.as_f64().is_some_and(|number| value.is_f64() && number.abs() >= LARGEST)
}

/// An object's text with its whole numbers of more than 64 bits between quotes, as they may be ids; without those in
/// lists.
fn with_all_digits(text: &[u8]) -> Vec<u8> {
    let is_of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let (mut out, mut rest, mut depth) = (Vec::with_capacity(text.len() + 2), text, 0u64);
    while let Some(first) = rest.first() {
        let length = match first {
            b'"' => length_of_string(rest),
            b'-' | b'0'..=b'9' => rest.iter().take_while(|byte| is_of_number(byte)).count(),
            _ => 1,
        };
        match first {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let token = &rest[..length];
        let digits = token.strip_prefix(b"-").unwrap_or(token);
        let is_whole = digits.iter().all(u8::is_ascii_digit);
        let is_long =
            parse_id(digits).is_none_or(|size| digits.len() < token.len() && size > 1 << 63);
        let quote: &[u8] = if depth == 1 && is_whole && is_long { b"\"" } else { b"" };
        out.extend([quote, token, quote].concat());
        rest = &rest[length..];
    }
    out
}

/// Number of bytes of the string at the beginning of a text, with its quotes.
fn length_of_string(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at).filter(|byte| **byte != b'"') {
        at += 1 + usize::from(*byte == b'\\');
    }
    (at + 1).min(text.len())
}
