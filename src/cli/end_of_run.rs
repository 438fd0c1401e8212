//! Last lines of a run: its time and memory, its best score, and the next commands.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::event::{Metric, size, time};
use crate::run::METRICS;
use crate::run::config::{Relations, RunConfig};

/// The last lines of a run that took `seconds` and was evaluated by `metric`.
///
/// # Errors
/// If the file of metrics cannot be read.
pub(super) fn end_of_run(config: &RunConfig, seconds: f64, metric: Metric) -> Result<String> {
    let path = config.out.join(METRICS);
    let text = fs::read_to_string(&path).map_err(|e| Error::unreadable(&path, &e))?;
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    let lines: Vec<Value> = lines.collect();
    let peak = lines.last().and_then(|line| line["peak_memory_bytes"].as_u64());
    let seconds = if seconds < 10.0 { format!("{seconds:.1} s") } else { time(seconds) };
    let mut shown = format!("took {seconds}");
    if let Some(peak) = peak {
        let _ = match config.memory_budget.bytes() {
            0 => write!(shown, ", at most {} of memory", size(peak)),
            budget => write!(shown, ", at most {} of {} memory", size(peak), size(budget)),
        };
    }
    if let Some((epoch, score)) = best(&lines, metric) {
        let _ = write!(shown, ", best val {} in epoch {epoch}", metric.show(score));
    }
    let run = shell_word(&near(&config.out));
    let _ = write!(shown, "\nnext: sar-single predict --run {run} {}", prediction(config));
    let _ = write!(shown, "\n      sar-single report {run}\n");
    Ok(shown)
}

/// The epoch with the best validation score, if epochs were evaluated.
fn best(lines: &[Value], metric: Metric) -> Option<(u64, f64)> {
    let scores = lines
        .iter()
        .filter(|line| line["event"] == "epoch")
        .filter_map(|line| Some((line["epoch"].as_u64()?, line["validation"].as_f64()?)));
    // The first of equal scores, whose weights are kept.
    let better = |new: f64, old: f64| if metric.more_is_better() { new > old } else { new < old };
    scores.reduce(|best, new| if better(new.1, best.1) { new } else { best })
}

/// Flags of a prediction for this run.
fn prediction(config: &RunConfig) -> String {
    if config.link.is_some() {
        return "--top-k 10 --out partners.csv".to_owned();
    }
    let several = config.relations.as_ref().filter(|relations| relations.several_targets());
    let targets = several.and_then(|Relations { target, .. }| target.as_ref());
    let first = targets.map(ToString::to_string);
    match first.as_ref().and_then(|names| names.split(',').next()) {
        Some(name) => format!("--target-type {name} --out predictions.csv"),
        None => "--out predictions.csv".to_owned(),
    }
}

/// The path relative to the current folder, if it lies below.
fn near(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    below.filter(|path| path.components().next().is_some()).unwrap_or_else(|| path.to_owned())
}

/// A path as a word of a shell's command line.
pub(super) fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
