//! Upper bounds on the memory and disk space of a run, without a plan.

use std::path::Path;

use super::outputs::num_outputs;
use crate::engine::launch::{AssumedGrowth, TurnGrowth};
use crate::engine::spill_dir::RunFolder;
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::{FeatureSet, Partition, PartitionSummary};
use crate::io::{DiskRate, IoMode};
use crate::platform::share_one_heap;
use crate::run::config::RunConfig;

/// Bound on a run's memory, as a multiple of the bytes of its partitions and of the rows of its layers. `EACH` per
/// process and `ALL` are added. A run that fits by this bound needs no plan.
const TIMES: u64 = 4;
const EACH: u64 = 16 << 20;
const ALL: u64 = 256 << 20;
/// Bound on the number of copies of the parameters that a worker holds: gradients, the optimizer's state, and messages.
const PARAMETERS: u64 = 6;
/// Factor by which a worker of a planned run may grow more than was planned.
const DOUBT: f64 = 1.5;
/// Size in bytes below which a run's files need no test of the disk, and a run without a budget needs no plan.
pub(in crate::run) const LARGE: u64 = 1 << 30;

impl AssumedGrowth {
    /// The growth of a training run's workers; `planned` is that of the largest worker, in bytes.
    pub(in crate::run) fn of(
        run: &RunConfig,
        partitions: &PartitionConfig,
        planned: Option<u64>,
    ) -> Self {
        if fits(run, partitions) {
            return Self::certain();
        }
        let planned = planned.map(|bytes| (bytes as f64 * DOUBT) as u64);
        let pass = run.sampling.as_ref().and_then(|_| pass(run, partitions));
        AssumedGrowth { training: growth(planned), pass: growth(pass) }
    }

    /// The growth of workers that predict on the full graph.
    pub(in crate::run) fn of_prediction(run: &RunConfig, partitions: &PartitionConfig) -> Self {
        if fits(run, partitions) {
            return Self::certain();
        }
        AssumedGrowth { training: growth(pass(run, partitions)), pass: TurnGrowth::Unknown }
    }

    /// No growth, for a run that certainly fits into its budget, so that waiting workers may keep everything.
    fn certain() -> Self {
        AssumedGrowth { training: TurnGrowth::Bytes(0), pass: TurnGrowth::Bytes(0) }
    }
}

fn growth(bytes: Option<u64>) -> TurnGrowth {
    bytes.map_or(TurnGrowth::Unknown, TurnGrowth::Bytes)
}

/// Whether a run certainly fits into its memory budget.
pub(in crate::run) fn fits(run: &RunConfig, partitions: &PartitionConfig) -> bool {
    most(run, partitions).is_some_and(|most| most <= run.memory_budget.bytes())
}

/// How a run's files are written and read when the page cache has no room for them: if they may be large, in the mode
/// that is faster in a short test.
pub(in crate::run) fn io_mode(run: &RunConfig, partitions: &PartitionConfig) -> IoMode {
    let much = |most: u64| most >= LARGE && most > run.memory_budget.bytes();
    if run.io != IoMode::Auto || !most(run, partitions).is_some_and(much) {
        return run.io;
    }
    rate(&run.spill_dir, run.io).map_or(run.io, |disk| disk.mode)
}

/// Upper bound on a run's memory or disk space; `None` for a run that cannot be planned. The model's outputs are left
/// out if the bound exceeds the budget without them.
pub(in crate::run) fn most(run: &RunConfig, partitions: &PartitionConfig) -> Option<u64> {
    if run.sampling.is_some() || run.relations.is_some() {
        return None;
    }
    let parts = partitions.parts().len();
    let summaries = (0..parts).map(|part| PartitionSummary::open(partitions, part));
    let (mut bytes, mut columns) = (0, 0);
    for summary in summaries.flatten() {
        bytes += summary.bytes;
        columns = columns.max(all_columns(&summary.node_features));
    }
    let nodes = partitions.book().num_nodes();
    let all = |outputs| {
        let rows = LayerRows::of(run, columns, outputs);
        let each = EACH.saturating_add(rows.parameters(columns)).saturating_mul(parts as u64);
        rows.training(bytes, nodes).saturating_add(each).saturating_add(ALL)
    };
    let hidden = all(0);
    if hidden > run.memory_budget.bytes().max(LARGE) {
        return Some(hidden);
    }
    Some(all(outputs(run, partitions)?))
}

/// The bound for a pass on the full graph without gradients; `None` if the size of a layer's rows is not known.
fn pass(run: &RunConfig, partitions: &PartitionConfig) -> Option<u64> {
    if run.relations.is_some() {
        return None;
    }
    let outputs = outputs(run, partitions)?;
    let of_part = |part| {
        let PartitionSummary { bytes, num_inner_nodes: nodes, node_features, .. } =
            PartitionSummary::open(partitions, part).ok()?;
        let rows = LayerRows::of(run, all_columns(&node_features), outputs);
        Some(rows.training(bytes, nodes).saturating_add(EACH))
    };
    let all: Option<Vec<u64>> = partitions.present().into_iter().map(of_part).collect();
    all?.into_iter().max()
}

/// Number of the model's outputs; 0 if it predicts edges, `None` if the labels cannot be read.
fn outputs(run: &RunConfig, partitions: &PartitionConfig) -> Option<u64> {
    if run.link.is_some() {
        return Some(0);
    }
    let of_part = |part| num_outputs(&Partition::open(partitions, part).ok()?, run).ok();
    let all: Option<Vec<u64>> = partitions.present().into_iter().map(of_part).collect();
    all?.into_iter().max()
}

/// Number of columns of all tables together.
fn all_columns(tables: &FeatureSet) -> u64 {
    let columns = |shape: &[u64]| shape.iter().skip(1).product::<u64>();
    tables.features().iter().map(|feature| columns(feature.array().shape())).sum()
}

/// Rows per node that the layers of a model hold.
#[derive(Clone, Copy)]
struct LayerRows {
    /// Number of values in the widest row.
    width: u64,
    /// Number of rows: the inputs, and one for each layer or hop.
    layers: u64,
}

impl LayerRows {
    /// The rows of a model with inputs of `columns` columns and `outputs` outputs.
    fn of(run: &RunConfig, columns: u64, outputs: u64) -> Self {
        let model = &run.model;
        let hops = model.num_graphs().max(model.kind.facts().precomputed.unwrap_or(0));
        let heads = model.kind.facts().heads as u64;
        let (hidden, outputs) = (model.hidden.max(1) as u64 * heads, outputs.saturating_mul(heads));
        // Hops of propagation have rows as wide as the inputs.
        let inputs = if hops > model.layers { columns } else { 0 };
        let layers = hops.max(model.layers) as u64 + 1;
        LayerRows { width: hidden.max(inputs).max(outputs), layers }
    }

    /// Bytes that a worker's parameters take with all that belongs to them: a square matrix per layer, for inputs of
    /// `columns` columns.
    fn parameters(self, columns: u64) -> u64 {
        let matrix = self.width.saturating_mul(self.width.max(columns)).saturating_mul(4);
        matrix.saturating_mul(self.layers * PARAMETERS)
    }

    /// Bound on the bytes that training takes, for `nodes` nodes and partition files of `bytes` bytes.
    fn training(self, bytes: u64, nodes: u64) -> u64 {
        let rows = nodes.saturating_mul(self.width).saturating_mul(4).saturating_mul(self.layers);
        bytes.saturating_add(rows).saturating_mul(TIMES)
    }
}

/// The rates of writing and reading files in a folder; `None` if they cannot be measured.
pub(in crate::run) fn rate(folder: &Path, mode: IoMode) -> Option<DiskRate> {
    // Measuring starts threads, and workers are forked later.
    share_one_heap();
    let (folder, _control) = RunFolder::create(folder, 1, 1).ok()?;
    DiskRate::measure(folder.path(), mode).ok()
}
