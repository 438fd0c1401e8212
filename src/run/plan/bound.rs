//! Lower bound on the bytes that an epoch moves between memory and disk, for any schedule.
//!
//! For a stack of L layers on N nodes and E edges, with rows of b bytes that are d0 (features), d1, ... wide, D = d1 + ... +
//! d(L-1), H foreign rows that partitions need, and M bytes of cache:
//!
//! ```text
//! b N (2 d0 + 5 D)    features: read forward and backward; each layer's output: written, read twice; its gradient: written, read
//! + b H (d0 + 2 D)    foreign rows, forward and backward
//! + 2 L E (4 + 8 N/E) edges, forward and backward
//! - 2 L M             what is still in the cache when the direction turns
//! ```
//!
//! If the first layer's sums of features are computed once and kept, they are read twice, and that layer needs no
//! foreign rows and no edges. The smaller number is the bound. If partial sums have fewer rows than H, a run may move
//! less.

use super::graph_sizes::GraphSizes;
use crate::engine::spill::SpillDtype;
use crate::run::config::RunConfig;

/// Bytes per epoch with a cache of `cache` bytes; `None` for message flow graphs, whose layers differ in size.
pub(super) fn bound(run: &RunConfig, sizes: &GraphSizes, cache: f64) -> Option<u64> {
    if run.mfg {
        return None;
    }
    let model = &run.model;
    let (nodes, edges, halo) =
        (sizes.nodes() as f64, sizes.edges() as f64, sizes.halo_rows() as f64);
    let element = if run.spill_dtype == SpillDtype::Bf16 { 2.0 } else { 4.0 };
    let (columns, dtype) = (sizes.features.width, sizes.features.dtype);
    let input = columns as f64 * dtype.size() as f64;
    let pass = 2.0 * (4.0 * edges + 8.0 * nodes);
    let hidden = element * (model.hidden * model.kind.facts().heads) as f64;
    let graphs = model.num_graphs() as f64;
    let bytes = match model.kind.facts().precomputed {
        // Features are propagated before the first epoch.
        Some(matrices) => 2.0 * nodes * input * matrices as f64,
        // Outputs are propagated.
        None if !model.kind.is_stack() => {
            let steps = graphs * element * sizes.outputs as f64;
            nodes * (2.0 * input + 5.0 * steps) + halo * 2.0 * steps + graphs * pass
        }
        None => {
            let layers = model.layers as f64;
            let between = (layers - 1.0) * hidden;
            let rows = nodes * (2.0 * input + 5.0 * between);
            let every_epoch = halo * (input + 2.0 * between) + graphs * pass;
            // Gradients of the first layer's output are then not sent, if there is a first layer.
            let sent = 2.0 * between - hidden.min(between);
            let once = nodes * 2.0 * input + halo * sent + (graphs - graphs / layers) * pass;
            rows + every_epoch.min(once)
        }
    };
    Some((bytes - 2.0 * graphs.max(1.0) * cache).max(0.0) as u64)
}
