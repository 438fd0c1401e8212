//! Sizes of a partitioned graph that determine a run's needs.

use super::counts::RankCounts;
use super::edge_count::EdgeCount;
use crate::formats::dgl::config::PartitionConfig;
use crate::formats::dgl::{Partition, SampledPartition, Spread};
use crate::io::{Dtype, IoCounters};
use crate::load::{DataKeys, EdgeFeatures, NodeFeatures, read_mask};
use crate::platform::signals;
use crate::run::config::RunConfig;
use crate::run::launch::outputs::num_outputs;
use crate::words::error::Result;

/// Number of edges up to which graphs are counted; larger ones are sampled.
const COUNTED: u64 = 8 << 20;
/// Number of sampled ranges of consecutive edges per partition, and number of edges in all samples.
const RUNS: u64 = 32;
const SAMPLED: u64 = 2 << 20;

/// Width and element type of a graph's features.
#[derive(Debug, Clone, Copy)]
pub(super) struct FeatureColumns {
    /// Number of columns.
    pub(super) width: u64,
    /// Type of the elements in the files.
    pub(super) dtype: Dtype,
}

/// Sizes of a graph that a plan uses.
#[derive(Debug, Clone)]
pub(super) struct GraphSizes {
    pub(super) ranks: Vec<RankCounts>,
    pub(super) features: FeatureColumns,
    /// Largest fraction of values of a rank's features that are not zero, if all ranks have few of these.
    pub(super) filled: Option<f64>,
    /// The edge features, if the run uses them.
    pub(super) edge_features: Option<FeatureColumns>,
    /// Number of classes, or of columns of the labels.
    pub(super) outputs: u64,
    /// Fraction of nodes in each of the masks (training, validation, test); `None` for a mask that does not exist.
    pub(super) masks: [Option<f64>; 3],
    pub(super) edge_types: usize,
    /// Whether the counts are estimates.
    pub(super) sampled: bool,
}

impl GraphSizes {
    /// Reads headers, labels, masks and, for large graphs, a sample of the edges.
    pub(super) fn read(run: &RunConfig, partitions: &PartitionConfig) -> Result<Self> {
        let book = partitions.book();
        let parts = book.num_parts();
        let sampled = book.num_edges() > COUNTED;
        let mut ranks = Vec::with_capacity(parts);
        let mut features = FeatureColumns { width: 0, dtype: Dtype::F32 };
        let (mut outputs, mut filled) = (0, Some(0.0_f64));
        let (mut masks, mut known) = ([0_u64; 3], [false; 3]);
        for part in 0..parts {
            signals::check()?;
            let opened = SampledPartition::open(partitions, part)?;
            let partition = opened.partition();
            let found = NodeFeatures::find(
                partition,
                run.keys.features.as_deref(),
                run.normalize_features,
            )?;
            features = FeatureColumns { width: found.width() as u64, dtype: found.dtype() };
            filled = if found.has_few_entries()? {
                let here = found.filled()?;
                filled.map(|most| most.max(here))
            } else {
                None
            };
            outputs = outputs.max(num_outputs(partition, run)?);
            for (i, mask) in mask_counts(partition, &run.keys)?.into_iter().enumerate() {
                known[i] |= mask.is_some();
                masks[i] += mask.unwrap_or(0);
            }
            let spread = if sampled {
                Spread { runs: RUNS, max: SAMPLED / RUNS / parts as u64 }
            } else {
                Spread { runs: 1, max: u64::MAX }
            };
            let mut count = EdgeCount::new(partition, sampled);
            opened.visit(spread, &mut |run| count.add(run))?;
            ranks.push(count.finish());
        }
        let share = |i: usize| known[i].then(|| masks[i] as f64 / book.num_nodes().max(1) as f64);
        let counters = IoCounters::default();
        let edge_features = run.keys.edge_features.as_deref();
        let edge_features =
            edge_features.map(|key| EdgeFeatures::find(partitions, key, counters)).transpose()?;
        Ok(GraphSizes {
            ranks,
            features,
            filled,
            edge_features: edge_features
                .map(|found| FeatureColumns { width: found.width() as u64, dtype: found.dtype() }),
            outputs,
            masks: [0, 1, 2].map(share),
            edge_types: book.etypes().len(),
            sampled,
        })
    }

    pub(super) fn nodes(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.nodes).sum()
    }

    pub(super) fn edges(&self) -> u64 {
        self.ranks.iter().map(RankCounts::edges).sum()
    }

    /// Number of foreign rows that ranks need.
    pub(super) fn halo_rows(&self) -> u64 {
        self.ranks.iter().enumerate().map(|(own, rank)| rank.foreign_rows(own)).sum()
    }
}

fn mask_counts(partition: &Partition, keys: &DataKeys) -> Result<[Option<u64>; 3]> {
    let mut counts = [None; 3];
    for (count, (name, key)) in counts.iter_mut().zip(keys.masks()) {
        let mask = read_mask(partition, key, name)?;
        *count = mask.map(|mask| mask.iter().filter(|is_in| **is_in).count() as u64);
    }
    Ok(counts)
}
