//! Progress of a command with several steps, for people.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde_json::json;

use super::screen::progress_bar;
use super::stderr::{show_event, show_status};

/// Interval of the events that report a step's progress.
const OFTEN: Duration = Duration::from_secs(1);

/// A bar on standard error, if that is a terminal; otherwise nothing is shown. Dropping it removes the bar.
#[derive(Debug)]
pub struct StepBar {
    bar: Option<ProgressBar>,
    step: &'static str,
    /// Time of the last event.
    shown: Instant,
}

impl StepBar {
    /// A bar that is not shown yet.
    pub fn new() -> Self {
        let template = "{msg:20} [{bar:30}] {percent:>3} % {per_sec} {elapsed} (left: {eta})";
        StepBar { bar: progress_bar(None, template), step: "", shown: Instant::now() }
    }

    /// Shows that `done` of `total` parts of a step are done.
    pub fn show(&mut self, step: &'static str, done: u64, total: u64) {
        let fresh = self.step != step;
        if fresh || self.shown.elapsed() >= OFTEN {
            self.shown = Instant::now();
            show_event(&json!({ "event": "progress", "step": step, "done": done, "total": total }));
        }
        let Some(bar) = &self.bar else {
            self.step = step;
            return;
        };
        if fresh {
            self.step = step;
            bar.set_message(step);
            bar.set_length(total);
            bar.reset();
        }
        bar.set_position(done);
    }

    /// Shows a line above the bar.
    pub fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| show_status(text)),
            None => show_status(text),
        }
    }
}

impl Default for StepBar {
    fn default() -> Self {
        Self::new()
    }
}
