//! Changes to trees of values: JSON and TOML.

use super::text::some_number;
use super::words::NUMBERS;
use crate::dice::Dice;
use serde_json::{Map, Value, json};

/// Changes a JSON or TOML text that can be read; `None` if it cannot.
pub(super) fn mutate(dice: &mut Dice, out: &mut Vec<u8>, is_toml: bool) -> Option<()> {
    let mut tree: Value = if is_toml {
        toml::from_str(std::str::from_utf8(out).ok()?).ok()?
    } else {
        serde_json::from_slice(out).ok()?
    };
    let texts = texts(&tree);
    for _ in 0..dice.rounds() {
        change(dice, &mut tree, &texts);
    }
    *out = if is_toml {
        toml::to_string(&tree).ok()?.into_bytes()
    } else {
        serde_json::to_vec(&tree).ok()?
    };
    if !is_toml && dice.one_in(16) {
        nest(dice, out);
    }
    Some(())
}

/// Names and texts of a tree.
fn texts(tree: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut open = vec![tree];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) => open.extend(items),
            Value::Object(entries) => {
                found.extend(entries.keys().cloned());
                open.extend(entries.values());
            }
            _ => {}
        }
    }
    found
}

/// Descends to a random value and changes it.
fn change(dice: &mut Dice, value: &mut Value, texts: &[String]) {
    match value {
        Value::Object(entries) if !entries.is_empty() && !dice.one_in(12) => {
            let keys: Vec<String> = entries.keys().cloned().collect();
            let key = dice.pick(&keys).clone();
            match dice.below(16) {
                0 => drop(entries.remove(&key)),
                1 => {
                    if let Some(moved) = entries.remove(&key) {
                        entries.insert(dice.pick(texts).clone(), moved);
                    }
                }
                2 => {
                    let copy = entries.get(&key).cloned().unwrap_or_default();
                    entries.insert(dice.pick(texts).clone(), copy);
                }
                3 => {
                    let copy = entries.get(dice.pick(&keys)).cloned().unwrap_or_default();
                    entries.insert(key, copy);
                }
                _ => entries.get_mut(&key).into_iter().for_each(|v| change(dice, v, texts)),
            }
        }
        Value::Array(items) if !items.is_empty() && !dice.one_in(12) => {
            let (at, with) = (dice.below(items.len()), dice.below(items.len()));
            match dice.below(12) {
                0 => drop(items.remove(at)),
                1 => items.swap(at, with),
                2 => {
                    let copies = vec![items[at].clone(); *dice.pick(&[1, 1, 2, 100])];
                    items.splice(with..with, copies);
                }
                _ => change(dice, &mut items[at], texts),
            }
        }
        other => *other = replacement(dice, other, texts),
    }
}

fn replacement(dice: &mut Dice, old: &Value, texts: &[String]) -> Value {
    match dice.below(16) {
        0..=4 => json!(dice.pick(&NUMBERS)),
        5 | 6 => old.as_u64().map_or(json!(1), |old| {
            json!(if dice.one_in(2) { old.wrapping_add(1) } else { old.wrapping_sub(1) })
        }),
        7 => json!(dice.pick(texts)),
        8 => json!(some_number(dice)),
        9 => json!(-(dice.below(3) as i64)),
        10 => json!(*dice.pick(&[0.5, -1.5, 1e300, 5e-324])),
        11 => json!(dice.one_in(2)),
        12 => json!([old]),
        13 => json!([]),
        14 => Value::Object(Map::from_iter([(dice.pick(texts).clone(), old.clone())])),
        _ => Value::Null,
    }
}

/// Puts brackets around a value, deeper than a stack may tolerate.
fn nest(dice: &mut Dice, out: &mut Vec<u8>) {
    let depth = *dice.pick(&[2, 100, 127, 128, 129, 20_000]);
    let (open, close) = *dice.pick(&[("[", "]"), ("{\"a\":", "}")]);
    let places: Vec<usize> = (0..out.len()).filter(|&at| out[at] == b':').collect();
    if let Some(&at) = places.get(dice.below(places.len())) {
        let nested = [open.repeat(depth), "1".to_owned(), close.repeat(depth)].concat();
        let at = at + 1;
        out.splice(at..at, [nested.as_bytes(), b","].concat());
    }
}
