//! JSON: a row for each object, which follow one another as in JSON Lines, or in a list.

use std::collections::BTreeMap;

use serde_json::Value;

use super::block::{CellBlock, Cells, TextSpan};
use super::format::Format;
use super::input::Input;
use super::json_objects::{JsonObject, JsonObjects};
use super::look::{Ask, Column, Form, Opened, Reader};
use crate::error::{Error, Result};

/// Number of objects that show which columns there are, if they do not take more than [`BYTES`].
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
        (Some(b'['), second) => matches!(second, Some(b'[' | b'{' | b'"')),
        _ => false,
    }
}

fn open(input: &Input, _: &Ask<'_>) -> Result<Opened> {
    let mut objects = JsonObjects::open(input)?;
    let mut sample = Vec::new();
    while sample.len() < SAMPLE
        && (sample.len() < 2 || objects.bytes() < BYTES)
        && let Some(object) = objects.next()?
    {
        sample.push(object);
    }
    if let [only] = &sample[..]
        && only.fields.iter().any(|field| is_nested(&field.value))
    {
        let problem = "is one JSON object, not an object for each row";
        return Err(input.fail(problem).with_hint(HINT));
    }
    let columns = columns_of(&sample);
    if columns.is_empty() {
        return Err(input.fail("is JSON without an object that has keys").with_hint(HINT));
    }
    let is_list = input.head.trim_ascii_start().starts_with(b"[");
    let kind = if is_list { "a JSON list" } else { "JSON Lines" };
    let reader = JsonReader { objects: JsonObjects::open(input)?, columns: columns.clone() };
    Ok(Opened { unit: "line", first: 1, ..Opened::new(columns, kind, Box::new(reader)) })
}

/// The keys of some objects, in the order of the object that has most.
fn columns_of(sample: &[JsonObject]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let most = sample.iter().rev().max_by_key(|object| object.fields.len());
    for field in most.into_iter().chain(sample).flat_map(|object| &object.fields) {
        let place = *places.entry(&field.key).or_insert(columns.len());
        if place == columns.len() {
            columns.push(Column::new(&field.key, Form::Text));
        }
        // The first value that is nested shows that all are.
        let column = &mut columns[place];
        if column.form == Form::Text && column.width.is_none() {
            (column.form, column.width) = match &field.value {
                Value::Array(values) if values.iter().any(is_nested) => {
                    (Form::nested_lists(), None)
                }
                Value::Array(values) if values.iter().any(Value::is_string) => {
                    (Form::lists_of_strings(), None)
                }
                Value::Array(values) => (Form::Text, Some(values.len())),
                Value::Object(_) => (Form::structures(), None),
                _ => (Form::Text, None),
            };
        }
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
                    (Some(value), None) if !is_nested(value) => cells.push(add(value, block)),
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
    /// Refuses keys that none of the first objects has.
    fn check(&self, object: &JsonObject) -> Result<()> {
        let is_known = |at: usize, key: &str| {
            self.columns.get(at).is_some_and(|column| column.name == key)
                || self.columns.iter().any(|column| column.name == key)
        };
        let new = object.fields.iter().enumerate().find(|(at, field)| !is_known(*at, &field.key));
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
        let due = width.map_or("one value".to_owned(), |width| format!("a list of {width}"));
        let problem = format!("column {}: {found}, but other objects have {due}", column.name);
        self.objects.fail(problem).with_hint("lists become columns, so all have the same length")
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
