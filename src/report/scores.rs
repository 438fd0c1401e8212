//! The scores with which runs have ended.

use std::fmt::Write;

use super::axis::Unit;
use super::best::best_of;
use super::escape::escaped;
use super::table::none;
use crate::event::Metric;
use crate::run::RunData;

/// Sets of nodes or edges, as they are called in the metrics and for people.
pub(super) const SETS: [(&str, &str); 3] =
    [("train", "training"), ("val", "validation"), ("test", "test")];

/// A table of loss and metrics by set, for each run.
pub(super) fn scores(runs: &[RunData]) -> String {
    let ends: Vec<(&RunData, End<'_>)> =
        runs.iter().filter_map(|run| Some((run, End::of(run)?))).collect();
    if ends.is_empty() {
        return String::new();
    }
    let has =
        |set: &str| ends.iter().any(|(_, end)| end.metrics().any(|m| end.value(set, m).is_some()));
    let sets: Vec<_> = SETS.into_iter().filter(|(set, _)| *set == "train" || has(set)).collect();
    let mut html = "<table class=\"scores\"><tr><th></th>".to_owned();
    for (_, name) in &sets {
        let _ = write!(html, "<th scope=\"col\">{name}</th>");
    }
    html.push_str("</tr>");
    let mut remarks = Vec::new();
    for (run, end) in ends {
        let name = escaped(&run.name);
        let alone = runs.len() == 1;
        if !alone {
            let _ = write!(
                html,
                "<tr><th scope=\"rowgroup\" colspan=\"{}\">{name}</th></tr>",
                sets.len() + 1
            );
        }
        let mut row = |what: &str, cells: &[Option<String>]| {
            let _ = write!(html, "<tr><th scope=\"row\">{what}</th>");
            for cell in cells {
                let _ = write!(html, "<td>{}</td>", cell.clone().unwrap_or_else(none));
            }
            html.push_str("</tr>");
        };
        let mut losses = vec![None; sets.len()];
        losses[0] = end.line["loss"].as_f64().map(|loss| Unit::Number.show(loss));
        row("loss", &losses);
        for metric in end.metrics() {
            let cells = sets.iter().map(|(set, _)| Some(metric.show(end.value(set, metric)?)));
            row(metric.name(), &cells.collect::<Vec<_>>());
        }
        let whose = if alone { String::new() } else { format!("{name}: ") };
        remarks.push(format!("{whose}{}", end.remark()));
        if let Some((metric, best)) = best_of(run) {
            let score = metric.show(best.score);
            remarks.push(format!("{whose}Best validation {score} in epoch {}.", best.epoch));
        }
    }
    let _ = write!(html, "</table><p class=\"path\">{}</p>", remarks.join("<br>"));
    format!("<h2>Final scores</h2>{html}\n")
}

/// The line of a run with its final scores.
struct End<'r> {
    line: &'r serde_json::Value,
    /// The end of the keys of metrics.
    suffix: &'static str,
}

impl<'r> End<'r> {
    /// The last evaluation; of a run without one, the last epoch.
    fn of(run: &'r RunData) -> Option<Self> {
        if let Some(line) = &run.evaluation {
            return Some(End { line, suffix: "" });
        }
        let line = run.epochs.last()?;
        let suffix = if line["validation"].is_number() { "" } else { "_with_dropout" };
        Some(End { line, suffix })
    }

    fn value(&self, set: &str, metric: Metric) -> Option<f64> {
        self.line[format!("{set}_{}{}", metric.key(), self.suffix)].as_f64()
    }

    /// The metrics that a set has a value of. For nodes of one class, F1 micro is the accuracy.
    fn metrics(&self) -> impl Iterator<Item = Metric> {
        let is_known =
            |metric: Metric| SETS.iter().any(|(set, _)| self.value(set, metric).is_some());
        let one_class = is_known(Metric::Accuracy);
        Metric::ALL
            .into_iter()
            .filter(move |metric| is_known(*metric) && !(one_class && *metric == Metric::F1Micro))
    }

    fn remark(&self) -> String {
        let epoch = &self.line["epoch"];
        match (self.line["event"] == "evaluation", self.suffix) {
            (true, _) => format!("Weights of epoch {epoch}, without dropout."),
            (false, "") => {
                format!("Epoch {epoch}, without dropout; the loss is that of its training pass.")
            }
            (false, _) => {
                format!("Training pass of epoch {epoch}, with dropout: no evaluation is complete.")
            }
        }
    }
}
