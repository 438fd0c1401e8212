//! Upper bounds on the memory and disk space of a run, without a plan.

use std::path::Path;

use super::outputs::num_outputs;
use crate::engine::launch::{LeastMemory, WorkerBounds};
use crate::engine::spill_dir::RunFolder;
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::{FeatureSet, Partition, PartitionSummary};
use crate::io::{DiskRate, IoMode};
use crate::nn::{JumpMode, ModelKind, NormKind};
use crate::platform::share_one_heap;
use crate::run::config::RunConfig;
use crate::train::Fanouts;

/// Bound on a run's memory, as a multiple of the bytes of its partitions and of the rows of its layers. `EACH` per
/// process and `ALL` are added. A run that fits by this bound needs no plan.
const TIMES: u64 = 4;
const EACH: u64 = 16 << 20;
const ALL: u64 = 256 << 20;
/// Bound on the number of copies of the parameters that a worker holds: gradients, the optimizer's state, and messages.
const PARAMETERS: u64 = 6;
/// Bound on the number of a layer's values that a worker holds at a time in a pass without gradients, including other
/// ranks' rows that it adds.
const VALUES: u64 = 6;
/// The same for a normalisation.
const NORM_VALUES: u64 = 3;
/// The same for each layer whose output jumping knowledge joins.
const JUMP_VALUES: u64 = 3;
/// Bound on the bytes of a drawn edge: ids of its ends in both orders of a block, its own id, and the permutation
/// between the orders.
const EDGE: u64 = 64;
/// Files smaller than this, in bytes, are written before direct I/O pays off.
pub(in crate::run) const LARGE: u64 = 1 << 30;

impl WorkerBounds {
    /// The bounds for the workers of a training run.
    pub(in crate::run) fn of(run: &RunConfig, partitions: &PartitionConfig) -> Self {
        // On the full graph, growth is measured in the first epoch.
        let evaluation = run.sampling.as_ref().and_then(|_| pass(run, partitions));
        WorkerBounds { training: batch(run, partitions), evaluation }
    }

    /// The bounds of workers that predict on the full graph.
    pub(in crate::run) fn of_prediction(run: &RunConfig, partitions: &PartitionConfig) -> Self {
        WorkerBounds { training: pass(run, partitions), evaluation: None }
    }
}

/// Whether a run certainly fits into its memory budget.
pub(in crate::run) fn fits(run: &RunConfig, partitions: &PartitionConfig) -> bool {
    most(run, partitions).is_some_and(|most| most <= run.memory_budget.bytes())
}

/// Zero memory, for a run that certainly fits into its budget, so that waiting workers may keep everything.
pub(in crate::run) fn certain(
    run: &RunConfig,
    partitions: &PartitionConfig,
) -> Option<LeastMemory> {
    fits(run, partitions).then(LeastMemory::default)
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
        let most = if by_rows(run) {
            bytes.saturating_mul(2).saturating_add(rows.layer(nodes).saturating_mul(values(run)))
        } else {
            rows.training(bytes, nodes)
        };
        Some(most.saturating_add(EACH))
    };
    let all: Option<Vec<u64>> = partitions.present().into_iter().map(of_part).collect();
    all?.into_iter().max()
}

/// The bound for batches of nodes. A layer of a batch has at most as many rows as its fan-outs allow, and as the graph
/// has nodes. Before the first batch, a worker sorts the edges of its partition.
fn batch(run: &RunConfig, partitions: &PartitionConfig) -> Option<u64> {
    let sampling =
        run.sampling.as_ref().filter(|_| run.relations.is_none() && run.link.is_none())?;
    let Fanouts::Same(fanouts) = &sampling.fanouts else { return None };
    if !by_rows(run) {
        return None;
    }
    let (mut partition, mut columns, mut edge_columns) = (0, 0, 0);
    for part in partitions.present() {
        let summary = PartitionSummary::open(partitions, part).ok()?;
        partition = partition.max(summary.bytes);
        columns = columns.max(all_columns(&summary.node_features));
        edge_columns = edge_columns.max(all_columns(&summary.edge_features));
    }
    let book = partitions.book();
    let widths = LayerRows::of(run, columns, outputs(run, partitions)?);
    let (mut rows, mut drawn, mut values) = (sampling.batch_size as u64, 0_u64, 0_u64);
    for fanout in fanouts.iter().rev() {
        let edges = match u64::try_from(*fanout) {
            Ok(fanout) => rows.saturating_mul(fanout),
            Err(_) => book.num_edges(),
        };
        rows = rows.saturating_add(edges).min(book.num_nodes());
        drawn = drawn.saturating_add(edges);
        values = values.saturating_add(widths.layer(rows));
    }
    // Per thread that samples ahead, one batch is ready and one is being drawn.
    let batches = 1 + 2 * sampling.sampler_threads as u64;
    let values =
        values.saturating_add(rows.saturating_mul(4 * columns)).saturating_mul(self::values(run));
    let blocks = drawn.saturating_mul(EDGE + 4 * edge_columns).saturating_mul(batches);
    Some(values.saturating_add(blocks).saturating_add(2 * partition).saturating_add(EACH))
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

/// Whether a model holds only the graph and the rows of its layers.
fn by_rows(run: &RunConfig) -> bool {
    matches!(run.model.kind, ModelKind::Sage(_) | ModelKind::Gcn(_) | ModelKind::Gin(_))
}

/// Bound on the values of a layer that a worker holds at a time.
fn values(run: &RunConfig) -> u64 {
    let norm = if run.model.norm == NormKind::None { 0 } else { NORM_VALUES };
    let jumps = match run.model.jumping_knowledge {
        JumpMode::None => 0,
        JumpMode::Cat | JumpMode::Max => JUMP_VALUES * run.model.layers as u64,
    };
    VALUES + norm + jumps
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
        let hops = model.num_graphs().max(model.kind.precomputed().unwrap_or(0));
        let heads = model.kind.heads() as u64;
        let (hidden, outputs) = (model.hidden.max(1) as u64 * heads, outputs.saturating_mul(heads));
        // Hops of propagation have rows as wide as the inputs.
        let inputs = if hops > model.layers { columns } else { 0 };
        let layers = hops.max(model.layers) as u64 + 1;
        LayerRows { width: hidden.max(inputs).max(outputs), layers }
    }

    /// Bytes of one layer's rows for `nodes` nodes.
    fn layer(self, nodes: u64) -> u64 {
        nodes.saturating_mul(self.width).saturating_mul(4)
    }

    /// Bytes that a worker's parameters take with all that belongs to them: a square matrix per layer, for inputs of
    /// `columns` columns.
    fn parameters(self, columns: u64) -> u64 {
        let matrix = self.width.saturating_mul(self.width.max(columns)).saturating_mul(4);
        matrix.saturating_mul(self.layers * PARAMETERS)
    }

    /// Bound on the bytes that training takes, for `nodes` nodes and partition files of `bytes` bytes.
    fn training(self, bytes: u64, nodes: u64) -> u64 {
        let rows = self.layer(nodes).saturating_mul(self.layers);
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
