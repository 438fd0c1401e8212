//! The charts of runs.

use std::collections::BTreeSet;

use super::axis::Unit;
use super::chart::{Chart, Curve};
use super::run_data::RunData;

/// Metrics by the end of their keys, with their names.
const METRICS: [(&str, &str, Unit); 6] = [
    ("acc", "Accuracy", Unit::Share),
    ("f1_micro", "F1 micro", Unit::Number),
    ("f1_macro", "F1 macro", Unit::Number),
    ("roc_auc", "ROC AUC", Unit::Number),
    ("mrr", "Mean reciprocal rank", Unit::Number),
    ("mse", "Mean squared error", Unit::Number),
];

/// Fields that have their own charts, or say nothing about learning.
const OTHERS: [&str; 21] = [
    "epoch",
    "loss",
    "lr",
    "validation",
    "epoch_s",
    "evaluation_s",
    "user_s",
    "system_s",
    "lock_turns",
    "turns",
    "bytes_written",
    "bytes_read",
    "bytes_cached",
    "bytes_written_unpacked",
    "bytes_read_unpacked",
    "bytes_sent",
    "peak_memory_bytes",
    "batches",
    "row_bytes_needed",
    "row_bytes_read",
    "samples",
];

/// All charts of the runs, laid over each other.
pub(super) fn charts(runs: &[RunData]) -> Vec<Chart> {
    let mut charts = vec![of_fields(runs, "Loss", Unit::Number, false, &[("loss", "")])];
    let keys: BTreeSet<&str> = runs
        .iter()
        .flat_map(|run| &run.epochs)
        .filter_map(|line| line.as_object())
        .flat_map(|line| line.iter().filter(|(_, value)| value.is_number()))
        .map(|(key, _)| key.as_str())
        .filter(|key| !OTHERS.contains(key))
        .collect();
    let mut shown = BTreeSet::new();
    for (end, title, unit) in METRICS {
        let of_metric: Vec<&str> =
            keys.iter().copied().filter(|key| metric_of(key) == Some(end)).collect();
        let fields: Vec<(&str, String)> =
            of_metric.iter().map(|key| (*key, name_of(key, end))).collect();
        let fields: Vec<(&str, &str)> = fields.iter().map(|(key, name)| (*key, &**name)).collect();
        charts.push(of_fields(runs, title, unit, false, &fields));
        shown.extend(of_metric);
    }
    for key in keys.difference(&shown) {
        charts.push(of_fields(runs, key, Unit::Number, false, &[(key, "")]));
    }
    charts.push(learning_rate(runs));
    let times = [("epoch_s", "training"), ("evaluation_s", "evaluation")];
    let has_evaluations = runs.iter().any(|run| !run.values("evaluation_s").is_empty());
    let times = if has_evaluations { &times[..] } else { &[("epoch_s", "")] };
    charts.push(of_fields(runs, "Seconds per epoch", Unit::Seconds, true, times));
    charts.push(memory(runs));
    charts.push(bytes(runs));
    let sent = "Bytes to other machines per epoch";
    charts.push(of_fields(runs, sent, Unit::Bytes, true, &[("bytes_sent", "")]));
    charts
}

/// The metric of a key: `acc` of `test_acc`, and of `train_acc_with_dropout`.
fn metric_of(key: &str) -> Option<&'static str> {
    let found = METRICS.iter().find(|(end, _, _)| {
        key.split_once(end).is_some_and(|(before, after)| {
            before.ends_with('_') && (after.is_empty() || after.starts_with('_'))
        })
    });
    found.map(|(end, _, _)| *end)
}

/// The name of a curve: the key without its metric.
fn name_of(key: &str, end: &str) -> String {
    let (before, after) = key.split_once(end).unwrap_or((key, ""));
    format!("{} {}", before.trim_matches('_'), after.replace('_', " ").trim()).trim().to_owned()
}

/// A chart with a curve per run and field. One run has a colour per field, several have one each.
fn of_fields(
    runs: &[RunData],
    title: &str,
    unit: Unit,
    from_zero: bool,
    fields: &[(&str, &str)],
) -> Chart {
    let mut curves = Vec::new();
    for (r, run) in runs.iter().enumerate() {
        for (f, (field, what)) in fields.iter().enumerate() {
            let (colour, dash) = if runs.len() == 1 { (f, f % 4) } else { (r, f % 4) };
            let name = curve_name(runs, run, what);
            curves.push(Curve { name, colour, dash, points: run.values(field) });
        }
    }
    Chart { title: title.to_owned(), unit, from_zero, curves, remark: String::new() }
}

fn curve_name(runs: &[RunData], run: &RunData, what: &str) -> String {
    match (runs.len(), what) {
        (1, "") => run.name.clone(),
        (1, what) => what.to_owned(),
        (_, "") => run.name.clone(),
        (_, what) => format!("{}: {what}", run.name),
    }
}

/// The learning rate, if it changes or differs.
fn learning_rate(runs: &[RunData]) -> Chart {
    let mut chart = of_fields(runs, "Learning rate", Unit::Number, true, &[("lr", "")]);
    let mut rates = chart.curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.1));
    let first = rates.next();
    if rates.all(|rate| Some(rate) == first) {
        chart.curves.clear();
    }
    chart
}

/// A horizontal line across the epochs of a run.
fn level(run: &RunData, value: Option<f64>) -> Vec<(f64, f64)> {
    let epochs = run.values("epoch");
    let ends = [epochs.first(), epochs.last()];
    ends.into_iter().flatten().filter_map(|(epoch, _)| Some((*epoch, value?))).collect()
}

fn memory(runs: &[RunData]) -> Chart {
    let mut curves = Vec::new();
    for (r, run) in runs.iter().enumerate() {
        let colours = if runs.len() == 1 { [0, 1] } else { [r, r] };
        let peak = run.values("peak_memory_bytes");
        let name = curve_name(runs, run, "peak so far");
        curves.push(Curve { name, colour: colours[0], dash: 0, points: peak });
        let name = curve_name(runs, run, "budget");
        curves.push(Curve { name, colour: colours[1], dash: 1, points: level(run, run.budget) });
    }
    let remark = "All processes of a run together, with the page cache of its files.".to_owned();
    let title = "Memory against budget".to_owned();
    Chart { title, unit: Unit::Bytes, from_zero: true, curves, remark }
}

fn bytes(runs: &[RunData]) -> Chart {
    let mut curves = Vec::new();
    for (r, run) in runs.iter().enumerate() {
        let lines = [
            ("written", run.values("bytes_written")),
            ("read", run.values("bytes_read")),
            ("written, with zeros", run.values("bytes_written_unpacked")),
            ("planned", level(run, run.plan.map(|plan| plan.written + plan.read))),
            ("lower bound of any schedule", level(run, run.plan.and_then(|plan| plan.bound))),
        ];
        for (i, (what, points)) in lines.into_iter().enumerate() {
            let colour = if runs.len() == 1 { i } else { r };
            let name = curve_name(runs, run, what);
            curves.push(Curve { name, colour, dash: i, points });
        }
    }
    let remark = if runs.iter().all(|run| run.plan.is_none()) {
        "The runs are so small that nothing was planned."
    } else {
        "Plan and bound are for written and read bytes together, and the bound counts zeros, too."
    };
    let title = "Bytes per epoch against plan and bound".to_owned();
    Chart { title, unit: Unit::Bytes, from_zero: true, curves, remark: remark.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_recognised_whatever_stands_around_them() {
        assert_eq!(metric_of("test_acc"), Some("acc"));
        assert_eq!(metric_of("train_f1_micro_with_dropout"), Some("f1_micro"));
        assert_eq!(metric_of("accuracy_of_mine"), None);
        assert_eq!(name_of("train_acc_with_dropout", "acc"), "train with dropout");
        assert_eq!(name_of("val_roc_auc", "roc_auc"), "val");
    }
}
