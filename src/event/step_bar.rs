//! Progress of one command that has several steps, for people.

use indicatif::ProgressBar;

use super::stderr::progress_bar;

/// A bar on standard error, if that is a terminal; otherwise nothing is shown. It disappears when it is dropped.
#[derive(Debug)]
pub struct StepBar {
    bar: Option<ProgressBar>,
    step: &'static str,
}

impl StepBar {
    /// A bar that is not shown yet.
    pub fn new() -> Self {
        let template = "{msg:20} [{bar:30}] {percent:>3} % {per_sec} {elapsed} (left: {eta})";
        StepBar { bar: progress_bar(None, template), step: "" }
    }

    /// Shows that `done` of `total` parts of a step are done.
    pub fn show(&mut self, step: &'static str, done: u64, total: u64) {
        let Some(bar) = &self.bar else { return };
        if self.step != step {
            self.step = step;
            bar.set_message(step);
            bar.set_length(total);
            bar.reset();
        }
        bar.set_position(done);
    }
}

impl Default for StepBar {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for StepBar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
