//! Progress of a run: for people a bar on a terminal and lines elsewhere, for programs a JSON object per event.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde_json::json;

use super::kinds::{EpochReport, Evaluation, StepReport};
use super::metrics::Line;
use super::progress::{RunProgress, time};
use super::scores::{Metric, Scores};
use super::screen::progress_bar;
use super::stderr::{Voice, show_event, show_line, show_note, show_status, voice};
use crate::words::size::size;

/// Positions of the bar per epoch.
const FINE: u64 = 1000;
/// Time between two progress lines where standard error is not a terminal and so shows no bar.
const SILENCE: Duration = Duration::from_secs(30);
/// Time between two progress lines for programs, and for people who asked for details.
const OFTEN: Duration = Duration::from_secs(1);

/// Schedule of progress lines where standard error is not a terminal.
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

/// The display of a run's progress. Dropping it removes its bar.
pub struct Console {
    bar: Option<ProgressBar>,
    epochs: u32,
    lines: Lines,
    /// Number of epochs shown, and their seconds including evaluations.
    shown: Cell<(u32, f64)>,
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
        let lines = Lines { shown: Cell::new(Instant::now()) };
        Console { bar, epochs, lines, shown: Cell::default() }
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
        let line = self.epoch_line(report, voice() == Voice::Verbose);
        self.above(|| show_status(&line));
        if let Some(bar) = &self.bar {
            bar.set_position(u64::from(report.epoch) * FINE);
        }
    }

    /// The line of an epoch: loss, validation, seconds and remaining time. With `all`, moved bytes and all scores
    /// follow.
    fn epoch_line(&self, report: &EpochReport, all: bool) -> String {
        let EpochReport { epoch, scores: trained, evaluation, epoch_s, .. } = report;
        let seconds = epoch_s + evaluation.map_or(0.0, |evaluation| evaluation.seconds);
        let (count, sum) = self.shown.get();
        let (count, sum) = (count + 1, sum + seconds);
        self.shown.set((count, sum));
        let score = match evaluation {
            Some(evaluation) => shown_score(&evaluation.scores, ""),
            None => shown_score(trained, " with dropout"),
        };
        let left = match self.epochs.saturating_sub(*epoch) {
            0 => String::new(),
            left => format!(", {} left", time(f64::from(left) * sum / f64::from(count))),
        };
        let of_all = if all { everything(report) } else { String::new() };
        let epochs = self.epochs;
        let loss = shown_loss(report.loss);
        let digits = if *epoch_s < 100.0 { 2 } else { 0 };
        format!("epoch {epoch}/{epochs}: loss {loss}{score}, {epoch_s:.digits$} s{left}{of_all}")
    }

    /// Shows a completed step.
    pub fn step(&self, report: &StepReport) {
        if voice() == Voice::Json {
            return show_line(&Line::of_step(report).text());
        }
        let StepReport { epoch, step, steps, loss, scores: of_step, seconds } = report;
        let (loss, trained) = (shown_loss(*loss), shown_score(of_step, " with dropout"));
        let epochs = self.epochs;
        let line = format!(
            "epoch {epoch}/{epochs}, step {step}/{steps}: loss {loss}{trained}, {seconds:.2} s"
        );
        self.above(|| show_status(&line));
    }

    /// Tells programs that the checkpoint of an epoch is written.
    pub fn checkpoint(&self, epoch: u32) {
        show_event(&json!({ "event": "checkpoint", "epoch": epoch }));
    }

    /// Shows progress inside an epoch: in the bar, or in a line after some time without output.
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
        show_status(&format!("trained: loss {}{scores}", shown_loss(report.loss)));
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

/// A loss in at most ten letters.
fn shown_loss(loss: f64) -> String {
    if loss.abs() < 1e4 || !loss.is_finite() { format!("{loss:.4}") } else { format!("{loss:.3e}") }
}

/// The validation score, or the training score where there is none.
fn shown_score(scores: &Scores, remark: &str) -> String {
    let Scores { metric, train, val, .. } = *scores;
    let named = val.map(|value| ("val", value)).or(train.map(|value| ("train", value)));
    named.map_or_else(String::new, |(name, value)| {
        format!(", {}{remark}", named_score(name, metric, value))
    })
}

/// All scores of an epoch, its turns and its bytes.
fn everything(report: &EpochReport) -> String {
    let trained = scores(&report.scores);
    let trained = if trained.is_empty() { trained } else { format!(", with dropout: {trained}") };
    let evaluated = report.evaluation.map(|evaluation| scores(&evaluation.scores));
    let evaluated = evaluated.map_or_else(String::new, |text| format!(", evaluated: {text}"));
    let sent = match report.io.sent {
        0 => String::new(),
        bytes => format!(", {} to other machines", size(bytes)),
    };
    let io = report.io;
    let moved = |stored, saved| match saved {
        0 => size(stored),
        saved => format!("{} ({} with zeros)", size(stored), size(stored + saved)),
    };
    let written = moved(io.written, io.saved_in_writing);
    let read = moved(io.read, io.saved_in_reading);
    let turns = report.lock_turns;
    format!("{trained}{evaluated}, {turns} turns, {written} written, {read} read{sent}")
}

/// Formats scores as "train 98.00 %, val 80.00 %".
fn scores(scores: &Scores) -> String {
    let known = scores.named().into_iter();
    let known = known.filter_map(|(name, value)| Some(named_score(name, scores.metric, value?)));
    known.collect::<Vec<_>>().join(", ")
}

/// A score with its name, and with the metric's key unless the metric is accuracy.
fn named_score(name: &str, metric: Metric, value: f64) -> String {
    let value = metric.show(value);
    match metric {
        Metric::Accuracy => format!("{name} {value}"),
        _ => format!("{name} {} {value}", metric.key()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::EpochEvaluation;
    use super::*;
    use crate::io::IoTotals;
    use crate::platform::ProcessorSeconds;

    /// Seconds at which progress is shown, given progress twice a second and an epoch's line after 40 seconds.
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
    fn an_epochs_line_fits_80_columns_and_has_the_rest_on_request() {
        let scores = |metric, value| Scores {
            metric,
            train: Some(value),
            val: Some(value),
            test: Some(value),
        };
        let report = EpochReport {
            epoch: 1,
            loss: 1.25,
            scores: scores(Metric::Accuracy, 0.5),
            lr: 0.01,
            evaluation: None,
            epoch_s: 2.0,
            processor: ProcessorSeconds { user: 1.0, system: 0.5 },
            lock_turns: 5,
            io: IoTotals { written: 1 << 30, read: 2 << 30, ..IoTotals::default() },
            samples: None,
        };
        let console = Console::new(3);
        let line = console.epoch_line(&report, false);
        assert_eq!(line, "epoch 1/3: loss 1.2500, val 50.00 % with dropout, 2.00 s, 4 s left");
        let evaluation =
            EpochEvaluation { scores: scores(Metric::MeanReciprocalRank, 0.25), seconds: 2.0 };
        let second = EpochReport { epoch: 2, evaluation: Some(evaluation), ..report };
        let line = console.epoch_line(&second, false);
        assert_eq!(line, "epoch 2/3: loss 1.2500, val mrr 0.2500, 2.00 s, 3 s left");
        let last = EpochReport { epoch: 3, loss: f64::NAN, ..report };
        let line = console.epoch_line(&last, true);
        let all = "epoch 3/3: loss NaN, val 50.00 % with dropout, 2.00 s, with dropout: train 50.00 %, val 50.00 %, test 50.00 %, \
                   5 turns, 1.00 GiB written, 2.00 GiB read";
        assert_eq!(line, all);
        let scores = scores(Metric::MeanSquaredError, 0.01);
        let long = EpochReport { epoch: 500, epoch_s: 999.0, loss: 12_345.0, scores, ..report };
        let line = Console::new(1000).epoch_line(&long, false);
        let due = "epoch 500/1000: loss 1.234e4, val mse 1.0000e-2 with dropout, 999 s, 138 h left";
        assert_eq!(line, due);
        assert!(line.len() <= 80, "{} letters: {line}", line.len());
    }

    #[test]
    fn long_epochs_show_a_line_after_thirty_seconds_of_silence() {
        assert_eq!(shown(Voice::Usual, 131), [30.0, 70.0, 100.0, 130.0]);
        assert_eq!(shown(Voice::Verbose, 3), [1.0, 2.0, 3.0]);
        assert_eq!(shown(Voice::Json, 3), [1.0, 2.0, 3.0]);
        assert_eq!(shown(Voice::Quiet, 200), [0.0; 0]);
    }
}
