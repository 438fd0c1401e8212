//! Draws all edges, sorted by the partition that owns them.

use std::path::Path;

use rayon::prelude::*;

use super::config::GeneratorConfig;
use super::even_cut::EvenCut;
use super::model::RandomGraph;
use crate::io::BucketSpool;
use crate::prepare::partition::{Observer, StepProgress};
use crate::words::error::Result;

/// Name of the step in reports of progress.
const STEP: &str = "drawing edges";

/// Number of pairs drawn at a time: enough to keep all threads busy between two writes to the file.
const BATCH: u64 = 1 << 18;

/// Number of pairs that a thread draws at a time.
const CHUNK: usize = 1 << 12;

/// Size of an edge in bytes: source and destination.
const EDGE: usize = 16;

/// Approximate size of all buffers of the spool together, in bytes.
const BUFFERS: usize = 16 << 20;

/// Draws every pair and stores both its directions with the destination's partition. If the number of edges is odd,
/// only one direction of the last pair is stored.
pub(super) fn spool_edges(
    config: &GeneratorConfig,
    model: &dyn RandomGraph,
    cut: EvenCut,
    folder: &Path,
    progress: &mut Observer<'_>,
) -> Result<BucketSpool> {
    let total = config.edges;
    let mut spool = BucketSpool::create(folder, config.num_parts as usize, EDGE, BUFFERS)?;
    let mut batch = vec![(0, 0); BATCH.min(total.div_ceil(2)) as usize];
    for first in (0..total.div_ceil(2)).step_by(BATCH as usize) {
        progress(StepProgress { step: STEP, done: 2 * first, total })?;
        let count = BATCH.min(total.div_ceil(2) - first);
        let pairs = &mut batch[..count as usize];
        pairs.par_iter_mut().enumerate().with_min_len(CHUNK).for_each(|(at, pair)| {
            *pair = model.pair(first + at as u64);
        });
        for (&mut (u, v), pair) in pairs.iter_mut().zip(first..) {
            spool.push_numbers(cut.piece_of(v) as usize, [u, v])?;
            if 2 * pair + 1 < total {
                spool.push_numbers(cut.piece_of(u) as usize, [v, u])?;
            }
        }
    }
    spool.finish()?;
    progress(StepProgress { step: STEP, done: total, total })?;
    Ok(spool)
}
