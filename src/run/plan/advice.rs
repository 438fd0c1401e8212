//! Changes with which a run would fit, or be faster.

use super::forecast::Forecast;
use super::graph_sizes::GraphSizes;
use super::report::Plan;
use crate::engine::launch::RESIDENT;
use crate::engine::spill::SpillDtype;
use crate::engine::turns::rest_to_give_out;
use crate::run::config::RunConfig;
use crate::words::size::size;

/// Numbers of pieces into which partitions are cut to make a run fit. Beyond these, the processes' own memory
/// dominates.
const PIECES: [usize; 4] = [2, 4, 8, 16];
/// Fraction of labelled nodes up to which message flow graphs save work.
const FEW_LABELS: f64 = 0.3;

/// Advice about the run: sentence fragments in which fields of the configuration are marked.
pub(super) fn advice(
    run: &RunConfig,
    sizes: &GraphSizes,
    forecast: &Forecast,
    plan: &Plan,
) -> Vec<String> {
    let mut advice = Vec::new();
    let least = plan.memory.least;
    match plan.memory.budget {
        Some(budget) if budget < least => {
            advice.push(raise_budget(least));
            advice.push(match fitting_parts(run, sizes, forecast, budget) {
                Some((parts, bytes)) => {
                    let bytes = size(bytes);
                    format!("or cut the graph into {parts} partitions, which take about {bytes}")
                }
                None => "or train on samples: ‹sampling›".to_owned(),
            });
        }
        _ => advice.push(enough(run, forecast)),
    }
    if let Some(free) = plan.disk.free.filter(|free| *free < plan.disk.peak) {
        let more = size(plan.disk.peak - free);
        advice.push(format!("free {more}, or pass a ‹spill_dir› on another disk"));
    }
    if plan.epoch.disk_s > plan.epoch.compute_s && run.spill_dtype == SpillDtype::F32 {
        advice.push("the disk is the limit: ‹spill_dtype=bf16› halves most of the rows".to_owned());
    }
    let labelled: f64 = sizes.masks.iter().flatten().sum();
    if labelled < FEW_LABELS && !run.mfg && run.model.kind.is_stack() {
        let percent = 100.0 * labelled;
        advice.push(format!("{percent:.0} % of the nodes are labelled: try ‹mfg›"));
    }
    advice
}

/// Advice about the budget of a run that takes at least `least` bytes.
pub(super) fn raise_budget(least: u64) -> String {
    format!("raise ‹memory_budget› to {} or more", size(least + least / 8))
}

/// A number of partitions with which the run fits into the budget, and the bytes of memory that it takes then.
pub(super) fn fitting_parts(
    run: &RunConfig,
    sizes: &GraphSizes,
    forecast: &Forecast,
    budget: u64,
) -> Option<(usize, u64)> {
    let resident = run.resident.unwrap_or(1);
    let takes = |pieces| (pieces * sizes.ranks.len(), forecast.memory.bytes(resident, pieces));
    PIECES.into_iter().map(takes).find(|(_, bytes)| *bytes <= budget)
}

/// Budget with which everything is kept.
fn enough(run: &RunConfig, forecast: &Forecast) -> String {
    let least = forecast.memory.bytes(run.resident.unwrap_or(RESIDENT), 1);
    let all = least + rest_to_give_out(forecast.epoch.disk as u64);
    format!("with ‹memory_budget› at {} everything is kept; more changes nothing", size(all))
}
