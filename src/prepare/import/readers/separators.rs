//! Separator of a text file, guessed from its first lines.

use super::fields::Separator;
use super::look::Wants;
use super::names::is_usual_id;
use super::sample::{Sample, SampleLine};
use super::values::is_value;

/// Separators to try, in this order.
const SEPARATORS: [Separator; 5] = [
    Separator::Byte(b'\t'),
    Separator::Byte(b';'),
    Separator::Byte(b','),
    Separator::Byte(b'|'),
    Separator::Blank,
];

/// Kinds of first lines that differ from rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Row,
    /// Column names without one for the first column, as R writes them.
    Shorter,
    /// Other words.
    Title,
}

/// Guesses the separator of a file.
pub(super) fn guess(sample: &mut Sample, wants: Wants) -> Separator {
    let separator = [First::Row, First::Shorter, First::Title]
        .into_iter()
        .find_map(|first| best(sample, first))
        .unwrap_or_else(|| of_first_line(sample));
    if wants != Wants::List {
        return separator;
    }
    // A line is a name, whatever it holds, unless the first line says which column has the names.
    let header = sample.records(separator).into_iter().next().unwrap_or_default();
    let is_table = header.len() > 1 && header.iter().any(|name| is_usual_id(name));
    if is_table { separator } else { Separator::None }
}

/// The separator that gives all lines the same number of fields. If several do: one that does not belong to sentences,
/// then the one with the largest share of numbers, then the first.
fn best(sample: &mut Sample, first_line: First) -> Option<Separator> {
    let mut best: Option<((bool, usize), Separator)> = None;
    for separator in SEPARATORS {
        let records = sample.records(separator);
        let rows = records.get(usize::from(first_line == First::Title)..).unwrap_or_default();
        let Some((first, rest)) = rows.split_first() else { continue };
        let due = first.len() + usize::from(first_line == First::Shorter);
        let is_same = rest.iter().all(|record| record.len() == due);
        if !is_same || due < 2 || first_line == First::Shorter && rest.is_empty() {
            continue;
        }
        // In a sentence, a blank follows a comma.
        let is_own = match separator {
            Separator::Byte(byte) => !sample.is_always_before_blank(byte),
            _ => false,
        };
        let values = rows.iter().flatten().filter(|word| is_value(word.as_bytes())).count();
        let rank = (is_own, 1000 * values / (due * rows.len()));
        if best.is_none_or(|(known, _)| rank > known) {
            best = Some((rank, separator));
        }
    }
    best.map(|(_, separator)| separator)
}

/// The separator of the first line, for lines that disagree; their reader names the first that differs.
fn of_first_line(sample: &Sample) -> Separator {
    let first = sample.lines.first().map(|line| line.text.trim_ascii()).unwrap_or_default();
    let is_bare = |line: &SampleLine| !line.text.trim_ascii().contains([',', ';', '\t', '|', ' ']);
    let is_title = sample.lines.len() > 1
        && sample.lines[1..].iter().all(is_bare)
        && !first.split_ascii_whitespace().any(|word| is_value(word.as_bytes()));
    match b",;\t|".iter().find(|byte| first.as_bytes().contains(byte)) {
        _ if is_title => Separator::None,
        Some(byte) => Separator::Byte(*byte),
        None if first.contains([' ', '\t']) => Separator::Blank,
        None => Separator::None,
    }
}
