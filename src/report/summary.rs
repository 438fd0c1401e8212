//! The most important numbers of each run.

use std::fmt::Write;

use super::axis::Unit;
use super::escape::escaped;
use super::run_data::RunData;
use crate::event::size;

/// A table with a row per run. `wear` relates written bytes to the drive's endurance.
pub(super) fn summary(runs: &[RunData], wear: &dyn Fn(u64) -> Option<String>) -> String {
    let mut html = "<div class=\"scroll\"><table><tr>".to_owned();
    let machines = runs.iter().any(|run| sent(run).is_some());
    let headings = [
        "run",
        "epochs",
        "training loss",
        "test",
        "seconds per epoch",
        "peak memory",
        "bytes per epoch",
        "written in all epochs",
    ];
    for heading in headings.into_iter().chain(machines.then_some("to other machines per epoch")) {
        let _ = write!(html, "<th scope=\"col\">{heading}</th>");
    }
    html.push_str("</tr>");
    for run in runs {
        let cells = [
            run.epochs.len().to_string(),
            loss(run).unwrap_or_else(none),
            test_score(run).unwrap_or_else(none),
            median(run.values("epoch_s")).map_or_else(none, |s| Unit::Seconds.show(s)),
            memory(run).unwrap_or_else(none),
            moved(run).map_or_else(none, |bytes| size(bytes as u64)),
            written(run).map_or_else(none, |bytes| {
                size(bytes) + &wear(bytes).map_or_else(String::new, |share| format!(", {share}"))
            }),
        ];
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escaped(&run.name));
        let to_machines = machines.then(|| sent(run).map_or_else(none, |bytes| size(bytes as u64)));
        for cell in cells.into_iter().chain(to_machines) {
            let _ = write!(html, "<td>{}</td>", escaped(&cell));
        }
        html.push_str("</tr>");
    }
    html + "</table></div>\n"
}

fn none() -> String {
    "–".to_owned()
}

fn last(run: &RunData, field: &str) -> Option<f64> {
    run.values(field).last().map(|point| point.1)
}

/// The loss of the trained model; of a run without an evaluation, that of the last epoch.
fn loss(run: &RunData) -> Option<String> {
    let trained = run.evaluation.as_ref().and_then(|evaluation| evaluation["loss"].as_f64());
    match trained {
        Some(loss) => Some(Unit::Number.show(loss)),
        None => {
            last(run, "loss").map(|loss| format!("{} in the last epoch", Unit::Number.show(loss)))
        }
    }
}

fn median(points: Vec<(f64, f64)>) -> Option<f64> {
    let mut values: Vec<f64> = points.into_iter().map(|point| point.1).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The first test metric of the last evaluation.
fn test_score(run: &RunData) -> Option<String> {
    let evaluation = run.evaluation.as_ref()?;
    let metrics = [
        ("acc", "accuracy", Unit::Share),
        ("f1_micro", "F1 micro", Unit::Number),
        ("mrr", "mean reciprocal rank", Unit::Number),
        ("mse", "mean squared error", Unit::Number),
    ];
    metrics.into_iter().find_map(|(key, name, unit)| {
        let value = evaluation[format!("test_{key}")].as_f64()?;
        Some(format!("{} {name}", unit.show(value)))
    })
}

fn memory(run: &RunData) -> Option<String> {
    let of_evaluation = run.evaluation.as_ref().and_then(|line| line["peak_memory_bytes"].as_f64());
    let peak = of_evaluation.or_else(|| last(run, "peak_memory_bytes"))?;
    let budget =
        run.budget.map_or_else(String::new, |budget| format!(" of {}", size(budget as u64)));
    Some(format!("{}{budget}", size(peak as u64)))
}

/// Bytes written and read in a typical epoch.
fn moved(run: &RunData) -> Option<f64> {
    Some(median(run.values("bytes_written"))? + median(run.values("bytes_read"))?)
}

/// Bytes sent to other machines in a typical epoch, if there are other machines.
fn sent(run: &RunData) -> Option<f64> {
    median(run.values("bytes_sent"))
}

/// Bytes written in all epochs of a run.
fn written(run: &RunData) -> Option<u64> {
    let epochs = run.values("bytes_written");
    (!epochs.is_empty()).then(|| epochs.iter().map(|point| point.1 as u64).sum())
}
