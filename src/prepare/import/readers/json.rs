//! JSON: a row per object. Objects follow one another, as in JSON Lines, or are in a list.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::block::{CellBlock, Cells, TextSpan};
use super::format::{Format, SAME_LENGTH};
use super::input::Input;
use super::json_objects::{JsonObject, JsonObjects, LISTS};
use super::look::{Ask, Column, Form, Opened, Reader};
use crate::words::error::{Error, Result};

/// Number of objects that determine the columns, if they take at most [`BYTES`].
const SAMPLE: usize = 100;

/// Number of rows, and of bytes, after which a block ends.
const ROWS: usize = 1 << 12;
const BYTES: usize = 1 << 20;

const HINT: &str =
    "convert it in Python: pandas.read_json(\"x.json\").to_csv(\"x.csv\", index=False)";

pub(crate) const FORMAT: Format = Format { name: "JSON", needs_places: false, has, open };

fn has(input: &Input) -> bool {
    let mut bytes = input.head.iter().filter(|byte| !byte.is_ascii_whitespace());
    match (bytes.next(), bytes.next()) {
        (Some(b'{'), second) => second != Some(&b'['),
        (Some(b'['), Some(b'-' | b'0'..=b'9')) => {
            // A list of numbers, whose reader says how to write it, and not a name that begins with a bracket.
            let mut lines = input.head.trim_ascii_start().split(|byte| *byte == b'\n');
            let line = lines.next().unwrap_or_default().trim_ascii_end();
            let one_list = line.iter().position(|byte| *byte == b']') == line.len().checked_sub(1);
            let numbers = line.iter().all(|byte| b"0123456789+-.eE,[] \tNaInfinity".contains(byte));
            matches!(line.last(), Some(b'[' | b',')) || one_list && numbers
        }
        (Some(b'['), second) => matches!(second, Some(b'[' | b'{' | b'"')),
        _ => false,
    }
}

fn open(input: &Input, ask: &Ask<'_>) -> Result<Opened> {
    let is_map = is_map(input);
    let mut objects = JsonObjects::open(input, is_map)?;
    let mut sample = Vec::new();
    while sample.len() < SAMPLE
        && (sample.len() < 2 || objects.bytes() < BYTES)
        && let Some(object) = objects.next()?
    {
        sample.push(object);
    }
    if let [only] = &sample[..]
        && !is_map
        && only.fields.iter().any(|field| is_nested(&field.value))
    {
        let problem = "is one JSON object, not an object for each row";
        return Err(input.fail(problem).with_hint(hint_for(only)));
    }
    let columns = columns_of(&sample, ask.lists);
    if columns.is_empty() {
        return Err(input.fail("is JSON without an object that has keys").with_hint(HINT));
    }
    let is_list = input.head.trim_ascii_start().starts_with(b"[");
    let kind = match (is_map, is_list) {
        (true, _) => "a JSON object with a value for each id",
        (_, true) => "a JSON list",
        _ => "JSON Lines",
    };
    let objects = JsonObjects::open(input, is_map)?;
    let reader = JsonReader { objects, columns: columns.clone() };
    Ok(Opened { unit: "line", first: 1, ..Opened::new(columns, kind, Box::new(reader)) })
}

/// The hint for an object of columns: their lists may differ in length, or be in the form that pandas calls `split`.
fn hint_for(object: &JsonObject) -> &'static str {
    let fields = &object.fields;
    if ["columns", "data"].iter().all(|key| fields.iter().any(|field| field.key == *key)) {
        return "convert it in Python: pandas.read_json(\"x.json\", orient=\"split\").to_csv(\"x.csv\", index=False)";
    }
    let mut lists = fields.iter().filter_map(|field| field.value.as_array().map(Vec::len));
    let first = lists.next();
    if lists.all(|len| Some(len) == first) { HINT } else { LISTS }
}

/// Whether a file is one object whose keys are ids: `{"0": [1, 5], "1": [3]}`.
fn is_map(input: &Input) -> bool {
    let mut stream = serde_json::Deserializer::from_slice(&input.head).into_iter::<IgnoredAny>();
    let is_one = match stream.next() {
        Some(Ok(_)) => input.head[stream.byte_offset()..].trim_ascii().is_empty(),
        _ => !input.is_whole,
    };
    let start = input.head.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
    let key = start.trim_ascii_start().strip_prefix(b"\"").unwrap_or_default();
    let digits = key.iter().take_while(|byte| byte.is_ascii_digit()).count();
    is_one && digits > 0 && key.get(digits) == Some(&b'"')
}

/// Keys of these objects, in the order of the object with the most; those in `lists` stay lists.
fn columns_of(sample: &[JsonObject], lists: &[&str]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let most = sample.iter().rev().max_by_key(|object| object.fields.len());
    for field in most.into_iter().chain(sample).flat_map(|object| &object.fields) {
        let place = *places.entry(&field.key).or_insert(columns.len());
        if place == columns.len() {
            columns.push(Column::new(&field.key, Form::Text));
        }
        let column = &mut columns[place];
        match &field.value {
            Value::Array(values) if values.iter().any(is_nested) => {
                column.form = Form::nested_lists();
            }
            Value::Object(_) => column.form = Form::structures(),
            Value::Array(values) if matches!(column.form, Form::Text | Form::List) => {
                // Lists of one length are rows of numbers.
                let width = column.width.get_or_insert(values.len());
                let is_list = lists.contains(&field.key.as_str());
                if is_list || *width != values.len() || values.iter().any(Value::is_string) {
                    column.form = Form::List;
                }
            }
            _ => {}
        }
    }
    for column in columns.iter_mut().filter(|column| column.form == Form::List) {
        column.width = None;
    }
    columns
}

fn is_nested(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

/// A reader of the rows.
struct JsonReader {
    objects: JsonObjects,
    columns: Vec<Column>,
}

impl Reader for JsonReader {
    fn read(&mut self, columns: &[usize], block: &mut CellBlock) -> Result<()> {
        let mut cells = vec![Vec::new(); columns.len()];
        while block.rows < ROWS
            && block.bytes.len() < BYTES
            && let Some(object) = self.objects.next()?
        {
            self.check(&object)?;
            for (cells, at) in cells.iter_mut().zip(columns) {
                let column = &self.columns[*at];
                match (object.value(*at, &column.name), column.width) {
                    (None | Some(Value::Null), width) => {
                        cells.resize(cells.len() + width.unwrap_or(1), TextSpan::default());
                    }
                    (Some(Value::Array(values)), Some(width)) if values.len() == width => {
                        cells.extend(values.iter().map(|value| add(value, block)));
                    }
                    (Some(value), None)
                        if value.is_array() == (column.form == Form::List)
                            && !value.is_object() =>
                    {
                        cells.push(add(value, block));
                    }
                    (Some(value), width) => return Err(self.uneven(column, value, width)),
                }
            }
            block.lines.push(self.objects.line());
            block.rows += 1;
        }
        block.columns.extend(cells.into_iter().map(Cells::Text));
        Ok(())
    }

    fn bytes_read(&self) -> u64 {
        self.objects.bytes_read()
    }
}

impl JsonReader {
    /// Returns an error for keys that none of the first objects has, and for duplicate keys.
    fn check(&self, object: &JsonObject) -> Result<()> {
        let is_known = |at: usize, key: &str| {
            self.columns.get(at).is_some_and(|column| column.name == key)
                || self.columns.iter().any(|column| column.name == key)
        };
        let fields = &object.fields;
        let twice = fields.iter().enumerate().find(|(at, field)| {
            self.columns.get(*at).is_none_or(|column| column.name != field.key)
                && fields[..*at].iter().any(|earlier| earlier.key == field.key)
        });
        if let Some((_, field)) = twice {
            let problem = format!("key {:?} occurs twice", field.key);
            return Err(self.objects.fail(problem).with_hint("leave one of them out"));
        }
        let new = fields.iter().enumerate().find(|(at, field)| !is_known(*at, &field.key));
        new.map_or(Ok(()), |(_, field)| {
            let problem = format!("key {:?} is in none of the first objects", field.key);
            let hint = "write all keys in the first object, and null for missing values";
            Err(self.objects.fail(problem).with_hint(hint))
        })
    }

    fn uneven(&self, column: &Column, value: &Value, width: Option<usize>) -> Error {
        let found = match value {
            Value::Array(values) => format!("a list of {}", values.len()),
            Value::Object(_) => "a structure".to_owned(),
            _ => "one value".to_owned(),
        };
        let due = match (width, &column.form) {
            (Some(width), _) => format!("a list of {width}"),
            (None, Form::List) => "a list".to_owned(),
            _ => "one value".to_owned(),
        };
        let problem = format!("column {}: {found}, but other objects have {due}", column.name);
        self.objects.fail(problem).with_hint(format!(
            "{SAME_LENGTH}; for sets of numbers, put lists of several lengths among the first {SAMPLE} objects"
        ))
    }
}

/// Appends a value as text.
fn add(value: &Value, block: &mut CellBlock) -> TextSpan {
    match value {
        Value::Null => TextSpan::default(),
        Value::String(text) => block.add_text(text.as_bytes()),
        other => block.add_text(other.to_string().as_bytes()),
    }
}
