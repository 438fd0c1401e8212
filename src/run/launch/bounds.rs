//! Upper bounds on the memory and disk space of a run, without a plan.

use std::path::Path;

use crate::engine::spill_dir::RunFolder;
use crate::formats::dgl::PartitionSummary;
use crate::formats::dgl::config::PartitionConfig;
use crate::io::{DiskRate, IoMode};
use crate::run::config::RunConfig;

/// Bound on what a run takes, in multiples of the bytes of its partitions and of a layer's rows for each layer; more is added
/// for each process and for the run. A run that fits by this bound needs no plan.
const TIMES: u64 = 4;
const EACH: u64 = 16 << 20;
const ALL: u64 = 256 << 20;
/// Size in bytes below which writing finishes before direct I/O pays off.
pub(in crate::run) const LARGE: u64 = 1 << 30;
/// Whether a run certainly fits into its memory budget.
pub(in crate::run) fn fits(run: &RunConfig, partitions: &PartitionConfig) -> bool {
    most(run, partitions).is_some_and(|most| most <= run.memory_budget.bytes())
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

/// An upper bound on what a worker takes in an evaluation on the full graph, in bytes; `None` if training is on the full graph, too,
/// or a layer's rows are not known.
pub(in crate::run) fn evaluation(run: &RunConfig, partitions: &PartitionConfig) -> Option<u64> {
    if run.sampling.is_none() || run.relations.is_some() {
        return None;
    }
    let of_part = |part| {
        let summary = PartitionSummary::open(partitions, part).ok()?;
        Some(times(run, summary.bytes, summary.num_inner_nodes).saturating_add(EACH))
    };
    let all: Option<Vec<u64>> = partitions.present().into_iter().map(of_part).collect();
    all?.into_iter().max()
}

/// A bound on what the values of so many nodes take, whose partitions' files have so many bytes.
fn times(run: &RunConfig, bytes: u64, nodes: u64) -> u64 {
    let model = &run.model;
    let width = (model.hidden.max(1) * model.kind.heads()) as u64;
    let rows = nodes.saturating_mul(width).saturating_mul((model.layers as u64 + 1) * 4);
    bytes.saturating_add(rows).saturating_mul(TIMES)
}

/// The rates of writing and reading files in a folder; `None` if they cannot be measured.
pub(in crate::run) fn rate(folder: &Path, mode: IoMode) -> Option<DiskRate> {
    let (folder, _control) = RunFolder::create(folder, 1, 1).ok()?;
    DiskRate::measure(folder.path(), mode).ok()
}
