//! The least number of bytes that an epoch moves between memory and disk, whatever the schedule.
//!
//! Of a stack of L layers on N nodes and E edges, with rows of widths d0 ... dL, D = d1 + ... + d(L-1), H foreign rows
//! that partitions need, and M bytes of cache:
//!
//! ```text
//! 4 N (2 d0 + 5 D)    features: read forward and backward; each layer's output: written, read twice; its gradient: written, read
//! + 4 H (d0 + 2 D)    foreign rows, forward and backward
//! + 2 L E (4 + 8 N/E) edges, forward and backward
//! - 2 L M             what is still in the cache when the direction turns
//! ```

use super::graph_sizes::GraphSizes;
use crate::nn::{ModelConfig, ModelKind};

/// Bytes per epoch, with a cache of so many bytes.
pub(super) fn bound(model: &ModelConfig, sizes: &GraphSizes, cache: f64) -> f64 {
    let (nodes, edges, halo) =
        (sizes.nodes() as f64, sizes.edges() as f64, sizes.halo_rows() as f64);
    let input = sizes.features.0 as f64;
    // Layers that look at neighbours, what is stored between layers, and what is sent.
    let (layers, stored, sent) = match model.kind {
        // Its features are propagated before the first epoch.
        ModelKind::Sgc { .. } => (0.0, 0.0, 0.0),
        ModelKind::Appnp { hops, .. } => {
            let steps = hops as f64 * sizes.outputs as f64;
            (hops as f64, steps, 2.0 * steps)
        }
        _ => {
            let between = (model.layers - 1) as f64 * (model.hidden * model.kind.heads()) as f64;
            (model.layers as f64, between, input + 2.0 * between)
        }
    };
    let rows = 4.0 * nodes * (2.0 * input + 5.0 * stored) + 4.0 * halo * sent;
    let structure = 2.0 * layers * (4.0 * edges + 8.0 * nodes);
    (rows + structure - 2.0 * layers.max(1.0) * cache).max(0.0)
}
