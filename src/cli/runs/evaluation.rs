//! The last evaluation, as tables for people.

use serde_json::{Map, Value, json};

use crate::cli::show::table::TextTable;
use crate::event::{Confusion, Evaluation, Metric, PredictionScores, SetScores};
use crate::words::size::number;

/// Largest number of classes in a table; wider tables do not fit a terminal.
const MOST_CLASSES: usize = 20;
/// Largest number of characters of a class's name in a table.
const LONGEST_NAME: usize = 20;

/// Tables of all metrics and of the confusion matrix; empty if there is only one metric. `class_names` serve as
/// headings, or class numbers if the number of names differs.
pub(in crate::cli) fn tables(report: &Evaluation, class_names: &[String]) -> String {
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
    let confusion =
        report.confusion.as_ref().map(|confusion| show(confusion, one_class, class_names));
    table.to_string() + &confusion.unwrap_or_default()
}

/// The table of the test nodes, or of the first mask with nodes.
fn show(confusion: &Confusion, one_class: bool, class_names: &[String]) -> String {
    let known = confusion.named().into_iter().rev().find(|(_, rows)| !rows.is_empty());
    let Some((name, rows)) = known else { return String::new() };
    if rows.len() > MOST_CLASSES {
        return String::new();
    }
    let names: Vec<String> = if class_names.len() == rows.len() {
        class_names.iter().map(|name| short(name)).collect()
    } else {
        (0..rows.len()).map(|class| class.to_string()).collect()
    };
    let headings = if one_class {
        names.iter().map(|name| format!(">as {name}")).collect()
    } else {
        [">true neg.", ">false pos.", ">false neg.", ">true pos."].map(str::to_owned).to_vec()
    };
    let headings = headings.iter().map(String::as_str);
    let headings: Vec<&str> = std::iter::once("class").chain(headings).collect();
    let mut table = TextTable::new(&headings);
    for (name, row) in names.iter().zip(rows) {
        table.row(std::iter::once(name.clone()).chain(row.iter().map(|n| number(*n))));
    }
    format!("predictions of {name} nodes:\n{table}")
}

/// A class's name as a heading.
fn short(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_owned();
    }
    name.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
}

/// Scores of predictions: a row per set of nodes, a column per metric. With the scores `before` correction and
/// smoothing, the table shows both, and a line shows the change.
pub(in crate::cli) fn prediction_table(
    before: Option<&PredictionScores>,
    after: &PredictionScores,
) -> String {
    let Some(first) = after.sets.first() else { return String::new() };
    let mut headings = vec![counted(first).to_owned(), ">count".to_owned()];
    for (metric, _) in &first.scores {
        headings.push(format!(">{}", metric.name()));
        headings.extend(before.map(|_| ">before".to_owned()));
    }
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut table = TextTable::new(&headings);
    for set in &after.sets {
        let mut cells = vec![set.name.clone(), number(set.nodes)];
        for (metric, value) in &set.scores {
            cells.push(metric.show(*value));
            let earlier = before.map(|before| score_of(before, set, *metric));
            cells.extend(earlier.map(|value| value.map_or_else(String::new, |v| metric.show(v))));
        }
        table.row(cells);
    }
    let verdict = before.and_then(|before| verdict(before, after)).unwrap_or_default();
    table.to_string() + &verdict
}

pub(in crate::cli) fn prediction_event(scores: &PredictionScores) -> Value {
    let sets = scores.sets.iter().map(|set| {
        let values =
            set.scores.iter().map(|(metric, value)| (metric.key().to_owned(), json!(value)));
        let scores = values.collect::<Map<_, _>>();
        json!({ "name": set.name, counted(set): set.nodes, "scores": scores })
    });
    json!({ "event": "predicted", "corrected": scores.corrected, "sets": sets.collect::<Vec<_>>() })
}

/// The members of a set.
fn counted(set: &SetScores) -> &'static str {
    let of_edges = |(metric, _): &(Metric, f64)| *metric == Metric::FilteredReciprocalRank;
    if set.scores.iter().any(of_edges) { "edges" } else { "nodes" }
}

fn score_of(scores: &PredictionScores, set: &SetScores, metric: Metric) -> Option<f64> {
    let same = scores.sets.iter().find(|other| other.name == set.name)?;
    same.scores.iter().find(|(other, _)| *other == metric).map(|(_, value)| *value)
}

/// Says whether correct and smooth has helped on the nodes whose labels it does not use.
fn verdict(before: &PredictionScores, after: &PredictionScores) -> Option<String> {
    let set =
        ["test", "val"].iter().find_map(|name| after.sets.iter().find(|set| set.name == *name));
    let set = set?;
    let (metric, value) = *set.scores.first()?;
    let earlier = score_of(before, set, metric)?;
    let verb = match value.total_cmp(&earlier) {
        std::cmp::Ordering::Greater => "raises",
        std::cmp::Ordering::Less => "lowers",
        std::cmp::Ordering::Equal => "does not change",
    };
    let (name, from, to) = (&set.name, metric.show(earlier), metric.show(value));
    Some(format!(
        "correct and smooth {verb} the {} of {name} nodes: {from} before, {to} after\n",
        metric.name()
    ))
}
