//! Progress for people: a bar on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

use super::kinds::{EpochReport, Evaluation};
use super::scores::{Metric, Scores};
use super::size::size;

/// Where a run's progress is shown: on standard error.
pub struct Console {
    bar: Option<ProgressBar>,
    epochs: u32,
}

impl Console {
    /// For a run of `epochs` epochs.
    pub fn new(epochs: u32) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(
                Some(u64::from(epochs)),
                ProgressDrawTarget::stderr(),
            );
            let template = "epoch {pos}/{len} [{bar:30}] {elapsed} (left: {eta}) {msg}";
            bar.with_style(
                ProgressStyle::with_template(template)
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            )
        });
        Console { bar, epochs }
    }

    /// Shows a remark.
    pub fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("note: {text}")),
            None => eprintln!("note: {text}"),
        }
    }

    /// Shows a completed epoch.
    pub fn epoch(&self, report: &EpochReport) {
        let numbers = format!("loss {:.4}{}", report.loss, scores(&report.scores));
        match &self.bar {
            Some(bar) => {
                bar.set_position(u64::from(report.epoch));
                bar.set_message(numbers);
            }
            None => eprintln!(
                "epoch {}/{}: {numbers}, {:.2} s, {} turns, {} written, {} read",
                report.epoch,
                self.epochs,
                report.epoch_s,
                report.lock_turns,
                size(report.io.written),
                size(report.io.read),
            ),
        }
    }

    /// Shows the last evaluation.
    pub fn evaluation(&self, report: &Evaluation) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let scores: String = report.scores.first().map(scores).unwrap_or_default();
        eprintln!("trained: loss {:.4}{scores}", report.loss);
    }
}

/// ", train 98.00 %, val 80.00 %", or with the metric's key where it is not the accuracy.
fn scores(scores: &Scores) -> String {
    let Scores { metric, .. } = *scores;
    let key = match metric {
        Metric::Accuracy => String::new(),
        _ => format!(" {}", metric.key()),
    };
    let known = scores.named().into_iter();
    let known =
        known.filter_map(|(name, value)| Some(format!(", {name}{key} {}", metric.show(value?))));
    known.collect()
}
