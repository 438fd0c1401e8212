//! The stored form of a column's values.

use crate::io::Dtype;

/// Texts that stand for a missing number.
const MISSING: [&str; 7] = ["na", "n/a", "#n/a", "nan", "null", "none", "nil"];

/// How the values of a column are stored.
#[derive(Debug)]
pub(super) enum Encoding {
    /// A number of `feat`.
    Number { missing: f32 },
    /// A number of `feat` for each of these strings, sorted: 1 for the one that a field holds.
    OneHot { values: Vec<Box<[u8]>>, missing: Vec<f32> },
    /// 1 or 0.
    Mask,
    /// 1 for values that name a mask, the one with this number among those of training, validation and test.
    Split(usize),
    /// The number of a class, -1 for none.
    ClassNumber,
    /// The place of a class among these names, sorted; -1 for none.
    ClassName(Vec<Box<[u8]>>),
    /// A number to be predicted, NaN for none.
    Target,
}

impl Encoding {
    /// Element type.
    pub(super) fn dtype(&self) -> Dtype {
        match self {
            Encoding::Number { .. } | Encoding::OneHot { .. } | Encoding::Target => Dtype::F32,
            Encoding::Mask | Encoding::Split(_) => Dtype::U8,
            Encoding::ClassNumber | Encoding::ClassName(_) => Dtype::I64,
        }
    }

    /// Whether values are part of `feat`.
    pub(super) fn is_feature(&self) -> bool {
        matches!(self, Encoding::Number { .. } | Encoding::OneHot { .. })
    }

    /// Appends a field's value. Returns false if the field is not one of those that the encoding was made for.
    pub(super) fn append(&self, field: &[u8], out: &mut Vec<u8>) -> bool {
        let value = number(field);
        if value.is_none() && !is_missing(field) && !self.takes_strings() {
            return false;
        }
        match self {
            Encoding::Number { missing } => {
                let value = value.map_or(*missing, |value| value as f32);
                out.extend(value.to_le_bytes());
            }
            Encoding::OneHot { missing, .. } if field.is_empty() => {
                out.extend(missing.iter().flat_map(|value| value.to_le_bytes()));
            }
            Encoding::OneHot { values, .. } => {
                let Some(at) = place(values, field) else { return false };
                let numbers = (0..values.len()).map(|other| f32::from(u8::from(other == at)));
                out.extend(numbers.flat_map(f32::to_le_bytes));
            }
            Encoding::Mask => out.push(u8::from(value.is_some_and(|value| value != 0.0))),
            Encoding::Split(mask) => out.push(u8::from(split_of(field) == Some(*mask))),
            Encoding::ClassNumber => {
                out.extend(value.map_or(-1, |value| value as i64).to_le_bytes());
            }
            Encoding::ClassName(_) if field.is_empty() => out.extend((-1i64).to_le_bytes()),
            Encoding::ClassName(names) => {
                let Some(at) = place(names, field) else { return false };
                out.extend((at as i64).to_le_bytes());
            }
            Encoding::Target => {
                out.extend(value.map_or(f32::NAN, |value| value as f32).to_le_bytes());
            }
        }
        true
    }

    fn takes_strings(&self) -> bool {
        matches!(self, Encoding::OneHot { .. } | Encoding::ClassName(_) | Encoding::Split(_))
    }
}

/// The mask that a field names: 0 is that of training, 1 of validation, 2 of the test.
pub(super) fn split_of(field: &[u8]) -> Option<usize> {
    const NAMES: [&[&str]; 3] =
        [&["train", "training"], &["val", "valid", "validation", "dev"], &["test", "testing"]];
    let is = |name: &&str| name.as_bytes().eq_ignore_ascii_case(field);
    NAMES.iter().position(|names| names.iter().any(is))
}

fn place(values: &[Box<[u8]>], field: &[u8]) -> Option<usize> {
    values.binary_search_by(|value| (**value).cmp(field)).ok()
}

/// A number that single precision can hold; truth values are 1 and 0.
pub(super) fn number(field: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(field).ok()?;
    match text {
        "true" | "True" | "TRUE" => Some(1.0),
        "false" | "False" | "FALSE" => Some(0.0),
        _ => text.parse::<f64>().ok().filter(|value| (*value as f32).is_finite()),
    }
}

/// Whether a field of a column of numbers holds none.
pub(super) fn is_missing(field: &[u8]) -> bool {
    field.is_empty() || MISSING.iter().any(|text| text.as_bytes().eq_ignore_ascii_case(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_finite_and_words_are_not_numbers() {
        assert_eq!(number(b"1e3"), Some(1000.0));
        assert_eq!(number(b"True"), Some(1.0));
        for word in ["", "nan", "inf", "1e39", "1,5", "0x1", "one"] {
            assert_eq!(number(word.as_bytes()), None, "{word}");
        }
        assert!(is_missing(b"NaN") && is_missing(b"") && !is_missing(b"-"));
    }
}
