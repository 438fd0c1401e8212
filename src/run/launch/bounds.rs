//! Upper bounds on the memory and disk space of a run, without a plan.

use std::path::Path;

use super::governor::LeastMemory;
use crate::engine::spill_dir::RunFolder;
use crate::formats::dgl::PartitionSummary;
use crate::formats::dgl::config::PartitionConfig;
use crate::io::{DiskRate, IoMode};
use crate::nn::ModelKind;
use crate::platform::share_one_heap;
use crate::run::config::RunConfig;

/// Bound on what a run takes, in multiples of the bytes of its partitions and of a layer's rows for each layer; more is added
/// for each process and for the run. A run that fits by this bound needs no plan.
const TIMES: u64 = 4;
const EACH: u64 = 16 << 20;
const ALL: u64 = 256 << 20;
/// Bound on the values of a layer that a worker holds at a time in a pass without gradients, with those of other ranks that it adds.
const VALUES: u64 = 6;
/// Size in bytes below which writing finishes before direct I/O pays off.
pub(in crate::run) const LARGE: u64 = 1 << 30;
/// Whether a run certainly fits into its memory budget.
pub(in crate::run) fn fits(run: &RunConfig, partitions: &PartitionConfig) -> bool {
    most(run, partitions).is_some_and(|most| most <= run.memory_budget.bytes())
}

/// The least memory of a run that certainly fits into its budget: nothing needs to leave room.
pub(in crate::run) fn certain(
    run: &RunConfig,
    partitions: &PartitionConfig,
) -> Option<LeastMemory> {
    fits(run, partitions).then(LeastMemory::default)
}

/// How files of a run without room in the page cache are written and read: in the faster mode, found by a short test, if their
/// size may be large.
pub(in crate::run) fn io_mode(run: &RunConfig, partitions: &PartitionConfig) -> IoMode {
    let much = most(run, partitions).is_some_and(|most| most >= LARGE);
    if run.io != IoMode::Auto || !much || fits(run, partitions) {
        return run.io;
    }
    rate(&run.spill_dir, run.io).map_or(run.io, |disk| disk.mode)
}

/// An upper bound on what a run takes, in memory or on disk; `None` for a run that cannot be planned.
pub(in crate::run) fn most(run: &RunConfig, partitions: &PartitionConfig) -> Option<u64> {
    if run.sampling.is_some() || run.relations.is_some() {
        return None;
    }
    let parts = partitions.parts().len();
    let summaries = (0..parts).map(|part| PartitionSummary::open(partitions, part));
    let bytes: u64 = summaries.flatten().map(|summary| summary.bytes).sum();
    let times = times(run, bytes, partitions.book().num_nodes());
    Some(times.saturating_add(EACH * parts as u64 + ALL))
}

/// An upper bound on what a worker takes in an evaluation on the full graph, in bytes, if it keeps nothing; `None` if training is on
/// the full graph, too, or a layer's rows are not known.
pub(in crate::run) fn evaluation(run: &RunConfig, partitions: &PartitionConfig) -> Option<u64> {
    if run.sampling.is_none() || run.relations.is_some() {
        return None;
    }
    let of_part = |part| {
        let summary = PartitionSummary::open(partitions, part).ok()?;
        let PartitionSummary { bytes, num_inner_nodes: nodes, .. } = summary;
        let most = match run.model.kind {
            ModelKind::Sage(_) | ModelKind::Gcn(_) | ModelKind::Gin(_) => {
                bytes.saturating_mul(2).saturating_add(layer(run, nodes).saturating_mul(VALUES))
            }
            _ => times(run, bytes, nodes),
        };
        Some(most.saturating_add(EACH))
    };
    let all: Option<Vec<u64>> = partitions.present().into_iter().map(of_part).collect();
    all?.into_iter().max()
}

/// A bound on what the values of so many nodes take, whose partitions' files have so many bytes.
fn times(run: &RunConfig, bytes: u64, nodes: u64) -> u64 {
    let rows = layer(run, nodes).saturating_mul(run.model.layers as u64 + 1);
    bytes.saturating_add(rows).saturating_mul(TIMES)
}

/// Bytes of the rows of so many nodes in a hidden layer.
fn layer(run: &RunConfig, nodes: u64) -> u64 {
    let width = (run.model.hidden.max(1) * run.model.kind.heads()) as u64;
    nodes.saturating_mul(width).saturating_mul(4)
}

/// The rates of writing and reading files in a folder; `None` if they cannot be measured.
pub(in crate::run) fn rate(folder: &Path, mode: IoMode) -> Option<DiskRate> {
    // Measuring takes threads, and workers are forked after it.
    share_one_heap();
    let (folder, _control) = RunFolder::create(folder, 1, 1).ok()?;
    DiskRate::measure(folder.path(), mode).ok()
}
