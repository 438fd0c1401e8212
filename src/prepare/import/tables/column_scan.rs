//! Values of a node table's column, before their type is known.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::Path;

use super::encoding::{Encoding, WordPlaces, split_of};
use super::lists::{ListScan, Lists, MOST_STRINGS, MOST_WORDS};
use super::moments::Moments;
use super::node_columns::{ColumnRole, UsedColumn, label_rows, mask_hint};
use super::notation::notation;
use super::row_numbers::RowNumbers;
use super::unlabelled::SIGNS;
use crate::prepare::import::files::{FillMissing, Scale};
use crate::prepare::import::ids::LIST;
use crate::prepare::import::readers::{CellValue, FileRows, is_like_id, is_sign, shown};
use crate::words::error::{Error, Result};

/// Hint for lists of labels with missing values.
const NO_LABELS: &str = "write 0 in their places, or leave the field empty, which means no labels";

/// Largest number of class names, and of the bytes that they take.
const MOST_CLASSES: usize = 1 << 16;
const MOST_BYTES: usize = 16 << 20;
const TRUTH: &str = "is a truth value among numbers";
/// Largest number of different values that are counted.
const COUNTED: usize = 128;

/// The error for a row without a value in a column.
pub(super) fn missing_value(rows: &FileRows, column: &str) -> Error {
    rows.fail(format!("column {column}: the value is missing")).with_hint(format!(
        "fill it in, pass ‹fill_missing=mean› or ‹fill_missing=0›, or leave the column out: \
         ‹drop={column}›"
    ))
}

/// Values of a column, counted in bounded memory.
#[derive(Default)]
pub(super) struct ColumnScan {
    name: String,
    role: ColumnRole,
    numbers: Moments,
    /// The values, if the column's name is like one of ids.
    row_numbers: Option<RowNumbers>,
    whole: bool,
    /// Whether single precision changes a whole number.
    is_rounded: bool,
    dates: Moments,
    first_date: f64,
    words: u64,
    /// Number of words such as `1,5` and `12:30`, and how to write the first.
    odd: u64,
    remedy: &'static str,
    /// Errors for the first value that is not a number, and for the first number that cannot be stored.
    first_word: Option<Error>,
    first_wrong: Option<Error>,
    first_missing: Option<Error>,
    /// Words that stand for a missing label or name a class, as other labels show.
    doubtful: BTreeMap<Box<[u8]>, u64>,
    /// Number of numbers that are 1 or -1.
    signs: u64,
    /// Error for the first truth value, and whether there are numbers other than 0 and 1.
    first_truth: Option<Error>,
    is_beyond: bool,
    /// Number of occurrences of each word, while there are few words.
    values: Option<BTreeMap<Box<[u8]>, u64>>,
    bytes: usize,
    lists: ListScan,
    /// Hashes of the different words.
    different: HashSet<u64, BuildHasherDefault<DefaultHasher>>,
}

impl ColumnScan {
    pub(super) fn new(column: &UsedColumn) -> Self {
        ColumnScan {
            name: column.name.clone(),
            role: column.role,
            row_numbers: (column.role == ColumnRole::Feature && is_like_id(&column.name))
                .then(RowNumbers::default),
            whole: true,
            first_date: f64::INFINITY,
            values: Some(BTreeMap::new()),
            ..ColumnScan::default()
        }
    }

    pub(super) fn add(&mut self, rows: &FileRows, raw: CellValue<'_>) {
        let fail = |problem: String| rows.fail(format!("column {}: {problem}", self.name));
        let value = raw.parsed();
        if let Some(numbers) = &mut self.row_numbers {
            numbers.add(value.number());
        }
        match value {
            CellValue::Missing => {
                self.first_missing.get_or_insert_with(|| missing_value(rows, &self.name));
                // Formats other than text have values for missing ones, but pandas' astype(str) writes words.
                let is_of_pandas =
                    |word: &[u8]| matches!(word, b"nan" | b"None" | b"<NA>" | b"NaT");
                let has_words = rows.file.has_words_for_missing;
                if let (ColumnRole::Label, CellValue::Text(word)) = (self.role, raw)
                    && (is_sign(word) || !has_words && !is_of_pandas(word))
                {
                    *self.doubtful.entry(word.into()).or_default() += 1;
                }
                return;
            }
            CellValue::Date(days) => {
                self.dates.add(days);
                self.first_date = self.first_date.min(days);
                if self.numbers.count > 0 {
                    self.first_wrong.get_or_insert_with(|| fail("a date among numbers".to_owned()));
                }
            }
            CellValue::Text(word) => {
                self.words += 1;
                if let Some(remedy) = notation(word) {
                    self.odd += 1;
                    self.remedy = if self.odd == 1 { remedy } else { self.remedy };
                }
                self.first_word
                    .get_or_insert_with(|| fail(format!("{} is not a number", shown(word))));
            }
            CellValue::Whole(_) | CellValue::Real(_) | CellValue::Truth(_) => {
                let number = value.number().unwrap_or(f64::NAN);
                if let Some(problem) = wrong_number(self.role, number) {
                    self.first_wrong
                        .get_or_insert_with(|| fail(format!("{} {problem}", raw.shown())));
                } else {
                    self.numbers.add(number);
                    self.is_beyond |= ![0.0, 1.0].contains(&number);
                    self.signs += u64::from([-1.0, 1.0].contains(&number));
                    if let CellValue::Truth(_) = value {
                        self.first_truth
                            .get_or_insert_with(|| fail(format!("{} {TRUTH}", raw.shown())));
                    }
                    self.whole &= number.fract() == 0.0;
                    let single = number as f32;
                    self.is_rounded |= match value {
                        CellValue::Whole(exact) => single as i64 != exact,
                        _ => number.fract() == 0.0 && (f64::from(single) - number).abs() > 0.0,
                    };
                    if self.dates.count > 0 {
                        self.first_wrong
                            .get_or_insert_with(|| fail("a number among dates".to_owned()));
                    }
                }
            }
        }
        if let CellValue::Text(word) = raw {
            // Between bars, a number is a label.
            let is_word = matches!(value, CellValue::Text(_));
            if self.role == ColumnRole::Label || self.role == ColumnRole::Feature && is_word {
                self.lists.add(word);
            }
            self.count(word);
        }
    }

    /// The error for a value that does not fit the column, judging by all its values.
    pub(super) fn fault(
        &self,
        rows: &FileRows,
        raw: CellValue<'_>,
        fill: Option<FillMissing>,
    ) -> Option<Error> {
        let others = self.numbers.count + self.dates.count;
        let problem = match (self.role, raw.parsed()) {
            (ColumnRole::Label, _)
            | (ColumnRole::Split(_) | ColumnRole::Order, CellValue::Missing) => return None,
            (ColumnRole::Split(_), CellValue::Text(word)) if split_of(word).is_some() => {
                return None;
            }
            (ColumnRole::Split(_), _) => format!("{} does not name a mask", raw.shown()),
            (_, CellValue::Missing) => {
                return fill.is_none().then(|| missing_value(rows, &self.name));
            }
            (ColumnRole::Feature, _) if self.words > others => return None,
            (_, CellValue::Text(_)) => format!("{} is not a number", raw.shown()),
            (_, CellValue::Date(_)) if self.numbers.count >= self.dates.count => {
                "a date among numbers".to_owned()
            }
            (_, CellValue::Date(_)) => return None,
            (_, _) if self.dates.count > self.numbers.count => "a number among dates".to_owned(),
            (ColumnRole::Feature, CellValue::Truth(_)) if self.is_beyond => {
                format!("{} {TRUTH}", raw.shown())
            }
            (role, value) => {
                let problem = wrong_number(role, value.number().unwrap_or(f64::NAN))?;
                format!("{} {problem}", raw.shown())
            }
        };
        Some(rows.fail(format!("column {}: {problem}", self.name)))
    }

    fn count(&mut self, word: &[u8]) {
        if self.different.len() < COUNTED {
            self.different.insert(self.different.hasher().hash_one(word));
        }
        let Some(values) = &mut self.values else { return };
        if let Some(count) = values.get_mut(word) {
            *count += 1;
            return;
        }
        self.bytes += word.len();
        let most = if self.role == ColumnRole::Label { MOST_CLASSES } else { MOST_STRINGS };
        if values.len() == most || self.bytes > MOST_BYTES {
            self.values = None;
        } else {
            values.insert(word.into(), 1);
        }
    }

    /// The number of strings, if the column has too many for features.
    fn too_many(&self) -> Option<String> {
        let is_feature =
            self.words > 0 && self.role == ColumnRole::Feature && !self.lists.is_lists();
        let more = if self.different.len() == COUNTED { " or more" } else { "" };
        (is_feature && self.values.is_none()).then(|| format!("{}{more}", self.different.len()))
    }

    /// The hint to do without the column.
    fn without(&self) -> String {
        match self.role {
            ColumnRole::Label => "leave ‹label› out".to_owned(),
            _ => format!("leave the column out: ‹drop={}›", self.name),
        }
    }

    /// The error for the first value that is not a number in a column of numbers.
    pub(super) fn stray_value(&mut self) -> Option<Error> {
        if matches!(self.role, ColumnRole::Split(_)) || self.lists.is_lists() && !self.has_others()
        {
            return None;
        }
        if self.role == ColumnRole::Feature && self.is_beyond && self.first_wrong.is_none() {
            self.first_wrong = self.first_truth.take();
        }
        let others = self.numbers.count + self.dates.count;
        let drop = self.without();
        let empty = match self.role {
            ColumnRole::Label => "leave it empty, which means no label",
            _ => "leave it empty and pass ‹fill_missing=mean›",
        };
        if self.words <= others && self.first_wrong.is_some() {
            let error = self.first_wrong.take()?;
            let hint = format!("correct it, {empty}, or {drop}");
            let is_mask = self.role == ColumnRole::Mask;
            return Some(error.with_hint(if is_mask { LIST.to_owned() } else { hint }));
        }
        if self.role == ColumnRole::Mask || self.words == 0 {
            return None;
        }
        let are_odd = self.odd > 0 && 2 * (self.odd + others) >= self.words;
        let hint = if are_odd && !self.lists.is_lists() {
            format!("{}, or {drop}", self.remedy)
        } else if self.words <= others {
            format!("most values of the column are numbers: correct this one, {empty}, or {drop}")
        } else {
            return None;
        };
        self.first_word.take().map(|error| error.with_hint(hint))
    }

    /// Empties the lists, if they have to take all values again: some came before the form of lists was clear, or are numbers, which
    /// are lists of one word: `7` besides `12|14`.
    pub(super) fn empties_lists(&mut self) -> bool {
        let lacks_words = self.lists.is_lists() && (self.has_others() || self.lists.is_late());
        if lacks_words {
            self.lists = self.lists.emptied();
        }
        lacks_words
    }

    /// Adds a value to emptied lists.
    pub(super) fn add_again(&mut self, raw: CellValue<'_>) {
        if let CellValue::Text(word) = raw
            && raw.parsed() != CellValue::Missing
        {
            self.lists.add(word);
        }
    }

    /// Whether there are values other than lists. In a label column with bars, lists of one word may be numbers.
    fn has_others(&self) -> bool {
        let are_lists = self.role == ColumnRole::Label && self.lists.has_bars();
        !are_lists && self.numbers.count + self.dates.count > 0
    }

    fn lists(self, path: &Path, fill: Option<FillMissing>, scale: Scale) -> Result<Encoding> {
        let (name, is_label) = (&self.name, self.role == ColumnRole::Label);
        let mean = fill == Some(FillMissing::Mean);
        let mut hint = self.without();
        let problem = match self.lists.finish(is_label) {
            Lists::Rows(rows) => {
                let scaled = scale == Scale::Standard && !is_label;
                let of = |moments: &Moments| if scaled { moments.scale() } else { [0.0, 1.0] };
                let scales: Vec<[f64; 2]> = rows.iter().map(of).collect();
                let missing = rows.iter().zip(&scales).map(|(moments, [shift, unit])| {
                    let value = if mean { moments.mean } else { 0.0 };
                    if is_label { f32::NAN } else { ((value - shift) / unit) as f32 }
                });
                return Ok(Encoding::Row { missing: Some(missing.collect()), scales, is_label });
            }
            Lists::Words { words, .. } if words.is_empty() => "holds only empty lists".to_owned(),
            Lists::Words { form, words, lists } => {
                let share = |count: u64| match () {
                    () if is_label => f32::NAN,
                    () if mean => (count as f64 / lists as f64) as f32,
                    () => 0.0,
                };
                let missing = words.iter().map(|(_, count)| share(*count)).collect();
                let words: Vec<_> = words.into_iter().map(|(word, _)| word).collect();
                if let Some(broken) = words.iter().find(|word| is_label && word.contains(&b'\n')) {
                    return Err(line_break(path, name, broken));
                }
                let words = WordPlaces::new(words);
                return Ok(Encoding::Words { form, words, missing, is_label, is_small: false });
            }
            Lists::Missing => {
                hint = if is_label { NO_LABELS.to_owned() } else { hint };
                "holds lists with missing values".to_owned()
            }
            Lists::Uneven if is_label => {
                hint = label_rows(name);
                "holds lists of numbers other than whole ones".to_owned()
            }
            Lists::Uneven => "holds lists of numbers of several lengths".to_owned(),
            Lists::TooMany => format!("holds lists of more than {MOST_WORDS} different words"),
        };
        Err(Error::input(path, "", format!("column {name} {problem}")).with_hint(hint))
    }

    /// The encoding of a mask that values name.
    fn split(self, path: &Path, mask: usize) -> Result<Encoding> {
        let fail = |problem| {
            Error::input(path, "", format!("column {}: {problem}", self.name))
                .with_hint("the values of a split column are train, val and test, or nothing")
        };
        let Some(values) = &self.values else {
            return Err(fail(format!("more than {MOST_STRINGS} values are too many for masks")));
        };
        match values.keys().find(|value| split_of(value).is_none()) {
            Some(value) => Err(fail(format!("{} does not name a mask", shown(value)))),
            None if values.is_empty() => Err(fail("no value names a mask".to_owned())),
            None => Ok(Encoding::Split(mask)),
        }
    }

    /// Whether values name a mask.
    pub(super) fn names_mask(&self, mask: usize) -> bool {
        self.values.iter().flat_map(BTreeMap::keys).any(|value| split_of(value) == Some(mask))
    }

    /// The encoding of the column's values.
    pub(super) fn encoding(
        mut self,
        path: &Path,
        fill: Option<FillMissing>,
        scale: Scale,
    ) -> Result<Encoding> {
        if let ColumnRole::Split(mask) = self.role {
            return self.split(path, mask);
        }
        let name = &self.name;
        if self.numbers.count + self.dates.count + self.words == 0 {
            let problem = format!("column {name} has no values");
            return Err(Error::input(path, "", problem).with_hint(self.without()));
        }
        if self.role == ColumnRole::Label && !self.lists.is_lists() {
            return self.label(path);
        }
        if self.role == ColumnRole::Order {
            let hint = "a split follows numbers or dates";
            return match self.first_word.filter(|_| self.words > 0) {
                Some(error) => Err(error.with_hint(hint)),
                None => Ok(Encoding::Order),
            };
        }
        if self.role == ColumnRole::Mask && (self.words > 0 || self.dates.count > 0) {
            let problem = format!("column {name} holds dates, not 0 and 1");
            let error = self.first_word.take().unwrap_or_else(|| Error::input(path, "", problem));
            return Err(error.with_hint(LIST));
        }
        if let Some(error) =
            self.first_missing.take().filter(|_| fill.is_none() && self.role != ColumnRole::Label)
        {
            return Err(error);
        }
        if self.lists.is_lists() {
            return self.lists(path, fill, scale);
        }
        let mean = fill == Some(FillMissing::Mean);
        if self.role == ColumnRole::Mask {
            return Ok(Encoding::Mask);
        }
        if self.words > 0 {
            let values = self.values.unwrap_or_default();
            let total: u64 = values.values().sum();
            let share =
                |count: &u64| if mean { (*count as f64 / total as f64) as f32 } else { 0.0 };
            let missing = values.values().map(share).collect();
            return Ok(Encoding::OneHot { values: values.into_keys().collect(), missing });
        }
        if self.row_numbers.is_some_and(|numbers| numbers.are_all()) {
            let problem = format!("column {name} numbers the rows and would become a feature");
            return Err(Error::input(path, "", problem).with_hint(format!(
                "say what it is with ‹id={name}›, leave it out: ‹drop={name}›, or rename it if it is data"
            )));
        }
        if self.first_truth.is_some() && split_of(name.as_bytes()).is_some() {
            let problem = format!("column {name} holds truth values and would become a feature");
            return Err(Error::input(path, "", problem).with_hint(mask_hint(name)));
        }
        let (moments, begin) = match self.dates.count {
            0 => (self.numbers, 0.0),
            _ => (self.dates, self.first_date),
        };
        let (shift, unit) = match scale {
            Scale::None => (begin, 1.0),
            Scale::Standard => moments.scale().into(),
        };
        let missing = if mean { moments.mean } else { begin };
        Ok(Encoding::Number { shift, unit, missing: ((missing - shift) / unit) as f32 })
    }

    /// Whether rounding to single precision makes different numbers of a feature equal.
    pub(super) fn is_rounded(&self, scale: Scale) -> bool {
        self.is_rounded && self.words == 0 && scale == Scale::None
    }

    /// Whether a feature's values are dates.
    pub(super) fn is_dates(&self) -> bool {
        self.dates.count > 0 && self.words == 0
    }

    fn label(self, path: &Path) -> Result<Encoding> {
        let name = &self.name;
        if self.dates.count > 0 && self.words == 0 {
            return Err(Error::input(path, "", format!("column {name} holds dates, not labels")));
        }
        if self.words == 0 {
            let are_both = self.numbers.mean.abs() < 1.0;
            if self.signs > 0 && self.signs == self.numbers.count && are_both {
                let problem = format!("column {name} {}", SIGNS[0]);
                return Err(Error::input(path, "", problem).with_hint(SIGNS[1]));
            }
            return Ok(if self.whole { Encoding::ClassNumber } else { Encoding::Target });
        }
        let Some(mut values) = self.values else {
            let problem = format!("column {name} holds too many names for classes");
            return Err(Error::input(path, "", problem)
                .with_hint(format!("up to {MOST_CLASSES} classes can have names")));
        };
        values.extend(self.doubtful);
        let names: Vec<Box<[u8]>> = values.into_keys().collect();
        match names.iter().find(|name| name.contains(&b'\n')) {
            None => Ok(Encoding::ClassName(names)),
            Some(broken) => Err(line_break(path, name, broken)),
        }
    }
}

/// Refuses columns with too many different strings for one-hot features.
pub(super) fn refuse_many_strings(path: &Path, scans: &[ColumnScan]) -> Result<()> {
    let wide: Vec<(&str, String)> =
        scans.iter().filter_map(|scan| Some((&*scan.name, scan.too_many()?))).collect();
    if wide.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = wide
        .iter()
        .map(|(name, count)| format!("column {name} holds {count} different strings"))
        .collect();
    let problem = format!("{}; up to {MOST_STRINGS} become features", list.join(", "));
    let flags = |flag: &str| {
        let flags: Vec<String> = wide.iter().map(|(name, _)| format!("‹{flag}={name}›")).collect();
        flags.join(" ")
    };
    let hint =
        format!("leave out: {}, or learn a row for each string: {}", flags("drop"), flags("embed"));
    Err(Error::input(path, "", problem).with_hint(hint))
}

/// The problem of a number that cannot be stored in a column with this role.
fn wrong_number(role: ColumnRole, number: f64) -> Option<&'static str> {
    if !(number as f32).is_finite() {
        Some("is not a finite number of single precision")
    } else if role == ColumnRole::Mask && ![0.0, 1.0].contains(&number) {
        Some("is neither 0 nor 1")
    } else {
        None
    }
}

/// The error for a class name with a line break.
fn line_break(path: &Path, name: &str, broken: &[u8]) -> Error {
    let problem = format!("column {name}: the class {} holds a line break", shown(broken));
    Error::input(path, "", problem).with_hint("a file of classes has one name per line")
}
