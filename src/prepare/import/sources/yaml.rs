//! The part of YAML that lists of files are written in: blocks of keys and of items, and plain or quoted values.

use serde_json::{Map, Value};

/// A line: its indentation, and its text.
struct Line {
    number: usize,
    indent: usize,
    text: String,
}

/// Parses a text. `Err` describes the first line that is not understood.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut lines: Vec<Line> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let bare = line.split_once(" #").map_or(line, |(before, _)| before).trim_end();
        let text = bare.trim_start();
        if !text.is_empty() && !text.starts_with('#') && text != "---" {
            lines.push(Line { number, indent: bare.len() - text.len(), text: text.to_owned() });
        }
    }
    let mut blocks = Blocks { lines, at: 0 };
    let value = blocks.block(0)?;
    match blocks.lines.get(blocks.at) {
        Some(line) => Err(line.fail("is indented unlike the lines before it")),
        None => Ok(value),
    }
}

impl Line {
    fn fail(&self, problem: &str) -> String {
        format!("line {}: {problem}", self.number)
    }

    fn is_item(&self) -> bool {
        self.text == "-" || self.text.starts_with("- ")
    }
}

/// Lines of which some have been read.
struct Blocks {
    lines: Vec<Line>,
    at: usize,
}

impl Blocks {
    /// The next line, if it has this indentation and begins an item, or not.
    fn next(&self, indent: usize, is_item: bool) -> Option<&Line> {
        let line = self.lines.get(self.at)?;
        (line.indent == indent && line.is_item() == is_item).then_some(line)
    }

    /// A block whose lines are indented by `least` or more; none is null.
    fn block(&mut self, least: usize) -> Result<Value, String> {
        let Some(line) = self.lines.get(self.at).filter(|line| line.indent >= least) else {
            return Ok(Value::Null);
        };
        let indent = line.indent;
        if line.is_item() { self.items(indent) } else { self.keys(indent) }
    }

    fn items(&mut self, indent: usize) -> Result<Value, String> {
        let mut items = Vec::new();
        while self.next(indent, true).is_some() {
            let line = &mut self.lines[self.at];
            let rest = line.text[1..].trim_start().to_owned();
            if rest.is_empty() {
                self.at += 1;
                items.push(self.block(indent + 1)?);
            } else if key_of(&rest).is_none() {
                items.push(scalar(line, &rest)?);
                self.at += 1;
            } else {
                // The first key of a block stands behind the sign.
                line.indent += line.text.len() - rest.len();
                line.text = rest;
                items.push(self.block(indent + 1)?);
            }
        }
        Ok(Value::Array(items))
    }

    fn keys(&mut self, indent: usize) -> Result<Value, String> {
        let mut keys = Map::new();
        while let Some(line) = self.next(indent, false) {
            let (key, rest) = key_of(&line.text).ok_or_else(|| line.fail("is not a key: value"))?;
            let (key, rest) = (key.trim_matches(['"', '\'']).to_owned(), rest.to_owned());
            let twice = line.fail("repeats a key");
            let value = if rest.is_empty() {
                self.at += 1;
                // Items may be indented as their key.
                match self.next(indent, true) {
                    Some(_) => self.items(indent)?,
                    None => self.block(indent + 1)?,
                }
            } else {
                let value = scalar(line, &rest)?;
                self.at += 1;
                value
            };
            if keys.insert(key, value).is_some() {
                return Err(twice);
            }
        }
        Ok(Value::Object(keys))
    }
}

/// A key, and the text behind its colon.
fn key_of(text: &str) -> Option<(&str, &str)> {
    match text.split_once(": ") {
        Some((key, rest)) => Some((key, rest.trim())),
        None => Some((text.strip_suffix(':')?, "")),
    }
}

fn scalar(line: &Line, text: &str) -> Result<Value, String> {
    let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(text) = quoted('"').or(quoted('\'')) {
        return Ok(Value::String(text.to_owned()));
    }
    match text {
        "null" | "~" => Ok(Value::Null),
        _ if text.starts_with(['[', '{', '&', '*', '!', '|', '>']) => {
            Err(line.fail("is not a plain value"))
        }
        _ => Ok(match serde_json::from_str(text) {
            Ok(value @ (Value::Bool(_) | Value::Number(_))) => value,
            _ => Value::String(text.to_owned()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_of_keys_and_items_are_nested_by_indentation() {
        let text = "a: x # a remark\nb:\n- c: 1\n  d: 'e: f'\n-\n  g: ~\nh:\n  - u:r:v\n  - true\n";
        let due =
            json!({"a": "x", "b": [{"c": 1, "d": "e: f"}, {"g": null}], "h": ["u:r:v", true]});
        assert_eq!(parse(text), Ok(due));
        assert_eq!(parse("a: 1\na: 2\n"), Err("line 2: repeats a key".to_owned()));
        assert_eq!(parse("a: [1]\n"), Err("line 1: is not a plain value".to_owned()));
        assert!(parse("a: 1\n   b: 2\n").is_err());
    }
}
