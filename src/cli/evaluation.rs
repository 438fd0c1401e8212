//! The last evaluation as tables for people.

use super::table::{TextTable, number};
use crate::event::{Confusion, Evaluation, Metric};

/// Largest number of classes of a table; wider ones do not fit a terminal.
const MOST_CLASSES: usize = 20;

/// Tables of all metrics and of the confusion matrix; empty if one metric is all there is.
pub(super) fn tables(report: &Evaluation) -> String {
    if report.scores.len() < 2 {
        return String::new();
    }
    let mut table = TextTable::new(&["", ">train", ">val", ">test"]);
    for scores in &report.scores {
        let cells = scores.named().map(|(_, value)| {
            value.map_or_else(|| "-".to_owned(), |value| scores.metric.show(value))
        });
        table.row(std::iter::once(scores.metric.name().to_owned()).chain(cells));
    }
    let one_class = report.scores[0].metric == Metric::Accuracy;
    let confusion = report.confusion.as_ref().map(|confusion| show(confusion, one_class));
    table.to_string() + &confusion.unwrap_or_default()
}

/// The table of the test nodes, or of the first mask that has nodes.
fn show(confusion: &Confusion, one_class: bool) -> String {
    let known = confusion.named().into_iter().rev().find(|(_, rows)| !rows.is_empty());
    let Some((name, rows)) = known else { return String::new() };
    if rows.len() > MOST_CLASSES {
        return String::new();
    }
    let headings = if one_class {
        (0..rows.len()).map(|class| format!(">as {class}")).collect()
    } else {
        [">true neg.", ">false pos.", ">false neg.", ">true pos."].map(str::to_owned).to_vec()
    };
    let headings = headings.iter().map(String::as_str);
    let headings: Vec<&str> = std::iter::once("class").chain(headings).collect();
    let mut table = TextTable::new(&headings);
    for (class, row) in rows.iter().enumerate() {
        table.row(std::iter::once(class.to_string()).chain(row.iter().map(|n| number(*n))));
    }
    format!("predictions of {name} nodes:\n{table}")
}
