//! The time, memory and bytes that runs have taken.

use super::axis::Unit;
use super::table::{none, table};
use crate::event::duration;
use crate::run::RunData;
use crate::words::size::size;

/// A table of time and memory, with a row per run.
pub(super) fn time_and_memory(runs: &[RunData]) -> String {
    let headings = ["run", "epochs", "per epoch", "all epochs", "evaluations", "peak memory"];
    let rows = runs.iter().map(|run| {
        let evaluations = sum(run, "evaluation_s") + last_evaluation(run);
        vec![
            run.name.clone(),
            run.epochs.len().to_string(),
            median(run, "epoch_s").map_or_else(none, |s| Unit::Seconds.show(s)),
            seconds(sum(run, "epoch_s")),
            if evaluations > 0.0 { seconds(evaluations) } else { none() },
            memory(run).unwrap_or_else(none),
        ]
    });
    table(&headings, &rows.collect::<Vec<_>>())
}

/// A table of turns and bytes, with a row per run. `wear` relates written bytes to the drive's endurance.
pub(super) fn turns_and_bytes(runs: &[RunData], wear: &dyn Fn(u64) -> Option<String>) -> String {
    let mut headings = vec![
        "run",
        "turns per worker and epoch",
        "written per epoch",
        "read per epoch",
        "written in all epochs",
    ];
    // Only runs on several machines send bytes to others.
    let machines = runs.iter().any(|run| median(run, "bytes_sent").is_some());
    if machines {
        headings.push("to other machines per epoch");
    }
    let shown =
        |run: &RunData, field| median(run, field).map_or_else(none, |bytes| size(bytes as u64));
    let rows = runs.iter().map(|run| {
        let mut row = vec![
            run.name.clone(),
            median(run, "lock_turns").map_or_else(none, |turns| turns.to_string()),
            shown(run, "bytes_written"),
            shown(run, "bytes_read"),
            written(run).map_or_else(none, |bytes| {
                size(bytes) + &wear(bytes).map_or_else(String::new, |share| format!(", {share}"))
            }),
        ];
        if machines {
            row.push(shown(run, "bytes_sent"));
        }
        row
    });
    table(&headings, &rows.collect::<Vec<_>>())
}

/// Seconds that several epochs took.
fn seconds(seconds: f64) -> String {
    if seconds < 10.0 { Unit::Seconds.show(seconds) } else { duration(seconds) }
}

fn sum(run: &RunData, field: &str) -> f64 {
    run.values(field).iter().map(|point| point.1).sum()
}

/// Seconds of the evaluation of the trained model.
fn last_evaluation(run: &RunData) -> f64 {
    run.evaluation.as_ref().and_then(|line| line["evaluation_s"].as_f64()).unwrap_or(0.0)
}

/// The value of a typical epoch.
fn median(run: &RunData, field: &str) -> Option<f64> {
    let mut values: Vec<f64> = run.values(field).into_iter().map(|point| point.1).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn memory(run: &RunData) -> Option<String> {
    let of_evaluation = run.evaluation.as_ref().and_then(|line| line["peak_memory_bytes"].as_f64());
    let last = run.values("peak_memory_bytes").last().map(|point| point.1);
    let peak = of_evaluation.or(last)?;
    let budget = run.budget().map_or_else(String::new, |budget| format!(" of {}", size(budget)));
    Some(format!("{}{budget}", size(peak as u64)))
}

/// Bytes written in all epochs of a run.
fn written(run: &RunData) -> Option<u64> {
    let epochs = run.values("bytes_written");
    (!epochs.is_empty()).then(|| epochs.iter().map(|point| point.1 as u64).sum())
}
