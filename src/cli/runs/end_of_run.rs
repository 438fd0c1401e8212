//! Last lines of a run: its time and memory, its best score, and the next commands.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::predict::read_config;
use crate::cli::show::shell_word::shell_word;
use crate::engine::launch::exceeds;
use crate::event::{Metric, duration};
use crate::formats::dgl::config::PartitionConfig;
use crate::report::BestValidation;
use crate::run::config::{Relations, RunConfig};
use crate::run::rank::WEIGHTS;
use crate::run::{METRICS, read_metrics};
use crate::words::error::{Error, Result};
use crate::words::size::size;

/// The last lines of a run that took `seconds` and was evaluated by `metric`.
pub(in crate::cli) fn end_of_run(
    config: &RunConfig,
    seconds: f64,
    metric: Metric,
) -> Result<String> {
    let lines = read_metrics(&config.out);
    let lines = lines.map_err(|e| Error::unreadable(&config.out.join(METRICS), &e))?;
    let peak = lines.last().and_then(|line| line["peak_memory_bytes"].as_u64());
    let mut shown = format!("took {}", duration(seconds));
    if let Some(peak) = peak {
        let _ = match config.memory_budget.bytes() {
            0 => write!(shown, ", at most {} of memory", size(peak)),
            budget => write!(shown, ", at most {} of {} memory", size(peak), size(budget)),
        };
    }
    if let Some(BestValidation { epoch, score }) = BestValidation::of(&lines, metric) {
        let _ = write!(shown, ", best val {} in epoch {epoch}", metric.show(score));
    }
    if peak.is_some_and(|peak| exceeds(config.memory_budget.bytes(), peak)) {
        shown.push_str(
            "\nnote: this is more than the budget; sar-single plan shows how much the run needs",
        );
    }
    let run = shell_word(&near(&config.out));
    if config.out.join(WEIGHTS).exists() {
        let flags = prediction(&read_config(&config.out)?);
        let _ = write!(shown, "\nnext: sar-single predict --run {run} {flags}");
        let _ = write!(shown, "\n      sar-single report {run}\n");
    } else {
        let _ = write!(shown, "\nnext: sar-single report {run}\n");
    }
    Ok(shown)
}

/// Flags of a prediction for this run.
fn prediction(config: &RunConfig) -> String {
    if let Some(link) = &config.link {
        // Partners are those of one edge type.
        let by_type = config.relations.is_some() || link.has_vectors();
        return match &link.target_etype {
            None if by_type && has_several_etypes(config) => {
                "--split test --out ranks.csv".to_owned()
            }
            _ => "--top-k 10 --out partners.csv".to_owned(),
        };
    }
    let several = config.relations.as_ref().filter(|relations| relations.several_targets());
    let targets = several.and_then(|Relations { target, .. }| target.as_ref());
    let first = targets.map(ToString::to_string);
    match first.as_ref().and_then(|names| names.split(',').next()) {
        Some(name) => format!("--target-type {name} --out predictions.csv"),
        None => "--out predictions.csv".to_owned(),
    }
}

fn has_several_etypes(config: &RunConfig) -> bool {
    let partitions = PartitionConfig::open(&config.part_json);
    partitions.is_ok_and(|partitions| partitions.book().etypes().len() > 1)
}

/// The path relative to the current folder, if it lies below.
fn near(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    below.filter(|path| path.components().next().is_some()).unwrap_or_else(|| path.to_owned())
}
