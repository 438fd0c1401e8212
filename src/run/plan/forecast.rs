//! Forecast for the real graph, from measurements on stand-ins.
//!
//! Stand-ins have at most a few ranks. For P ranks, a figure of the real graph is the sum of four terms: one grows with
//! the rows that ranks work on, one with the rows that edges from each other rank lead to, one with P and one with P².
//! Stand-ins of two sizes and two numbers of ranks determine all four.

use super::counts::representatives;
use super::graph_sizes::GraphSizes;
use super::measure::{Measure, Measured};
use super::trend::{Figure, Trend, destinations, rows, rows_of};
use crate::engine::launch::LeastMemory;
use crate::run::config::RunConfig;
use crate::words::error::Result;

/// Smaller number of ranks of a stand-in. Memory is measured with it, because each rank must be large compared with a
/// process's own memory.
const RANKS: usize = 3;
/// Larger number of ranks of a stand-in.
const MORE_RANKS: usize = 6;
/// Least relative difference between stand-ins that can separate two terms.
const DISTINCT: f64 = 0.1;

/// An allowance for the launcher's memory after it has forked workers, for records, and for shared pages that it changes.
const LAUNCHER: f64 = (4 << 20) as f64;
/// Memory of a waiting process per further rank, for which files, messages and edges have entries. It is too small to
/// be measured with a few ranks, and large in runs with hundreds. Measured from 4 to 64 ranks: 5 to 6 KiB.
const BY_RANK: f64 = (6 << 10) as f64;
/// Rows that a rank works on, relative to a rank with twice as many nodes: the number of foreign rows does not halve.
const PIECE: f64 = 0.6;

/// Forecast of a run whose waiting ranks keep nothing, in bytes and seconds.
#[derive(Clone)]
pub(super) struct Forecast {
    pub(super) memory: MemoryForecast,
    pub(super) epoch: EpochForecast,
    /// Measurements with the larger number of ranks.
    trend: Trend,
}

impl Forecast {
    /// Forecast of an epoch in which each waiting rank keeps `share` bytes.
    pub(super) fn keeping(
        &self,
        run: &RunConfig,
        sizes: &GraphSizes,
        share: u64,
    ) -> Result<EpochForecast> {
        let kept = self.trend.keeping(run, sizes, share)?;
        let EpochForecast { disk, written, read, written_unpacked, read_unpacked, seconds, .. } =
            self.epoch;
        let moved: Figure = |at| (at.io.written + at.io.read) as f64;
        Ok(EpochForecast {
            disk,
            written: written * kept.left(|at| at.io.written as f64),
            read: read * kept.left(|at| at.io.read as f64),
            written_unpacked: written_unpacked * kept.left(Measured::written_unpacked),
            read_unpacked: read_unpacked * kept.left(Measured::read_unpacked),
            cached: (written + read) * kept.share(|at| at.io.cached as f64, moved),
            seconds: seconds * kept.left(|at| at.epoch_s),
        })
    }
}

/// Forecast of an epoch, summed over all ranks.
#[derive(Debug, Clone, Copy)]
pub(super) struct EpochForecast {
    /// Peak size of the files, in bytes.
    pub(super) disk: f64,
    /// Bytes that are written.
    pub(super) written: f64,
    /// Bytes that are read.
    pub(super) read: f64,
    /// Bytes that would be written if zeros were stored.
    pub(super) written_unpacked: f64,
    /// Bytes that would be read if zeros were stored.
    pub(super) read_unpacked: f64,
    /// Bytes among those written and read that stay in the ranks' share of the page cache.
    pub(super) cached: f64,
    /// Seconds, if the system has room to cache the files.
    pub(super) seconds: f64,
}

/// Forecasts memory, disk and bytes of the run if waiting ranks keep nothing.
pub(super) fn forecast(run: &RunConfig, sizes: &GraphSizes) -> Result<Forecast> {
    let trends = Trends::measure(run, sizes)?;
    let mut weights: Vec<f64> =
        (0..sizes.ranks.len()).map(|rank| rows_of(&sizes.ranks, rank)).collect();
    weights.sort_by(|a, b| b.total_cmp(a));
    let waiting = trends.few.waiting();
    let epoch = trends.epoch();
    let trend = trends.more.unwrap_or_else(|| trends.few.clone());
    let memory = MemoryForecast { waiting, weights, trend: trends.few };
    Ok(Forecast { memory, epoch, trend })
}

/// Peak memory of all processes together.
#[derive(Clone)]
pub(super) struct MemoryForecast {
    /// Memory of a waiting process with the trend's number of ranks.
    waiting: f64,
    /// Number of rows that each rank works on, descending.
    weights: Vec<f64>,
    trend: Trend,
}

impl MemoryForecast {
    /// Memory of all processes while all ranks wait, in bytes, if each rank is cut into `pieces`.
    pub(super) fn idle(&self, pieces: usize) -> f64 {
        let ranks = (self.weights.len() * pieces) as f64;
        let further = (ranks - self.trend.ranks as f64).max(0.0);
        self.trend.launcher() + LAUNCHER + ranks * (self.waiting + BY_RANK * further)
    }

    /// Peak in bytes with `resident` ranks working at a time, if each rank is cut into `pieces`.
    pub(super) fn bytes(&self, resident: usize, pieces: usize) -> u64 {
        let shrink = PIECE.powf((pieces as f64).log2());
        let working = self.weights.iter().flat_map(|weight| std::iter::repeat_n(*weight, pieces));
        let working = working.take(resident).map(|weight| self.trend.memory(weight * shrink));
        (self.idle(pieces) + working.sum::<f64>()) as u64
    }

    /// The peak with `resident` ranks working at a time, and with one more.
    pub(super) fn least(&self, resident: usize) -> LeastMemory {
        let all = self.bytes(resident, 1);
        LeastMemory { all, another: self.bytes(resident + 1, 1) - all }
    }
}

/// Measurements of a run with two numbers of ranks.
struct Trends {
    few: Trend,
    /// `None` if the smaller number is the number of all ranks.
    more: Option<Trend>,
    /// Number of the real graph's ranks.
    ranks: f64,
    rows: f64,
    destinations: f64,
}

impl Trends {
    fn measure(run: &RunConfig, sizes: &GraphSizes) -> Result<Self> {
        let all = &sizes.ranks;
        let ranks = representatives(all, RANKS);
        let few = Trend::measure(run, sizes, ranks, Measure::memory(run))?;
        let more = if all.len() > few.ranks {
            let ranks = representatives(all, MORE_RANKS);
            let what = few.epochs(run, ranks.len());
            Some(Trend::measure(run, sizes, ranks, what)?)
        } else {
            None
        };
        let (ranks, rows, destinations) = (all.len() as f64, rows(all), destinations(all));
        Ok(Trends { few, more, ranks, rows, destinations })
    }

    fn epoch(&self) -> EpochForecast {
        EpochForecast {
            disk: self.figure_within(|at| at.disk, Measured::written_unpacked),
            written: self.figure(|at| at.io.written as f64),
            read: self.figure(|at| at.io.read as f64),
            written_unpacked: self.figure(Measured::written_unpacked),
            read_unpacked: self.figure(Measured::read_unpacked),
            cached: 0.0,
            seconds: self.seconds(),
        }
    }

    /// While memory is measured, a stand-in's blocks take more time than those of a graph of the real size. On a busy
    /// machine, the smaller stand-in may take longer than the larger one.
    fn seconds(&self) -> f64 {
        let trend = self.more.as_ref().unwrap_or(&self.few);
        let by_row = trend.growth(|at| at.epoch_s).max(0.0) / trend.rows;
        let by_rank = trend.constant(|at| at.epoch_s).max(0.0) / trend.ranks as f64;
        by_row * self.rows + by_rank * self.ranks
    }

    /// A figure of the real graph.
    fn figure(&self, figure: Figure) -> f64 {
        self.figure_within(figure, figure)
    }

    /// Growth of a figure, per rank, with each further rank, for any size of the graph.
    fn by_pair(&self, more: &Trend, figure: Figure) -> f64 {
        let by_rank = |trend: &Trend| trend.constant(figure) / trend.ranks as f64;
        let further = (more.ranks - self.few.ranks) as f64;
        ((by_rank(more) - by_rank(&self.few)) / further).max(0.0)
    }

    /// A figure of the real graph whose term per pair of ranks is limited to another figure's: peaks vary by chance,
    /// and a large number of pairs multiplies the error.
    fn figure_within(&self, figure: Figure, bound: Figure) -> f64 {
        let few = &self.few;
        let by_row = few.growth(figure) / few.rows;
        let by_rank = few.constant(figure) / few.ranks as f64;
        let Some(more) = &self.more else {
            return (by_row * self.rows + by_rank * self.ranks).max(0.0);
        };
        let spread = |trend: &Trend| trend.destinations / trend.rows;
        let wider = spread(more) - spread(few);
        let by_destination = if wider > DISTINCT * spread(few) {
            ((more.growth(figure) / more.rows - by_row) / wider).max(0.0)
        } else {
            0.0
        };
        let by_row = by_row - by_destination * spread(few);
        let by_pair = self.by_pair(more, figure).min(self.by_pair(more, bound));
        let by_rank = by_rank + by_pair * (self.ranks - few.ranks as f64);
        let sized = by_row * self.rows + by_destination * self.destinations;
        (sized + by_rank * self.ranks).max(0.0)
    }
}
