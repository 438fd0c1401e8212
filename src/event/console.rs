//! The progress of a run: for people a bar on a terminal and lines elsewhere, for programs a JSON object per event.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde_json::json;

use super::kinds::{EpochReport, Evaluation, StepReport};
use super::metrics::Line;
use super::progress::RunProgress;
use super::scores::{Metric, Scores};
use super::size::size;
use super::stderr::{Voice, progress_bar, show_event, show_line, show_note, show_status, voice};

/// Positions of the bar per epoch.
const FINE: u64 = 1000;
/// Time between two progress lines where standard error is not a terminal and so shows no bar.
const SILENCE: Duration = Duration::from_secs(30);
/// The same, for programs and for people who want to know everything.
const OFTEN: Duration = Duration::from_secs(1);

/// Decides when a progress line is due on standard error that is not a terminal.
struct Lines {
    /// Time of the last line.
    shown: Cell<Instant>,
}

impl Lines {
    /// Whether a progress line is due at `now`; if it is, it counts as shown.
    fn is_due(&self, now: Instant, voice: Voice) -> bool {
        let silence = match voice {
            Voice::Quiet => return false,
            Voice::Usual => SILENCE,
            Voice::Verbose | Voice::Json => OFTEN,
        };
        let due = now.duration_since(self.shown.get()) >= silence;
        if due {
            self.shown.set(now);
        }
        due
    }
}

/// The display of a run's progress.
pub struct Console {
    bar: Option<ProgressBar>,
    epochs: u32,
    lines: Lines,
}

impl Console {
    /// A display for a run of `epochs` epochs; 0 for work without epochs.
    pub fn new(epochs: u32) -> Self {
        let template = if epochs > 0 { "{prefix} [{bar:10}] {wide_msg}" } else { "{wide_msg}" };
        let bar = progress_bar(Some(u64::from(epochs) * FINE), template);
        if let Some(bar) = &bar {
            bar.set_prefix(format!("epoch 1/{epochs}"));
            bar.set_message("starting");
        }
        Console { bar, epochs, lines: Lines { shown: Cell::new(Instant::now()) } }
    }

    /// Shows a remark.
    pub fn note(&self, text: &str) {
        self.above(|| show_note(text));
    }

    /// Shows a completed epoch.
    pub fn epoch(&self, report: &EpochReport) {
        if voice() == Voice::Json {
            return show_line(&Line::of_epoch(report).text());
        }
        let trained = scores(&report.scores);
        let trained =
            if trained.is_empty() { trained } else { format!(" (with dropout: {trained})") };
        let evaluated = report.evaluation.map(|evaluation| scores(&evaluation.scores));
        let evaluated = evaluated.map_or_else(String::new, |text| format!(", evaluated: {text}"));
        let sent = match report.io.sent {
            0 => String::new(),
            bytes => format!(", {} to other machines", size(bytes)),
        };
        let line = format!(
            "epoch {}/{}: loss {:.4}{trained}{evaluated}, {:.2} s, {} turns, {} written, {} read{sent}",
            report.epoch,
            self.epochs,
            report.loss,
            report.epoch_s,
            report.lock_turns,
            size(report.io.written),
            size(report.io.read),
        );
        self.above(|| show_status(&line));
        if let Some(bar) = &self.bar {
            bar.set_position(u64::from(report.epoch) * FINE);
        }
    }

    /// Shows a completed step.
    pub fn step(&self, report: &StepReport) {
        if voice() == Voice::Json {
            return show_line(&Line::of_step(report).text());
        }
        let StepReport { epoch, step, steps, loss, scores: of_step, seconds } = report;
        let trained = scores(of_step);
        let trained =
            if trained.is_empty() { trained } else { format!(" (with dropout: {trained})") };
        let epochs = self.epochs;
        let line = format!(
            "epoch {epoch}/{epochs}, step {step}/{steps}: loss {loss:.4}{trained}, {seconds:.2} s"
        );
        self.above(|| show_status(&line));
    }

    /// Shows that the checkpoint of an epoch is written, to programs.
    pub fn checkpoint(&self, epoch: u32) {
        show_event(&json!({ "event": "checkpoint", "epoch": epoch }));
    }

    /// Shows the progress inside an epoch: in the bar, or in a line if there has been none for some time.
    pub fn progress(&self, progress: &RunProgress) {
        let epoch = match (progress.epoch, self.epochs) {
            (_, 0) => String::new(),
            (0, epochs) => format!("epoch 1/{epochs}"),
            (epoch, epochs) => format!("epoch {epoch}/{epochs}"),
        };
        if let Some(bar) = &self.bar {
            let before = u64::from(progress.epoch.saturating_sub(1)) * FINE;
            bar.set_prefix(epoch);
            bar.set_message(progress.describe_time_first());
            return bar.set_position(before + (progress.share * FINE as f64) as u64);
        }
        if !self.lines.is_due(Instant::now(), voice()) {
            return;
        }
        if voice() == Voice::Json {
            let mut event = json!(progress);
            event["event"] = json!("progress");
            return show_event(&event);
        }
        let epoch = if epoch.is_empty() { epoch } else { format!("{epoch}: ") };
        show_status(&format!("{epoch}{}", progress.describe()));
    }

    /// Shows the last evaluation.
    pub fn evaluation(&self, report: &Evaluation) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if voice() == Voice::Json {
            return show_line(&Line::of_evaluation(report).text());
        }
        let scores = report.scores.first().map(scores).filter(|scores| !scores.is_empty());
        let scores = scores.map_or_else(String::new, |scores| format!(", {scores}"));
        show_status(&format!("trained: loss {:.4}{scores}", report.loss));
    }

    /// Shows text above the bar, where it stays.
    fn above(&self, show: impl FnOnce()) {
        self.lines.shown.set(Instant::now());
        match &self.bar {
            Some(bar) => bar.suspend(show),
            None => show(),
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds at which progress that comes twice a second is shown, with an epoch's line after 40 seconds.
    fn shown(voice: Voice, seconds: u64) -> Vec<f64> {
        let begin = Instant::now();
        let lines = Lines { shown: Cell::new(begin) };
        let mut shown = Vec::new();
        for tick in 1..=2 * seconds {
            let now = begin + tick as u32 * Duration::from_millis(500);
            if tick == 80 {
                lines.shown.set(now);
            } else if lines.is_due(now, voice) {
                shown.push((now - begin).as_secs_f64());
            }
        }
        shown
    }

    #[test]
    fn long_epochs_show_a_line_after_thirty_seconds_of_silence() {
        assert_eq!(shown(Voice::Usual, 131), [30.0, 70.0, 100.0, 130.0]);
        assert_eq!(shown(Voice::Verbose, 3), [1.0, 2.0, 3.0]);
        assert_eq!(shown(Voice::Json, 3), [1.0, 2.0, 3.0]);
        assert_eq!(shown(Voice::Quiet, 200), [0.0; 0]);
    }
}
