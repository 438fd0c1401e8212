//! Lists in the fields of a column: `["a", "b"]`, `['a', 'b']`, `[0.5 1.5]`, `0.5, 1.5` or `a|b`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::moments::Moments;
use crate::prepare::import::readers::CellValue;

/// Largest number of a column's strings that become one-hot features.
pub(super) const MOST_STRINGS: usize = 32;
/// Largest number of a column's different words, and of the bytes that they take.
pub(super) const MOST_WORDS: usize = 1 << 16;
const MOST_BYTES: usize = 16 << 20;

/// Notation of lists in fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ListForm {
    /// In brackets; or numbers without them, separated by commas, where a number is a list of one.
    Brackets,
    /// Separated by vertical bars; a field without one is a list of one word.
    Bars,
}

impl ListForm {
    /// The words of a field; `None` if it is not a list.
    pub(super) fn words(self, field: &[u8]) -> Option<Vec<Vec<u8>>> {
        match self {
            ListForm::Bars => Some(split(field, |byte| *byte == b'|')),
            ListForm::Brackets if are_numbers(field) => Some(split(field, |byte| *byte == b',')),
            ListForm::Brackets => {
                let inner = field.trim_ascii().strip_prefix(b"[")?.strip_suffix(b"]")?;
                match serde_json::from_slice::<Vec<Value>>(field) {
                    Ok(values) => of_json(values),
                    // Python writes either kind of quotes, NumPy leaves out commas.
                    Err(_) if inner.contains(&b',') || inner.contains(&b'\'') => {
                        Some(split(inner, |byte| *byte == b','))
                    }
                    Err(_) => Some(split(inner, u8::is_ascii_whitespace)),
                }
            }
        }
    }
}

/// Whether a field is a number, or several with commas between them.
fn are_numbers(field: &[u8]) -> bool {
    let is_number = |number: &[u8]| CellValue::of(number).number().is_some_and(f64::is_finite);
    field.split(|byte| *byte == b',').all(is_number)
}

/// Whether the commas between numbers cannot be those of decimals or thousands: blanks follow them, two numbers have a point, or
/// digits have other groups than `1,234,567` and `12,34,567`.
fn has_clear_commas(field: &[u8]) -> bool {
    if !field.contains(&b',') {
        return false;
    }
    let numbers: Vec<&[u8]> = field.split(|byte| *byte == b',').collect();
    let Some((last, between)) = numbers[1..].split_last() else { return false };
    let has_blank = |number: &&[u8]| number.starts_with(b" ");
    let digits = |number: &[u8]| number.iter().take_while(|byte| **byte != b'.').count();
    let are_groups = digits(last) == 3
        && [2, 3].into_iter().any(|size| between.iter().all(|number| digits(number) == size));
    has_blank(last) && between.iter().all(has_blank)
        || numbers.iter().filter(|number| number.contains(&b'.')).count() > 1
        || !between.is_empty() && !are_groups
}

/// The words of a list in JSON, without missing values.
fn of_json(values: Vec<Value>) -> Option<Vec<Vec<u8>>> {
    let word = |value: Value| match value {
        Value::String(text) => Some(text.into_bytes()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string().into_bytes()),
        _ => None,
    };
    values.into_iter().filter(|value| !value.is_null()).map(word).collect()
}

/// Whether a list in brackets has missing values, in the notation of JSON or Python.
fn has_missing(field: &[u8]) -> bool {
    let is_missing = |word: &[u8]| matches!(word, b"null" | b"None" | b"nan" | b"NaN");
    let mut words = field.split(|byte| b"[], \t\n".contains(byte));
    field.starts_with(b"[")
        && words.any(is_missing)
        && serde_json::from_slice::<Vec<Value>>(field)
            .map_or(true, |all| all.contains(&Value::Null))
}

/// Words between separators, stripped of white space and quotes.
fn split(field: &[u8], is_separator: impl Fn(&u8) -> bool) -> Vec<Vec<u8>> {
    let bare = |word: &[u8]| {
        let word = word.trim_ascii();
        let quoted = [b"'", b"\""].iter().find_map(|q| word.strip_prefix(*q)?.strip_suffix(*q));
        quoted.unwrap_or(word).to_vec()
    };
    field.split(is_separator).map(bare).filter(|word| !word.is_empty()).collect()
}

/// Lists of a column.
pub(super) enum Lists {
    /// Sets of words: all words in order, and the number of lists that contain each.
    Words { form: ListForm, words: Vec<(Box<[u8]>, u64)>, lists: u64 },
    /// Rows of numbers, equally many in each.
    Rows(Vec<Moments>),
    /// Numbers with fractions: labels, or in lists of different lengths.
    Uneven,
    /// Labels, some of which are missing within their lists.
    Missing,
    /// Sets with too many words.
    TooMany,
}

/// The lists' words as numbers.
#[derive(Debug)]
struct Numbers {
    /// By place, while all lists have the same length; otherwise empty.
    rows: Vec<Moments>,
    has_fractions: bool,
    /// Whether each number is 0 or 1.
    are_bits: bool,
}

/// Evidence about commas, from fields without brackets.
#[derive(Debug, Default)]
struct Commas {
    /// Whether a field holds more than numbers and commas.
    has_words: bool,
    /// Number of fields whose commas are clear, and of those whose commas may be in one number.
    clear: u64,
    doubtful: u64,
    /// Whether fields were taken in another form, before a row of numbers was clear.
    is_late: bool,
}

/// Lists of a column, while its fields are read.
#[derive(Debug, Default)]
pub(super) struct ListScan {
    form: Option<ListForm>,
    commas: Commas,
    /// Whether a field is not a list.
    is_broken: bool,
    has_bar: bool,
    /// Whether a list has missing values.
    has_missing: bool,
    /// Number of lists that contain each word, while there are few words.
    words: BTreeMap<Box<[u8]>, u64>,
    bytes: usize,
    /// Number of lists, and of all their words.
    lists: u64,
    all: usize,
    /// `None` once a word is not a number.
    numbers: Option<Numbers>,
}

impl ListScan {
    /// Takes a field that is not missing.
    pub(super) fn add(&mut self, field: &[u8]) {
        let is_clear = has_clear_commas(field);
        let form = self.form_with(field, is_clear);
        self.form = Some(form);
        self.commas.clear += u64::from(is_clear);
        self.commas.doubtful +=
            u64::from(!is_clear && field.contains(&b',') && !field.starts_with(b"["));
        self.has_bar |= field.contains(&b'|');
        if self.is_broken || self.are_too_many() {
            return;
        }
        let Some(words) = form.words(field) else {
            (self.is_broken, self.words) = (true, BTreeMap::new());
            return;
        };
        self.has_missing |= has_missing(field);
        self.add_numbers(&words, self.lists == 0);
        self.lists += 1;
        let mut words: Vec<Box<[u8]>> = words.into_iter().map(Into::into).collect();
        words.sort_unstable();
        words.dedup();
        self.all += words.len();
        for word in words {
            if let Some(count) = self.words.get_mut(&word) {
                *count += 1;
            } else {
                self.bytes += word.len();
                self.words.insert(word, 1);
            }
        }
    }

    /// The form of the fields so far and another one.
    fn form_with(&mut self, field: &[u8], is_clear: bool) -> ListForm {
        match self.form {
            Some(ListForm::Brackets) => ListForm::Brackets,
            None if field.starts_with(b"[") => ListForm::Brackets,
            before if !self.commas.has_words && is_clear && are_numbers(field) => {
                self.commas.is_late = before.is_some();
                ListForm::Brackets
            }
            _ => {
                self.commas.has_words = self.commas.has_words || !are_numbers(field);
                ListForm::Bars
            }
        }
    }

    /// Whether fields were taken in another form than that of the lists.
    pub(super) fn is_late(&self) -> bool {
        self.commas.is_late
    }

    /// Whether bars separate the words.
    pub(super) fn has_bars(&self) -> bool {
        self.form == Some(ListForm::Bars)
    }

    /// Lists of the same form without their values.
    pub(super) fn emptied(&self) -> Self {
        let commas = Commas { has_words: true, ..Commas::default() };
        ListScan { form: self.form, commas, ..ListScan::default() }
    }

    fn add_numbers(&mut self, words: &[Vec<u8>], is_first: bool) {
        let values = || words.iter().map(|word| CellValue::of(word));
        let number = |value: CellValue<'_>| value.number().filter(|number| number.is_finite());
        let found: Option<Vec<f64>> = values().map(number).collect();
        let known = match self.numbers.take() {
            None if is_first => {
                let rows = vec![Moments::default(); words.len()];
                Some(Numbers { rows, has_fractions: false, are_bits: true })
            }
            known => known,
        };
        let Some((mut numbers, found)) = known.zip(found) else { return };
        numbers.has_fractions |= values().any(|value| matches!(value, CellValue::Real(_)));
        numbers.are_bits &= found.iter().all(|number| [0.0, 1.0].contains(number));
        if numbers.rows.len() == found.len() {
            numbers.rows.iter_mut().zip(found).for_each(|(moments, number)| moments.add(number));
        } else {
            numbers.rows.clear();
        }
        self.numbers = Some(numbers);
    }

    fn are_too_many(&self) -> bool {
        self.words.len() > MOST_WORDS || self.bytes > MOST_BYTES
    }

    /// Whether the fields are lists.
    pub(super) fn is_lists(&self) -> bool {
        let is_list = match self.form {
            Some(ListForm::Brackets) => self.commas.doubtful <= self.commas.clear,
            // A bar in one of many titles separates nothing.
            Some(ListForm::Bars) => {
                let few = self.words.len() <= MOST_STRINGS;
                self.has_bar && (few || self.all >= 2 * self.words.len())
            }
            None => false,
        };
        is_list && !self.is_broken
    }

    /// The lists. A label's lists are rows of numbers only if each number is 0 or 1. Missing values may be left out of sets of
    /// words that are features.
    pub(super) fn finish(self, is_label: bool) -> Lists {
        if self.has_missing && (is_label || self.numbers.is_some()) {
            return Lists::Missing;
        }
        let are_too_many = self.are_too_many();
        let form = self.form.unwrap_or(ListForm::Bars);
        let mut words: Vec<(Box<[u8]>, u64)> = self.words.into_iter().collect();
        if let Some(numbers) = self.numbers {
            let width = numbers.rows.len();
            let are_rows = if is_label { numbers.are_bits && width > 1 } else { width > 0 };
            if form == ListForm::Brackets && are_rows {
                return Lists::Rows(numbers.rows);
            }
            if numbers.has_fractions {
                return Lists::Uneven;
            }
            let number = |word: &[u8]| CellValue::of(word).number().unwrap_or(0.0);
            words.sort_by(|a, b| number(&a.0).total_cmp(&number(&b.0)));
        }
        if are_too_many {
            return Lists::TooMany;
        }
        Lists::Words { form, words, lists: self.lists }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_known_in_the_notations_of_json_python_and_numpy() {
        let words = |field: &str| {
            let words = ListForm::Brackets.words(field.as_bytes())?;
            let text = |word| String::from_utf8(word).ok();
            words.into_iter().map(text).collect::<Option<Vec<String>>>()
        };
        for (field, due) in [
            ("[\"a, b\", \"c\"]", &["a, b", "c"][..]),
            ("['a', 'b']", &["a", "b"]),
            ("[1, 2.5]", &["1", "2.5"]),
            ("[0.5 1. ]", &["0.5", "1."]),
            ("[graph theory, sets]", &["graph theory", "sets"]),
            ("[]", &[]),
            ("0.5, 1", &["0.5", "1"]),
            ("0.5,1.5", &["0.5", "1.5"]),
            ("30,42", &["30", "42"]),
            ("7", &["7"]),
        ] {
            assert_eq!(
                words(field).as_deref(),
                Some(&due.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()[..])
            );
        }
        assert_eq!(words("[deleted"), None);
        assert_eq!(words("[[1], [2]]"), None);
        for row in ["0.5, 1", "0.5,1.5", "0,1,0", "30,42,284,306"] {
            assert!(has_clear_commas(row.as_bytes()), "{row}");
        }
        for row in ["7", "1,5", "1.234,5", "1,234.5", "1,234,567", "1,234,567.5", "12,34,567"] {
            assert!(!has_clear_commas(row.as_bytes()), "{row}");
        }
        assert_eq!(words("a, b"), None);
        assert_eq!(
            ListForm::Bars.words(b"Drama|Comedy "),
            Some(vec![b"Drama".to_vec(), b"Comedy".to_vec()])
        );
    }
}
