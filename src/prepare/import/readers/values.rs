//! Meaning of words in files: numbers, truth values, dates, and words for missing values.

use std::borrow::Cow;

/// Words for a missing value, in upper or lower case.
const MISSING: [&str; 14] =
    ["na", "n/a", "#n/a", "<na>", "nan", "-nan", "nat", "null", "none", "nil", "?", "-", "\\n", ""];

/// Length of the longest word for a missing value.
const LONGEST_MISSING: usize = 4;

/// Number of seconds in a day.
const DAY: f64 = 86_400.0;

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CellValue<'v> {
    /// No value.
    Missing,
    /// A whole number.
    Whole(i64),
    /// Any other number; it may be infinite.
    Real(f64),
    /// A truth value.
    Truth(bool),
    /// A date, in days since 1970.
    Date(f64),
    /// A text.
    Text(&'v [u8]),
}

impl<'v> CellValue<'v> {
    /// The meaning of a word.
    pub(crate) fn of(word: &'v [u8]) -> Self {
        // Blanks stay only in texts, where quotes kept them.
        let bare = word.trim_ascii();
        if is_missing(bare) {
            return CellValue::Missing;
        }
        let Ok(text) = std::str::from_utf8(bare) else { return CellValue::Text(word) };
        if let Ok(value) = text.parse() {
            return CellValue::Whole(value);
        }
        if let Ok(value) = text.parse() {
            return CellValue::Real(value);
        }
        if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
            return CellValue::Truth(text.len() == "true".len());
        }
        date(text).map_or(CellValue::Text(word), CellValue::Date)
    }

    /// The meaning of a value: a text may stand for another kind of value.
    pub(crate) fn parsed(self) -> Self {
        match self {
            CellValue::Text(word) => CellValue::of(word),
            other => other,
        }
    }

    /// The value as a number; truth values are 1 and 0.
    pub(crate) fn number(self) -> Option<f64> {
        match self {
            CellValue::Whole(value) => Some(value as f64),
            CellValue::Real(value) => Some(value),
            CellValue::Truth(value) => Some(f64::from(u8::from(value))),
            CellValue::Missing | CellValue::Date(_) | CellValue::Text(_) => None,
        }
    }

    /// The value as a name; `None` if missing.
    pub(crate) fn name(self) -> Option<Cow<'v, [u8]>> {
        let owned = |text: String| Some(Cow::Owned(text.into_bytes()));
        match self {
            CellValue::Text(word) => {
                (!is_missing(word.trim_ascii())).then_some(Cow::Borrowed(word))
            }
            CellValue::Whole(number) => owned(number.to_string()),
            CellValue::Real(number) | CellValue::Date(number) => owned(format!("{number:?}")),
            CellValue::Truth(truth) => owned(truth.to_string()),
            CellValue::Missing => None,
        }
    }

    /// The value as messages show it.
    pub(crate) fn shown(self) -> String {
        match self {
            CellValue::Missing => "nothing".to_owned(),
            CellValue::Whole(value) => format!("\"{value}\""),
            CellValue::Real(value) => format!("\"{value:?}\""),
            CellValue::Truth(value) => format!("\"{value}\""),
            CellValue::Date(_) => "a date".to_owned(),
            CellValue::Text(word) => shown(word),
        }
    }
}

/// Whether a word stands for a missing value.
pub(crate) fn is_missing(word: &[u8]) -> bool {
    word.len() <= LONGEST_MISSING
        && MISSING.iter().any(|text| text.as_bytes().eq_ignore_ascii_case(word))
}

/// Whether a word stands for a missing value only among numbers, because it may be a name.
pub(crate) fn is_sign(word: &[u8]) -> bool {
    matches!(word.trim_ascii(), b"-" | b"?") || word.trim_ascii().eq_ignore_ascii_case(b"nil")
}

/// Whether a word cannot be a column name: a number in any notation, a truth value, a date, or a word for a missing
/// value.
pub(crate) fn is_value(word: &[u8]) -> bool {
    !matches!(CellValue::of(word), CellValue::Text(_)) || looks_numeric(word)
}

/// Whether a word begins like a number: `1,5`, `0x1`, `12 %`.
pub(crate) fn looks_numeric(word: &[u8]) -> bool {
    let digits = word.trim_ascii_start();
    let digits = digits.strip_prefix(b"-").or(digits.strip_prefix(b"+")).unwrap_or(digits);
    let digits = digits.strip_prefix(b".").or(digits.strip_prefix(b",")).unwrap_or(digits);
    digits.first().is_some_and(u8::is_ascii_digit)
}

/// Parses a non-negative whole number.
pub(crate) fn parse_id(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then_some(())?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// A field as messages show it.
pub(crate) fn shown(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

/// Days since 1970 of `2024-05-01` or `2024/05/01`; a time and a time zone may follow.
fn date(text: &str) -> Option<f64> {
    let (day, rest) = text.split_at_checked(10).filter(|(day, _)| day.is_ascii())?;
    let separator = day.as_bytes()[4];
    let is_due = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == separator,
        _ => byte.is_ascii_digit(),
    };
    if !matches!(separator, b'-' | b'/') || !day.bytes().enumerate().all(is_due) {
        return None;
    }
    let mut numbers = day.split(char::from(separator)).map(|part| part.parse::<u32>().ok());
    let (year, month, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    Some(days(i64::from(year), i64::from(month), i64::from(day)) + seconds(rest)? / DAY)
}

/// Seconds of a time such as ` 12:30:59.5+01:00`; an empty text is 0.
fn seconds(text: &str) -> Option<f64> {
    if text.is_empty() {
        return Some(0.0);
    }
    let text = text.strip_prefix([' ', 'T'])?;
    let text = text.strip_suffix('Z').or(text.strip_suffix(" UTC")).unwrap_or(text);
    let (clock, zone) = match text.rfind(['+', '-']) {
        Some(at) => (&text[..at], Some(&text[at..])),
        None => (text, None),
    };
    let of_clock = |clock: &str| {
        let mut sum = 0.0;
        let mut factor = 3600.0;
        for part in clock.split(':') {
            let is_plain = part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            sum += factor * part.parse::<f64>().ok().filter(|_| is_plain && factor > 0.5)?;
            factor /= 60.0;
        }
        Some(sum)
    };
    let zone = zone.map_or(Some(0.0), |zone| {
        let sign = if zone.starts_with('-') { -1.0 } else { 1.0 };
        Some(sign * of_clock(&zone[1..])?)
    });
    Some(of_clock(clock)? - zone?)
}

/// Days from 1970 to a date of the Gregorian calendar (Howard Hinnant's `days_from_civil`).
fn days(year: i64, month: i64, day: i64) -> f64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    (era * 146_097 + days - 719_468) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_digits_and_nothing_else() {
        assert_eq!(parse_id(b"18446744073709551615"), Some(u64::MAX));
        for wrong in ["", "-1", "1.0", "18446744073709551616", "x", "1 "] {
            assert_eq!(parse_id(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn every_word_is_one_kind_of_value() {
        let of = |word: &'static str| CellValue::of(word.as_bytes());
        assert_eq!(of("1e3"), CellValue::Real(1000.0));
        assert_eq!(of("-7"), CellValue::Whole(-7));
        assert_eq!(of("True"), CellValue::Truth(true));
        assert_eq!(of("inf"), CellValue::Real(f64::INFINITY));
        assert_eq!(of("1970-01-03"), CellValue::Date(2.0));
        assert_eq!(of("1972-12-31"), CellValue::Date(1095.0));
        assert_eq!(of("2000/03/01 12:00:00"), CellValue::Date(11017.5));
        assert_eq!(of("2000-03-01T12:00:00+12:00"), CellValue::Date(11017.0));
        for word in ["1,5", "0x1", "one", "2024-13-01", "2024-02-30", "2024-01-01x"] {
            assert_eq!(of(word), CellValue::Text(word.as_bytes()), "{word}");
            assert_eq!(is_value(word.as_bytes()), word != "one", "{word}");
        }
        for word in ["Ærø 日本 x", "日本語日本語", "+024-05-01", "2024-5-001"] {
            assert_eq!(of(word), CellValue::Text(word.as_bytes()), "{word}");
        }
        for word in ["", "NaN", "NA", "?", "-", "NULL", "\\N"] {
            assert_eq!(of(word), CellValue::Missing, "{word}");
        }
    }
}
