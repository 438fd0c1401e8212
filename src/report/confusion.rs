//! Confusion matrices of the last evaluation.

use std::cmp::Reverse;
use std::fmt::Write;

use serde_json::Value;

use super::escape::escaped;
use crate::run::RunData;

/// Number of classes up to which there is a matrix.
const MOST_CLASSES: usize = 100;
/// The classes of the style sheet by the largest number of classes for which their cells have room for counts: on a telephone, on a
/// tablet, on a desktop, on a wide one, and never.
const SIZES: [(usize, &str); 5] =
    [(8, "small"), (16, "medium"), (30, "large"), (60, "huge"), (MOST_CLASSES, "dense")];
/// Number of classes up to which counts have four characters.
const ROOMY: usize = 16;
/// Number of mistakes that are listed.
const LISTED: usize = 10;

/// The matrix of the test nodes, or of the first mask that has nodes; empty without one.
pub(super) fn confusion(run: &RunData) -> String {
    let Some(evaluation) = &run.evaluation else { return String::new() };
    let found = ["test", "val", "train"].into_iter().find_map(|mask| {
        let rows = counts(&evaluation[format!("{mask}_confusion")])?;
        Some((mask, rows))
    });
    let Some((mask, rows)) = found else { return String::new() };
    let classes = rows.len();
    let Some((_, size)) = SIZES.iter().find(|(most, _)| classes <= *most) else {
        return String::new();
    };
    let names: Option<Vec<String>> = (run.class_names.len() == classes)
        .then(|| run.class_names.iter().map(|name| escaped(name)).collect());
    let labels = Labels(names);
    let title = format!("Predictions of {mask} nodes of {}", run.name);
    let mut html = format!("<figure class=\"card wide\"><h3>{}</h3>", escaped(&title));
    if rows.iter().all(|row| row.len() == classes) {
        html.push_str(&matrix(&rows, &labels, size));
        html.push_str("<figcaption><p>A row per class, a column per predicted class. The darker a cell, the larger its share of the row.</p>");
        html.push_str(&labels.legend());
        html.push_str(&mistakes(&rows, &labels));
        html.push_str("</figcaption>");
    } else {
        html.push_str(&decisions(&rows, &labels));
        html.push_str("<figcaption><p>A row per class.</p></figcaption>");
    }
    html + "</figure>\n"
}

/// The names of classes, or their numbers.
struct Labels(Option<Vec<String>>);

impl Labels {
    fn name(&self, class: usize) -> String {
        self.0.as_ref().map_or_else(|| class.to_string(), |names| names[class].clone())
    }

    /// The number with the name, if there is one.
    fn both(&self, class: usize) -> String {
        match &self.0 {
            Some(names) => format!("{class} {}", names[class]),
            None => class.to_string(),
        }
    }

    /// The names by number, if there are names.
    fn legend(&self) -> String {
        let Some(names) = &self.0 else { return String::new() };
        let classes: Vec<String> = (0..names.len()).map(|class| self.both(class)).collect();
        format!("<p>Classes: {}</p>", classes.join(", "))
    }
}

/// The counts of a table, if there is one.
fn counts(value: &Value) -> Option<Vec<Vec<u64>>> {
    let rows = value.as_array()?.iter();
    let rows = rows.map(|row| row.as_array()?.iter().map(Value::as_u64).collect());
    let rows: Vec<Vec<u64>> = rows.collect::<Option<_>>()?;
    (!rows.is_empty()).then_some(rows)
}

fn share(row: &[u64], count: u64) -> f64 {
    count as f64 / row.iter().sum::<u64>().max(1) as f64
}

/// A count in four characters or less, in a table of many classes in three.
fn short(count: u64, classes: usize) -> String {
    let roomy = classes <= ROOMY;
    match count {
        // Most of many cells are empty.
        0 if !roomy => String::new(),
        0..1000 => count.to_string(),
        1000..10_000 if roomy => count.to_string(),
        100_000..1_000_000 if !roomy => format!(".{}M", count / 100_000),
        1000..1_000_000 => format!("{}k", count / 1000),
        100_000_000..1_000_000_000 if !roomy => format!(".{}G", count / 100_000_000),
        1_000_000..1_000_000_000 => format!("{}M", count / 1_000_000),
        _ => format!("{}G", count / 1_000_000_000),
    }
}

fn matrix(rows: &[Vec<u64>], labels: &Labels, size: &str) -> String {
    let classes = rows.len();
    let mut html = format!(
        "<div class=\"fitted\" style=\"--n:{classes}\"><table class=\"matrix {size}\"><tr><th scope=\"col\">class</th>"
    );
    for class in 0..classes {
        let _ = write!(html, "<th scope=\"col\" title=\"as {}\">{class}</th>", labels.name(class));
    }
    html.push_str("</tr>");
    for (class, row) in rows.iter().enumerate() {
        let _ = write!(
            html,
            "<tr><th scope=\"row\" title=\"{0}\">{1}</th>",
            labels.name(class),
            labels.both(class)
        );
        for (column, count) in row.iter().enumerate() {
            // The style sheet has a shade for each tenth.
            let tenths = (share(row, *count) * 10.0).round();
            let kind = if column == class { "hit" } else { "miss" };
            let _ = write!(
                html,
                "<td class=\"{kind} p{tenths:.0}\" title=\"{} as {}: {count}\">{}</td>",
                labels.name(class),
                labels.name(column),
                short(*count, classes)
            );
        }
        html.push_str("</tr>");
    }
    html + "</table></div>"
}

/// The most frequent mistakes.
fn mistakes(rows: &[Vec<u64>], labels: &Labels) -> String {
    let cells = rows.iter().enumerate().flat_map(|(class, row)| {
        row.iter().enumerate().map(move |(column, count)| (*count, class, column))
    });
    let mut wrong: Vec<(u64, usize, usize)> =
        cells.filter(|(count, class, column)| *count > 0 && class != column).collect();
    wrong.sort_unstable_by_key(|(count, class, column)| (Reverse(*count), *class, *column));
    if wrong.is_empty() {
        return String::new();
    }
    let mut html = "<p>Most frequent mistakes:</p><ul class=\"mistakes\">".to_owned();
    for (count, class, column) in wrong.into_iter().take(LISTED) {
        let of_class = 100.0 * share(&rows[class], count);
        let (class, column) = (labels.both(class), labels.both(column));
        let _ =
            write!(html, "<li>{class} as {column}: {count} ({of_class:.0} % of the class)</li>");
    }
    html + "</ul>"
}

/// The decisions about each of several classes that a node may have.
fn decisions(rows: &[Vec<u64>], labels: &Labels) -> String {
    let mut html =
        "<div class=\"scroll\"><table class=\"matrix\"><tr><th scope=\"col\">class</th>".to_owned();
    for heading in ["true neg.", "false pos.", "false neg.", "true pos."] {
        let _ = write!(html, "<th scope=\"col\">{heading}</th>");
    }
    html.push_str("</tr>");
    for (class, row) in rows.iter().enumerate() {
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", labels.name(class));
        for count in row {
            let _ = write!(html, "<td class=\"hit p0\">{count}</td>");
        }
        html.push_str("</tr>");
    }
    html + "</table></div>"
}
