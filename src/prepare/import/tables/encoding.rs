//! Stored form of a column's values.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::lists::ListForm;
use crate::io::Dtype;
use crate::prepare::import::readers::CellValue;

/// Encoding of a column's values.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Encoding {
    /// A number of `feat`: the column's number, or its date in days, less `shift` and divided by `unit`.
    Number { shift: f64, unit: f64, missing: f32 },
    /// A number of `feat` for each of these strings, sorted: 1 for the field's string, 0 for others.
    OneHot {
        #[serde(with = "texts")]
        values: Vec<Box<[u8]>>,
        missing: Vec<f32>,
    },
    /// A number for each of these words: 1 for the words in the field's list. Without a list, the numbers of `missing`.
    Words { form: ListForm, words: WordPlaces, missing: Vec<f32>, is_label: bool, is_small: bool },
    /// Numbers of a list, each less its shift and divided by its unit.
    Row { scales: Vec<[f64; 2]>, missing: Option<Vec<f32>>, is_label: bool },
    /// 1 or 0.
    Mask,
    /// 1 for values that name the mask with this number among training, validation and test.
    Split(usize),
    /// A class number, -1 for none.
    ClassNumber,
    /// The class's place among these names, sorted; -1 for none.
    ClassName(#[serde(with = "texts")] Vec<Box<[u8]>>),
    /// A number to be predicted, NaN for none.
    Target,
    /// A number, or days since 1970, NaN for none.
    Order,
}

/// Words in order, and each word's place.
#[derive(Debug)]
pub(crate) struct WordPlaces {
    pub(super) words: Vec<Box<[u8]>>,
    places: HashMap<Box<[u8]>, usize>,
}

/// Words as texts; words that are not UTF-8 have none.
mod texts {
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::{Error, Serializer};

    pub(super) fn serialize<S: Serializer>(
        words: &[Box<[u8]>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let texts = words.iter().map(|word| std::str::from_utf8(word));
        let texts: Result<Vec<&str>, _> = texts.collect();
        serializer.collect_seq(texts.map_err(S::Error::custom)?)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<Vec<Box<[u8]>>, D::Error> {
        let words = Vec::<String>::deserialize(deserializer)?;
        Ok(words.into_iter().map(|word| word.into_bytes().into()).collect())
    }
}

impl Serialize for WordPlaces {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        texts::serialize(&self.words, serializer)
    }
}

impl<'d> Deserialize<'d> for WordPlaces {
    fn deserialize<D: serde::Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        texts::deserialize(deserializer).map(WordPlaces::new)
    }
}

impl WordPlaces {
    pub(super) fn new(words: Vec<Box<[u8]>>) -> Self {
        let places = words.iter().cloned().zip(0..).collect();
        WordPlaces { words, places }
    }

    /// A row with 1 at the place of each word of a list; `None` if the list has other words.
    fn row(&self, list: &[Vec<u8>]) -> Option<Vec<f32>> {
        let mut row = vec![0.0; self.words.len()];
        for word in list {
            row[*self.places.get(&**word)?] = 1.0;
        }
        Some(row)
    }
}

impl Encoding {
    /// Element type.
    pub(super) fn dtype(&self) -> Dtype {
        match self {
            Encoding::Mask | Encoding::Split(_) | Encoding::Words { is_small: true, .. } => {
                Dtype::U8
            }
            Encoding::Number { .. }
            | Encoding::OneHot { .. }
            | Encoding::Words { .. }
            | Encoding::Row { .. }
            | Encoding::Target => Dtype::F32,
            Encoding::ClassNumber | Encoding::ClassName(_) => Dtype::I64,
            Encoding::Order => Dtype::F64,
        }
    }

    /// Whether values are part of `feat`.
    pub(super) fn is_feature(&self) -> bool {
        match self {
            Encoding::Words { is_label, .. } | Encoding::Row { is_label, .. } => !is_label,
            _ => matches!(self, Encoding::Number { .. } | Encoding::OneHot { .. }),
        }
    }

    /// Number of values.
    pub(super) fn width(&self) -> usize {
        match self {
            Encoding::OneHot { values, .. } => values.len(),
            Encoding::Words { words, .. } => words.words.len(),
            Encoding::Row { scales, .. } => scales.len(),
            _ => 1,
        }
    }

    /// Whether values are stored as rows, even those of one number: features, and lists of labels.
    pub(super) fn makes_rows(&self) -> bool {
        self.is_feature() || matches!(self, Encoding::Words { .. } | Encoding::Row { .. })
    }

    /// Appends a value. Returns false if the encoding was not made for it.
    pub(super) fn append(&self, raw: CellValue<'_>, out: &mut Vec<u8>) -> bool {
        let value = raw.parsed();
        let is_missing = value == CellValue::Missing;
        let word = if let CellValue::Text(word) = raw { word } else { b"" };
        let number = match value {
            CellValue::Date(days) => Some(days),
            other => other.number(),
        };
        if number.is_none() && !is_missing && !self.takes_strings() {
            return false;
        }
        match self {
            Encoding::Number { shift, unit, missing } => {
                let value = number.map_or(*missing, |value| ((value - shift) / unit) as f32);
                out.extend(value.to_le_bytes());
            }
            Encoding::OneHot { missing, .. } if is_missing => {
                out.extend(missing.iter().flat_map(|value| value.to_le_bytes()));
            }
            Encoding::OneHot { values, .. } => {
                let Some(at) = place(values, word) else { return false };
                let numbers = (0..values.len()).map(|other| f32::from(u8::from(other == at)));
                out.extend(numbers.flat_map(f32::to_le_bytes));
            }
            Encoding::Words { form, words, missing, is_small, .. } => {
                let row = if is_missing {
                    Some(missing.clone())
                } else {
                    form.words(word).and_then(|list| words.row(&list))
                };
                let Some(row) = row else { return false };
                if *is_small {
                    out.extend(row.iter().map(|value| *value as u8));
                } else {
                    out.extend(row.iter().flat_map(|value| value.to_le_bytes()));
                }
            }
            Encoding::Row { missing: Some(missing), .. } if is_missing => {
                out.extend(missing.iter().flat_map(|value| value.to_le_bytes()));
            }
            Encoding::Row { scales, .. } => {
                let list = ListForm::Brackets.words(word).filter(|list| list.len() == scales.len());
                let Some(list) = list else { return false };
                for (word, [shift, unit]) in list.iter().zip(scales) {
                    let number = CellValue::of(word).number().unwrap_or(f64::NAN);
                    out.extend((((number - shift) / unit) as f32).to_le_bytes());
                }
            }
            Encoding::Mask => out.push(u8::from(number.is_some_and(|value| value != 0.0))),
            Encoding::Split(mask) => out.push(u8::from(split_of(word) == Some(*mask))),
            Encoding::ClassNumber => {
                out.extend(number.map_or(-1, |value| value as i64).to_le_bytes());
            }
            Encoding::ClassName(names) => match place(names, word) {
                // A word for a missing value may be a class.
                Some(at) => out.extend((at as i64).to_le_bytes()),
                None if is_missing => out.extend((-1i64).to_le_bytes()),
                None => return false,
            },
            Encoding::Order => out.extend(number.unwrap_or(f64::NAN).to_le_bytes()),
            Encoding::Target => {
                out.extend(number.map_or(f32::NAN, |value| value as f32).to_le_bytes());
            }
        }
        true
    }

    fn takes_strings(&self) -> bool {
        matches!(
            self,
            Encoding::OneHot { .. }
                | Encoding::Words { .. }
                | Encoding::Row { .. }
                | Encoding::ClassName(_)
                | Encoding::Split(_)
        )
    }
}

/// The mask that a field names: 0 for training, 1 for validation, 2 for test.
pub(super) fn split_of(field: &[u8]) -> Option<usize> {
    const NAMES: [&[&str]; 3] =
        [&["train", "training"], &["val", "valid", "validation", "dev"], &["test", "testing"]];
    let is = |name: &&str| name.as_bytes().eq_ignore_ascii_case(field);
    NAMES.iter().position(|names| names.iter().any(is))
}

fn place(values: &[Box<[u8]>], field: &[u8]) -> Option<usize> {
    values.binary_search_by(|value| (**value).cmp(field)).ok()
}
