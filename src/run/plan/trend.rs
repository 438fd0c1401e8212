//! Growth of a run's figures with the size of the graph.

use super::counts::RankCounts;
use super::graph_sizes::GraphSizes;
use super::measure::{Measure, Measured, measure};
use crate::run::config::RunConfig;
use crate::words::error::Result;

/// Maximum number of edges of a stand-in, and of bytes of its features or of a hidden layer's rows, when memory is measured; an
/// epoch takes a tenth to half a second. With fewer rows, blocks of memory are so small that they do not show what large ones take.
const EDGES: f64 = 200_000.0;
const ROW_BYTES: f64 = (64 << 20) as f64;
/// Bytes of a layer's rows that always fit.
const FEW_ROW_BYTES: f64 = (8 << 20) as f64;
/// Fraction of the budget for a layer's rows, outputs included, in one rank of a stand-in, so that the stand-in stays
/// below the budget.
const OF_BUDGET: f64 = 1.0 / 12.0;
/// Size of the other stand-ins relative to these: bytes moved are linear from smaller sizes on.
const PART: f64 = 0.25;
/// Size of the smaller of two stand-ins relative to the larger.
const SMALLER: f64 = 0.25;

/// A figure of a run, such as the bytes that all ranks write.
pub(super) type Figure = fn(&Measured) -> f64;

/// Two measurements of a selection of a graph's ranks.
#[derive(Clone)]
pub(super) struct Trend {
    small: Measured,
    large: Measured,
    counts: Vec<RankCounts>,
    pub(super) ranks: usize,
    /// Number of rows that these ranks work on in the real graph.
    pub(super) rows: f64,
    /// Number of their rows that edges lead to in the real graph, summed over the source ranks.
    pub(super) destinations: f64,
    /// Whether the budget is too small for stand-ins that keep freed memory.
    frugal: bool,
}

impl Trend {
    /// Measures runs in which waiting ranks keep nothing.
    pub(super) fn measure(
        run: &RunConfig,
        sizes: &GraphSizes,
        counts: Vec<RankCounts>,
        what: Measure,
    ) -> Result<Self> {
        let scale = scale(run, sizes, &counts, what);
        let small = measure(run, sizes, &counts, scale * SMALLER, what)?;
        let what = what.beside(run, &small, 1.0 / SMALLER);
        let large = measure(run, sizes, &counts, scale, what)?;
        let (rows, destinations, ranks) = (rows(&counts), destinations(&counts), counts.len());
        let frugal = match what {
            Measure::Memory { .. } => exceeds(run, large.most(ranks)),
            Measure::Epochs { frugal, .. } => frugal,
        };
        Ok(Trend { small, large, counts, ranks, rows, destinations, frugal })
    }

    /// Settings of epochs in which waiting ranks keep nothing, after memory has been measured, for `ranks` ranks.
    pub(super) fn epochs(&self, run: &RunConfig, ranks: usize) -> Measure {
        Measure::Epochs { share: 0, frugal: exceeds(run, self.large.most(ranks)) }
    }

    /// Fraction of figures that remains at the real size if each waiting rank keeps `share` bytes.
    pub(super) fn keeping(
        &self,
        run: &RunConfig,
        sizes: &GraphSizes,
        share: u64,
    ) -> Result<Kept<'_>> {
        let what = Measure::Epochs { share, frugal: self.frugal };
        let kept = measure(run, sizes, &self.counts, self.large.scale, what)?;
        Ok(Kept { trend: self, kept })
    }

    /// Growth of a figure from a graph of size 0 to the real size.
    pub(super) fn growth(&self, figure: Figure) -> f64 {
        (figure(&self.large) - figure(&self.small)) / (self.large.scale - self.small.scale)
    }

    /// Value of a figure on a graph of size 0.
    pub(super) fn constant(&self, figure: Figure) -> f64 {
        figure(&self.small) - self.growth(figure) * self.small.scale
    }

    /// Memory of a rank that works on `rows` rows: the most that any rank of the stand-ins would take, because peaks vary
    /// by chance. Ranks much smaller than the mean say little about others.
    pub(super) fn memory(&self, rows: f64) -> f64 {
        let (small, large) = (&self.small, &self.large);
        let mean = (self.rows / self.ranks as f64).max(1.0);
        let measured = (0..self.ranks).map(|rank| (rank, rows_of(&self.counts, rank).max(1.0)));
        let lines = measured.filter(|(_, own)| *own >= mean / 2.0).map(|(rank, own)| {
            let grown = (large.memory[rank] - small.memory[rank]).max(0.0);
            let by_row = grown / ((large.scale - small.scale) * own);
            small.memory[rank] + by_row * (rows - small.scale * own)
        });
        lines.fold(0.0, f64::max)
    }

    /// Memory of the launcher, and of the code that all processes run.
    pub(super) fn launcher(&self) -> f64 {
        self.small.launcher.max(self.large.launcher)
    }

    /// Memory of a waiting rank. Waiting ranks hold fragments of freed memory that the allocator cannot return;
    /// measured growth is extrapolated by the ratio of sizes.
    pub(super) fn waiting(&self) -> f64 {
        let (small, large) = (mean(&self.small.waiting), mean(&self.large.waiting));
        let growth = (large - small).max(0.0) * (1.0 / self.large.scale).ln();
        small.max(large) + growth / (1.0 / SMALLER).ln()
    }
}

/// A measurement of a run whose waiting ranks keep values.
pub(super) struct Kept<'a> {
    trend: &'a Trend,
    kept: Measured,
}

impl Kept<'_> {
    /// A figure relative to its value if they keep nothing. The saving grows with the graph, because they keep more of
    /// a larger one.
    pub(super) fn left(&self, figure: Figure) -> f64 {
        let Trend { large, .. } = self.trend;
        let (saved, whole) =
            ((figure(large) - figure(&self.kept)) / large.scale, self.whole(figure));
        left_of(whole, saved)
    }

    /// A figure that is 0 if they keep nothing, relative to another.
    pub(super) fn share(&self, figure: Figure, of: Figure) -> f64 {
        figure(&self.kept) / self.kept.scale / self.whole(of).max(f64::MIN_POSITIVE)
    }

    /// A figure at the real size, if they keep nothing.
    fn whole(&self, figure: Figure) -> f64 {
        self.trend.constant(figure) + self.trend.growth(figure)
    }
}

/// Fraction of a figure that remains after this saving. On a busy machine, times may appear to shrink as the graph
/// grows; the fraction is unknown then.
fn left_of(whole: f64, saved: f64) -> f64 {
    if whole > 0.0 { (1.0 - saved / whole).max(0.0) } else { 1.0 }
}

/// Whether a run's memory budget is less than this number of bytes. A budget of `min` always is.
fn exceeds(run: &RunConfig, bytes: f64) -> bool {
    bytes > run.memory_budget.bytes() as f64
}

/// Scale of the larger stand-in, at most 1.
fn scale(run: &RunConfig, sizes: &GraphSizes, ranks: &[RankCounts], what: Measure) -> f64 {
    let value = size_of::<f32>() as f64;
    let features = (sizes.features.width as usize * sizes.features.dtype.size()) as f64;
    let heads = run.model.kind.facts().heads as f64;
    let hidden = heads * run.model.hidden as f64 * value;
    let outputs = heads * sizes.outputs as f64 * value;
    let (nodes, edges) =
        ranks.iter().fold((0, 0), |(n, e), rank| (n + rank.nodes, e + rank.edges()));
    let nodes = nodes as f64;
    let budget = run.memory_budget.bytes() as f64;
    let fit = if budget > 0.0 { OF_BUDGET * budget * ranks.len() as f64 } else { f64::INFINITY };
    let fit = fit.max(FEW_ROW_BYTES);
    let part = if what.is_of_memory() { 1.0 } else { PART };
    let of_rows =
        (fit.min(ROW_BYTES) / (nodes * features.max(hidden))).min(fit / (nodes * outputs));
    (part * (EDGES / edges as f64).min(of_rows)).min(1.0)
}

/// Number of rows that a rank works on.
pub(super) fn rows_of(ranks: &[RankCounts], rank: usize) -> f64 {
    (ranks[rank].nodes + ranks[rank].foreign_rows(rank)) as f64
}

/// Number of rows that all ranks work on.
pub(super) fn rows(ranks: &[RankCounts]) -> f64 {
    (0..ranks.len()).map(|rank| rows_of(ranks, rank)).sum()
}

/// Number of rows that edges lead to, summed over pairs of ranks.
pub(super) fn destinations(ranks: &[RankCounts]) -> f64 {
    let pairs = ranks.iter().flat_map(|rank| &rank.pairs);
    pairs.map(|pair| pair.destinations).sum::<u64>() as f64
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::IoTotals;

    #[test]
    fn a_rank_takes_the_most_that_any_stand_in_of_its_size_would() {
        let measured = |scale, memory: [f64; 3]| Measured {
            scale,
            io: IoTotals::default(),
            epoch_s: 0.1,
            disk: 0.0,
            memory: memory.to_vec(),
            waiting: vec![0.0; 3],
            launcher: 0.0,
        };
        // 10 bytes and one for each row; the second rank takes 4 bytes more by chance, as does the third, which has one row.
        let counts = [100, 100, 1].map(|nodes| RankCounts { nodes, ..RankCounts::default() });
        let trend = Trend {
            small: measured(0.25, [35.0, 35.0, 10.0]),
            large: measured(0.5, [60.0, 64.0, 14.0]),
            counts: counts.to_vec(),
            ranks: 3,
            rows: 201.0,
            destinations: 0.0,
            frugal: false,
        };
        let memory = [25.0, 100.0].map(|rows| format!("{:.0}", trend.memory(rows)));
        assert_eq!(memory, ["35", "122"]);
    }

    #[test]
    fn a_share_of_an_impossible_figure_is_the_whole() {
        let shares = [left_of(4.0, 1.0), left_of(4.0, 5.0), left_of(-0.1, 2.0), left_of(0.0, -2.0)];
        assert_eq!(shares.map(|share| format!("{share:.2}")), ["0.75", "0.00", "1.00", "1.00"]);
    }
}
