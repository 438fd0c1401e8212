//! The forecast for the real graph, from measurements on stand-ins.

use super::counts::{RankCounts, representatives};
use super::graph_sizes::GraphSizes;
use super::measure::{Measured, measure};
use crate::error::Result;
use crate::run::config::RunConfig;

/// Largest number of edges of a stand-in, and of bytes of features: an epoch takes a tenth of a second or less.
const EDGES: f64 = 400_000.0;
const FEATURE_BYTES: f64 = (16 << 20) as f64;
/// Size of the smaller of two stand-ins relative to the larger.
const SMALLER: f64 = 0.25;
/// Number of ranks on which memory is measured, so that each is large enough to stand out from a process's own memory.
const RANKS: usize = 4;

/// Memory of a waiting process in bytes, where the measurement does not show it.
const WAITING: f64 = (6 << 20) as f64;
/// Rows that a rank works on, relative to those of a rank with twice the nodes: foreign rows do not halve.
const PIECE: f64 = 0.6;

/// What a run takes if waiting ranks keep nothing, in bytes and seconds.
#[derive(Clone)]
pub(super) struct Forecast {
    pub(super) memory: MemoryForecast,
    pub(super) totals: EpochTotals,
    /// Seconds of an epoch, while the system has room to cache the files.
    pub(super) epoch_s: f64,
}

/// Bytes that all ranks together write and read in an epoch, how much of both stays in their share of the page cache, and the
/// size of their files.
#[derive(Debug, Clone, Copy)]
pub(super) struct EpochTotals {
    pub(super) disk: f64,
    pub(super) written: f64,
    pub(super) read: f64,
    pub(super) cached: f64,
}

/// Forecasts what the run takes if waiting ranks keep nothing.
pub(super) fn forecast(run: &RunConfig, sizes: &GraphSizes) -> Result<Forecast> {
    let few = representatives(&sizes.ranks, RANKS);
    let on_few = Line::measure(run, sizes, &few, 0)?;
    let on_all = if few.len() == sizes.ranks.len() {
        on_few.clone()
    } else {
        Line::measure(run, sizes, &sizes.ranks, 0)?
    };
    let more = sizes.edges() as f64 / few.iter().map(RankCounts::edges).sum::<u64>().max(1) as f64;
    // Computing grows with edges and nodes; the constant time of each turn grows with ranks.
    let epoch_s = on_few.at_real_size(|m| m.epoch_s) - on_few.small.epoch_s;
    let epoch_s = epoch_s.max(0.0) * more + on_all.small.epoch_s;
    let mut weights: Vec<f64> = (0..sizes.ranks.len()).map(|r| weight(&sizes.ranks, r)).collect();
    weights.sort_by(|a, b| b.total_cmp(a));
    let further = (sizes.ranks.len() - few.len()) as f64;
    let resident = run.resident.unwrap_or(1);
    let (base, totals) = (on_all.idle_memory(resident), on_all.totals());
    let idle = base - on_few.idle_memory(resident);
    let waiting = if further > 0.0 { idle / further } else { WAITING };
    let memory = MemoryForecast { base, waiting: waiting.max(0.0), weights, line: on_few };
    Ok(Forecast { memory, totals, epoch_s })
}

/// The peak memory of all processes together.
#[derive(Clone)]
pub(super) struct MemoryForecast {
    /// Memory of processes that do nothing.
    base: f64,
    /// Memory of one waiting process.
    waiting: f64,
    /// Number of rows that each rank works on, descending.
    weights: Vec<f64>,
    line: Line,
}

impl MemoryForecast {
    /// The peak in bytes with `resident` ranks working at a time, and each rank cut into `pieces`.
    pub(super) fn bytes(&self, resident: usize, pieces: usize) -> u64 {
        let ranks = self.weights.len();
        let shrink = PIECE.powf((pieces as f64).log2());
        let working = self.weights.iter().flat_map(|weight| std::iter::repeat_n(*weight, pieces));
        let working = working.take(resident).map(|weight| self.line.memory(weight * shrink));
        let more = self.waiting * (ranks * (pieces - 1)) as f64;
        (self.base + more + working.sum::<f64>()) as u64
    }
}

/// Bytes that the run writes and reads, and seconds that it computes, in an epoch if each waiting rank keeps `share` bytes.
pub(super) fn keeping(
    run: &RunConfig,
    sizes: &GraphSizes,
    share: u64,
) -> Result<(EpochTotals, f64)> {
    let line = Line::measure(run, sizes, &sizes.ranks, share)?;
    Ok((line.totals(), line.at_real_size(|m| m.epoch_s).max(0.0)))
}

/// The number of rows that a rank works on.
fn weight(ranks: &[RankCounts], rank: usize) -> f64 {
    let others = ranks[rank].pairs.iter().enumerate().filter(|(source, _)| *source != rank);
    (ranks[rank].nodes + others.map(|(_, pair)| pair.sources).sum::<u64>()) as f64
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The scales of two stand-ins; both 1 if the graph is at most as large as a stand-in.
fn scales(sizes: &GraphSizes, ranks: &[RankCounts]) -> [f64; 2] {
    let (columns, dtype) = (sizes.features.width, sizes.features.dtype);
    let (nodes, edges) =
        ranks.iter().fold((0, 0), |(n, e), rank| (n + rank.nodes, e + rank.edges()));
    let bytes = (nodes * columns * dtype.size() as u64) as f64;
    let scale = (EDGES / edges as f64).min(FEATURE_BYTES / bytes);
    if scale >= 1.0 { [1.0, 1.0] } else { [scale * SMALLER, scale] }
}

/// Two measurements of one run.
#[derive(Clone)]
struct Line {
    small: Measured,
    large: Measured,
    /// Mean number of rows that a rank of the real graph works on.
    weight: f64,
}

impl Line {
    fn measure(
        run: &RunConfig,
        sizes: &GraphSizes,
        ranks: &[RankCounts],
        share: u64,
    ) -> Result<Self> {
        let [small, large] = scales(sizes, ranks);
        let at_large = measure(run, sizes, ranks, large, share)?;
        let at_small = if small < large {
            measure(run, sizes, ranks, small, share)?
        } else {
            at_large.clone()
        };
        let weights: Vec<f64> = (0..ranks.len()).map(|rank| weight(ranks, rank)).collect();
        Ok(Line { small: at_small, large: at_large, weight: mean(&weights) })
    }

    /// The value at scale 1 on the line through the two measurements.
    fn at_real_size(&self, value: impl Fn(&Measured) -> f64) -> f64 {
        let (small, large) = (value(&self.small), value(&self.large));
        small + (large - small) * self.steps(1.0)
    }

    /// Size of a graph, in multiples of the difference between the small and the large stand-in.
    fn steps(&self, scale: f64) -> f64 {
        let run = self.large.scale - self.small.scale;
        if run > 0.0 { (scale - self.small.scale) / run } else { 0.0 }
    }

    /// Memory of a rank that works on `weight` rows. Each stand-in contributes the mean over ranks, which differ by chance.
    fn memory(&self, weight: f64) -> f64 {
        let (small, large) = (mean(&self.small.memory), mean(&self.large.memory));
        small + (large - small).max(0.0) * self.steps(weight / self.weight.max(1.0))
    }

    /// Memory of all processes without the data of the working ones. Waiting ones keep pieces of freed memory that the
    /// allocator cannot return: as much more, as measured, for each time that sizes grow by the same factor.
    fn idle_memory(&self, resident: usize) -> f64 {
        let idle =
            |at: &Measured| at.tree - resident.min(at.memory.len()) as f64 * mean(&at.memory);
        let (small, large) = (idle(&self.small), idle(&self.large));
        large + (large - small).max(0.0) * (1.0 / self.large.scale).ln() / (1.0 / SMALLER).ln()
    }

    fn totals(&self) -> EpochTotals {
        EpochTotals {
            disk: self.at_real_size(|m| m.disk),
            written: self.at_real_size(|m| m.written),
            read: self.at_real_size(|m| m.read),
            cached: self.at_real_size(|m| m.cached).max(0.0),
        }
    }
}
