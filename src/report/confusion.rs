//! Confusion matrices of the last evaluation.

use std::fmt::Write;

use serde_json::Value;

use super::escape::escaped;
use super::run_data::RunData;

/// Number of classes up to which cells hold their counts.
const WITH_COUNTS: usize = 16;
/// Number of classes up to which there is a matrix.
const MOST_CLASSES: usize = 100;

/// The matrix of the test nodes, or of the first mask that has nodes; empty without one.
pub(super) fn confusion(run: &RunData) -> String {
    let Some(evaluation) = &run.evaluation else { return String::new() };
    let found = ["test", "val", "train"].into_iter().find_map(|mask| {
        let rows = counts(&evaluation[format!("{mask}_confusion")])?;
        Some((mask, rows))
    });
    let Some((mask, rows)) = found else { return String::new() };
    let classes = rows.len();
    let square = rows.iter().all(|row| row.len() == classes);
    let title = format!("Predictions of {mask} nodes of {}", run.name);
    let mut html = format!("<figure class=\"card\"><h3>{}</h3>", escaped(&title));
    if classes > MOST_CLASSES {
        return String::new();
    }
    let names: Vec<String> = if run.class_names.len() == classes {
        run.class_names.iter().map(|name| escaped(name)).collect()
    } else {
        (0..classes).map(|class| class.to_string()).collect()
    };
    if square && classes > WITH_COUNTS {
        html.push_str(&picture(&rows, &names));
    } else {
        html.push_str(&table(&rows, &names, square));
    }
    let remark = if square {
        "A row per class, a column per predicted class. The darker a cell, the larger its share of the row."
    } else {
        "A row per class."
    };
    let _ = writeln!(html, "<figcaption><p>{remark}</p></figcaption></figure>");
    html
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

fn table(rows: &[Vec<u64>], names: &[String], square: bool) -> String {
    let mut html =
        "<div class=\"scroll\"><table class=\"matrix\"><tr><th scope=\"col\">class</th>".to_owned();
    if square {
        for name in names {
            let _ = write!(html, "<th scope=\"col\">as {name}</th>");
        }
    } else {
        for heading in ["true neg.", "false pos.", "false neg.", "true pos."] {
            let _ = write!(html, "<th scope=\"col\">{heading}</th>");
        }
    }
    html.push_str("</tr>");
    for (class, (row, name)) in rows.iter().zip(names).enumerate() {
        let _ = write!(html, "<tr><th scope=\"row\">{name}</th>");
        for (column, count) in row.iter().enumerate() {
            // The style sheet has a shade for each tenth.
            let tenths = if square { (share(row, *count) * 10.0).round() } else { 0.0 };
            let kind = if column == class || !square { "hit" } else { "miss" };
            let _ = write!(html, "<td class=\"{kind} p{tenths:.0}\">{count}</td>");
        }
        html.push_str("</tr>");
    }
    html + "</table></div>"
}

fn picture(rows: &[Vec<u64>], names: &[String]) -> String {
    let cell = 360.0 / rows.len() as f64;
    let mut html =
        "<svg viewBox=\"0 0 360 360\" role=\"img\" aria-label=\"confusion matrix\">".to_owned();
    for (class, row) in rows.iter().enumerate() {
        for (column, count) in row.iter().enumerate().filter(|(_, count)| **count > 0) {
            let colour = i32::from(column != class);
            let _ = write!(
                html,
                "<rect class=\"turn c{colour}\" x=\"{:.2}\" y=\"{:.2}\" width=\"{cell:.2}\" height=\"{cell:.2}\" opacity=\"{:.2}\"><title>class {} as {}: {count}</title></rect>",
                column as f64 * cell,
                class as f64 * cell,
                share(row, *count).clamp(0.03, 1.0),
                names[class],
                names[column]
            );
        }
    }
    html + "</svg>"
}
