//! The values of a column of a node table, before it is known what they are.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::Path;

use super::encoding::{Encoding, is_missing, number, split_of};
use super::id_space::LIST;
use super::named_rows::NamedRows;
use super::node_tables::{ColumnRole, FillMissing, UsedColumn};
use super::text::shown;
use crate::error::{Error, Result};

/// Most strings of a column that become one-hot features.
pub(super) const MOST_STRINGS: usize = 32;
/// Most names of classes, and most bytes that they take.
const MOST_CLASSES: usize = 1 << 16;
const MOST_BYTES: usize = 16 << 20;
/// Number of different values up to which they are counted.
const COUNTED: usize = 4096;

/// The error for a row whose value of a column is missing.
pub(super) fn missing_value(rows: &NamedRows, column: &str) -> Error {
    rows.fail(format!("column {column}: the value is missing")).with_hint(format!(
        "fill it in, pass ‹fill_missing=mean› or ‹fill_missing=0›, or leave the column out: \
         ‹drop={column}›"
    ))
}

/// The values of a column, counted in bounded memory.
pub(super) struct ColumnScan {
    pub(super) name: String,
    role: ColumnRole,
    /// Whether values are those of lists, which are numbers.
    is_of_list: bool,
    numbers: u64,
    sum: f64,
    whole: bool,
    words: u64,
    /// The error for the first value that is not a number.
    first_word: Option<Error>,
    /// The errors for the first missing value, if the column holds strings, and if it holds numbers.
    first_empty: Option<Error>,
    first_missing: Option<Error>,
    /// How often each value occurs, while there are few.
    values: Option<BTreeMap<Box<[u8]>, u64>>,
    bytes: usize,
    /// Hashes of the different values.
    different: HashSet<u64, BuildHasherDefault<DefaultHasher>>,
}

impl ColumnScan {
    pub(super) fn new(column: &UsedColumn) -> Self {
        ColumnScan {
            name: column.name.clone(),
            role: column.role,
            is_of_list: column.is_of_list,
            numbers: 0,
            sum: 0.0,
            whole: true,
            words: 0,
            first_word: None,
            first_empty: None,
            first_missing: None,
            values: Some(BTreeMap::new()),
            bytes: 0,
            different: HashSet::default(),
        }
    }

    /// Counts a field, which is that of the current row.
    pub(super) fn add(&mut self, rows: &NamedRows, field: &[u8]) {
        if let Some(value) = number(field) {
            self.numbers += 1;
            self.sum += value;
            self.whole &= value.fract() == 0.0;
        } else if is_missing(field) {
            let fail = || missing_value(rows, &self.name);
            if field.is_empty() {
                self.first_empty.get_or_insert_with(fail);
            }
            self.first_missing.get_or_insert_with(fail);
        } else {
            self.words += 1;
            self.first_word.get_or_insert_with(|| {
                rows.fail(format!("column {}: {} is not a number", self.name, shown(field)))
            });
        }
        if !field.is_empty() && !self.is_of_list {
            self.count(field);
        }
    }

    fn count(&mut self, field: &[u8]) {
        if self.different.len() < COUNTED {
            self.different.insert(self.different.hasher().hash_one(field));
        }
        let Some(values) = &mut self.values else { return };
        if let Some(count) = values.get_mut(field) {
            *count += 1;
            return;
        }
        self.bytes += field.len();
        let most = if self.role == ColumnRole::Label { MOST_CLASSES } else { MOST_STRINGS };
        if values.len() == most || self.bytes > MOST_BYTES {
            self.values = None;
        } else {
            values.insert(field.into(), 1);
        }
    }

    /// Whether the column holds strings that are too many for features, and how many.
    pub(super) fn too_many(&self) -> Option<String> {
        let is_strings = self.words > 0 && self.role == ColumnRole::Feature;
        let more = if self.different.len() == COUNTED { " or more" } else { "" };
        (is_strings && self.values.is_none()).then(|| format!("{}{more}", self.different.len()))
    }

    /// The error for the first string of a column that holds mostly numbers, too many for strings.
    pub(super) fn stray_word(&mut self) -> Option<Error> {
        if self.too_many().is_none() || self.words > self.numbers {
            return None;
        }
        let hint = format!(
            "most values of the column are numbers: correct this one, leave it empty and pass \
             ‹fill_missing=mean›, or leave the column out: ‹drop={}›",
            self.name
        );
        self.first_word.take().map(|error| error.with_hint(hint))
    }

    /// The form of a mask that values name.
    fn split(self, path: &Path, mask: usize) -> Result<Encoding> {
        let fail = |problem| {
            Error::input(path, "", format!("column {}: {problem}", self.name))
                .with_hint("the values of such a column are train, val and test, or nothing")
        };
        let Some(values) = &self.values else {
            return Err(fail(format!("more than {MOST_STRINGS} values are too many for masks")));
        };
        match values.keys().find(|value| split_of(value).is_none()) {
            Some(value) => Err(fail(format!("{} does not name a mask", shown(value)))),
            None => Ok(Encoding::Split(mask)),
        }
    }

    /// Whether values name a mask.
    pub(super) fn names_mask(&self, mask: usize) -> bool {
        self.values.iter().flat_map(BTreeMap::keys).any(|value| split_of(value) == Some(mask))
    }

    /// How the column's values are stored.
    pub(super) fn encoding(self, path: &Path, fill: Option<FillMissing>) -> Result<Encoding> {
        if let ColumnRole::Split(mask) = self.role {
            return self.split(path, mask);
        }
        let is_strings = self.words > 0;
        let missing = if is_strings { self.first_empty } else { self.first_missing };
        let name = &self.name;
        if self.numbers == 0 && !is_strings {
            let problem = format!("column {name} has no values");
            return Err(Error::input(path, "", problem).with_hint(match self.role {
                ColumnRole::Label => "leave ‹label› out".to_owned(),
                _ => format!("leave the column out: ‹drop={name}›"),
            }));
        }
        let values = self.values.unwrap_or_default();
        match self.role {
            ColumnRole::Label if !is_strings && self.whole => return Ok(Encoding::ClassNumber),
            ColumnRole::Label if !is_strings => return Ok(Encoding::Target),
            ColumnRole::Label if values.is_empty() => {
                let count = self.different.len();
                let more = if count == COUNTED { " or more" } else { "" };
                let problem =
                    format!("column {name}: {count}{more} names are too many for classes");
                return Err(Error::input(path, "", problem)
                    .with_hint(format!("up to {MOST_CLASSES} classes can have names")));
            }
            ColumnRole::Label => {
                let names: Vec<Box<[u8]>> = values.into_keys().collect();
                return match names.iter().find(|name| name.contains(&b'\n')) {
                    None => Ok(Encoding::ClassName(names)),
                    Some(broken) => {
                        let problem = format!(
                            "column {name}: the class {} holds a line break",
                            shown(broken)
                        );
                        Err(Error::input(path, "", problem)
                            .with_hint("a file of classes has one name per line"))
                    }
                };
            }
            ColumnRole::Mask if is_strings => {
                let problem = self.first_word.unwrap_or_else(|| Error::input(path, name, ""));
                return Err(problem.with_hint(LIST));
            }
            ColumnRole::Mask | ColumnRole::Feature | ColumnRole::Split(_) => {}
        }
        if let Some(error) = missing.filter(|_| fill.is_none()) {
            return Err(error);
        }
        let mean = fill == Some(FillMissing::Mean);
        Ok(if self.role == ColumnRole::Mask {
            Encoding::Mask
        } else if is_strings {
            let total: u64 = values.values().sum();
            let share =
                |count: &u64| if mean { (*count as f64 / total as f64) as f32 } else { 0.0 };
            let missing = values.values().map(share).collect();
            Encoding::OneHot { values: values.into_keys().collect(), missing }
        } else {
            let value = if mean { self.sum / self.numbers as f64 } else { 0.0 };
            Encoding::Number { missing: value as f32 }
        })
    }
}
