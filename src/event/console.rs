//! Progress for people: a bar on a terminal, plain lines elsewhere.

use indicatif::ProgressBar;

use super::kinds::{EpochReport, Evaluation};
use super::scores::{Metric, Scores};
use super::size::size;
use super::stderr::{progress_bar, show_note, show_status};

/// The display of a run's progress on standard error.
pub struct Console {
    bar: Option<ProgressBar>,
    epochs: u32,
}

impl Console {
    /// A display for a run of `epochs` epochs.
    pub fn new(epochs: u32) -> Self {
        let template = "epoch {pos}/{len} [{bar:30}] {elapsed} (left: {eta}) {msg}";
        Console { bar: progress_bar(Some(u64::from(epochs)), template), epochs }
    }

    /// Shows a remark.
    pub fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| show_note(text)),
            None => show_note(text),
        }
    }

    /// Shows a completed epoch.
    pub fn epoch(&self, report: &EpochReport) {
        let trained = scores(&report.scores);
        let trained =
            if trained.is_empty() { trained } else { format!(" (with dropout: {trained})") };
        let evaluated = report.evaluation.map(|evaluation| scores(&evaluation.scores));
        let evaluated = evaluated.map_or_else(String::new, |text| format!(", evaluated: {text}"));
        let numbers = format!("loss {:.4}{trained}{evaluated}", report.loss);
        match &self.bar {
            Some(bar) => {
                bar.set_position(u64::from(report.epoch));
                bar.set_message(numbers);
            }
            None => show_status(&format!(
                "epoch {}/{}: {numbers}, {:.2} s, {} turns, {} written, {} read",
                report.epoch,
                self.epochs,
                report.epoch_s,
                report.lock_turns,
                size(report.io.written),
                size(report.io.read),
            )),
        }
    }

    /// Shows the last evaluation.
    pub fn evaluation(&self, report: &Evaluation) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let scores = report.scores.first().map(scores).filter(|scores| !scores.is_empty());
        let scores = scores.map_or_else(String::new, |scores| format!(", {scores}"));
        show_status(&format!("trained: loss {:.4}{scores}", report.loss));
    }
}

/// Formats scores as "train 98.00 %, val 80.00 %", with the metric's key where the metric is not the accuracy.
fn scores(scores: &Scores) -> String {
    let Scores { metric, .. } = *scores;
    let key = match metric {
        Metric::Accuracy => String::new(),
        _ => format!(" {}", metric.key()),
    };
    let known = scores.named().into_iter();
    let known =
        known.filter_map(|(name, value)| Some(format!("{name}{key} {}", metric.show(value?))));
    known.collect::<Vec<_>>().join(", ")
}
