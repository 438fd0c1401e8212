//! The charts of runs.

use std::collections::BTreeSet;

use super::axis::{Scale, Unit};
use super::best::best_of;
use super::chart::{Chart, Curve, MarkedEpoch};
use super::scores::SETS;
use crate::event::Metric;
use crate::run::RunData;

/// Ends of the keys of metrics, with the words for them in names; the first that a run has is shown.
const DROPOUT: [(&str, &str); 2] = [("", ""), ("_with_dropout", " with dropout")];
/// Dashes of the sets: validation is solid.
const DASHES: [usize; 3] = [2, 0, 1];
/// The place of validation among the sets.
const COLOUR_OF_VALIDATION: usize = 1;

/// Fields that have their own charts, or say nothing about learning.
const OTHERS: &str = "epoch loss lr validation epoch_s evaluation_s user_s system_s lock_turns turns \
    bytes_written bytes_read bytes_cached bytes_written_unpacked bytes_read_unpacked \
    bytes_sent peak_memory_bytes batches row_bytes_needed row_bytes_read samples";

/// The charts of loss and metrics, with all runs laid over each other.
pub(super) fn learning(runs: &[RunData]) -> Vec<Chart> {
    let mut charts = vec![of_fields(runs, "Loss", Unit::Number, Scale::Decades, &[("loss", "")])];
    let keys: BTreeSet<&str> = runs
        .iter()
        .flat_map(|run| &run.epochs)
        .filter_map(|line| line.as_object())
        .flat_map(|line| line.iter().filter(|(_, value)| value.is_number()))
        .map(|(key, _)| key.as_str())
        .filter(|key| OTHERS.split(' ').all(|other| other != *key))
        .collect();
    let of_metrics = Metric::ALL.into_iter().map(|metric| of_metric(runs, metric));
    charts.extend(of_metrics);
    for key in keys.into_iter().filter(|key| !is_of_metric(key)) {
        charts.push(of_fields(runs, key, Unit::Number, Scale::FromLowest, &[(key, "")]));
    }
    for chart in &mut charts {
        mark_best(runs, chart);
    }
    charts
}

pub(super) fn time_and_memory(runs: &[RunData]) -> Vec<Chart> {
    let times = [("epoch_s", "training"), ("evaluation_s", "evaluation")];
    let has_evaluations = runs.iter().any(|run| !run.values("evaluation_s").is_empty());
    let times = if has_evaluations { &times[..] } else { &[("epoch_s", "")] };
    let seconds = of_fields(runs, "Seconds per epoch", Unit::Seconds, Scale::FromZero, times);
    vec![seconds, memory(runs)]
}

/// The charts of bytes.
pub(super) fn moved(runs: &[RunData]) -> Vec<Chart> {
    let sent = "Bytes to other machines per epoch";
    let sent = of_fields(runs, sent, Unit::Bytes, Scale::FromZero, &[("bytes_sent", "")]);
    vec![bytes(runs), sent]
}

/// The key of a metric of a set in an epoch's line, without dropout or in the training pass.
fn key_of(set: &str, metric: Metric, suffix: &str) -> String {
    format!("{set}_{}{suffix}", metric.key())
}

fn is_of_metric(key: &str) -> bool {
    let keys_of = |metric| {
        SETS.iter().flat_map(move |(set, _)| DROPOUT.map(|(suffix, _)| key_of(set, metric, suffix)))
    };
    Metric::ALL.into_iter().flat_map(keys_of).any(|known| known == key)
}

/// The chart of a metric: a curve per set of nodes, without dropout where epochs were evaluated.
fn of_metric(runs: &[RunData], metric: Metric) -> Chart {
    let unit = if metric == Metric::Accuracy { Unit::Share } else { Unit::Number };
    // Errors approach 0, and shares have their ends.
    let scale = if metric.more_is_better() { Scale::FromLowest } else { Scale::Decades };
    let mut title = metric.name().to_owned();
    title[..1].make_ascii_uppercase();
    let mut chart = of_lines(runs, &title, unit, scale, |run| {
        let of_set = SETS.iter().map(|(set, name)| {
            let found = DROPOUT.iter().find_map(|(suffix, with)| {
                let points = run.values(&key_of(set, metric, suffix));
                (!points.is_empty()).then(|| (format!("{name}{with}"), points))
            });
            found.unwrap_or_default()
        });
        of_set.collect()
    });
    for curve in &mut chart.curves {
        curve.dash = DASHES[curve.dash];
    }
    chart
}

/// Whether a run learned links, none of whose epochs was evaluated.
pub(super) fn is_link_without_curve(run: &RunData) -> bool {
    run.config().is_some_and(|config| config.link.is_some()) && best_of(run).is_none()
}

/// Marks the epochs with the best validation; in the chart of the metric also the values.
fn mark_best(runs: &[RunData], chart: &mut Chart) {
    for (r, run) in runs.iter().enumerate() {
        let Some((metric, best)) = best_of(run) else { continue };
        let is_here = chart.title.eq_ignore_ascii_case(metric.name());
        chart.marks.push(MarkedEpoch {
            name: curve_name(runs, run, &format!("best validation in epoch {}", best.epoch)),
            colour: if runs.len() == 1 { COLOUR_OF_VALIDATION } else { r },
            epoch: best.epoch as f64,
            value: is_here.then_some(best.score),
        });
    }
}

/// A chart with a curve per run and field.
fn of_fields(
    runs: &[RunData],
    title: &str,
    unit: Unit,
    scale: Scale,
    fields: &[(&str, &str)],
) -> Chart {
    of_lines(runs, title, unit, scale, |run| {
        fields.iter().map(|(field, what)| (*what, run.values(field))).collect()
    })
}

/// A chart with these lines of each run. One run has a colour per line, several have one each.
fn of_lines<N: AsRef<str>>(
    runs: &[RunData],
    title: &str,
    unit: Unit,
    scale: Scale,
    lines: impl Fn(&RunData) -> Vec<(N, Vec<(f64, f64)>)>,
) -> Chart {
    let mut curves = Vec::new();
    for (r, run) in runs.iter().enumerate() {
        for (i, (what, points)) in lines(run).into_iter().enumerate() {
            let colour = if runs.len() == 1 { i } else { r };
            let name = curve_name(runs, run, what.as_ref());
            curves.push(Curve { name, colour, dash: i, points });
        }
    }
    Chart { title: title.to_owned(), unit, scale, curves, marks: Vec::new(), remark: String::new() }
}

fn curve_name(runs: &[RunData], run: &RunData, what: &str) -> String {
    match (runs.len(), what) {
        (1, what) => what.to_owned(),
        (_, "") => run.name.clone(),
        (_, what) => format!("{}: {what}", run.name),
    }
}

/// The chart of the learning rate, if it changes or differs.
pub(super) fn learning_rate(runs: &[RunData]) -> Chart {
    let mut chart = of_fields(runs, "Learning rate", Unit::Number, Scale::FromZero, &[("lr", "")]);
    let mut rates = chart.curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.1));
    let first = rates.next();
    if rates.all(|rate| Some(rate) == first) {
        chart.curves.clear();
    }
    chart
}

/// A horizontal line across the epochs of a run, at a number of bytes.
fn level(run: &RunData, bytes: Option<u64>) -> Vec<(f64, f64)> {
    let epochs = run.values("epoch");
    let ends = [epochs.first(), epochs.last()];
    ends.into_iter().flatten().filter_map(|(epoch, _)| Some((*epoch, bytes? as f64))).collect()
}

fn memory(runs: &[RunData]) -> Chart {
    let title = "Memory against budget";
    let chart = of_lines(runs, title, Unit::Bytes, Scale::FromZero, |run| {
        let peak = run.values("peak_memory_bytes");
        vec![("peak so far", peak), ("budget", level(run, run.budget()))]
    });
    let remark = "All processes of a run together, with the page cache of its files.".to_owned();
    Chart { remark, ..chart }
}

fn bytes(runs: &[RunData]) -> Chart {
    let title = "Bytes per epoch against plan and bound";
    let chart = of_lines(runs, title, Unit::Bytes, Scale::FromZero, |run| {
        vec![
            ("written", run.values("bytes_written")),
            ("read", run.values("bytes_read")),
            ("written, with zeros", run.values("bytes_written_unpacked")),
            ("planned", level(run, run.plan.map(|plan| plan.written + plan.read))),
            ("lower bound of any schedule", level(run, run.plan.and_then(|plan| plan.bound))),
        ]
    });
    let remark = if runs.iter().all(|run| run.plan.is_none()) {
        "No plan is recorded: small runs, runs on samples and runs on several machines are not planned."
    } else {
        "Plan and bound are for written and read bytes together, and the bound counts zeros, too."
    };
    Chart { remark: remark.to_owned(), ..chart }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_metrics_are_recognised_by_their_whole_names() {
        assert!(is_of_metric("test_acc") && is_of_metric("train_f1_micro_with_dropout"));
        assert!(!is_of_metric("accuracy_of_mine") && !is_of_metric("my_test_acc"));
    }
}
