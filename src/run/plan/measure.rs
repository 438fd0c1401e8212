//! Measurement of memory, bytes and time in a short run of the real model on a stand-in.

use crate::run::rank;
use rustix::fs::Mode;
use rustix::process::{getppid, umask};
use tracing::debug;

use super::counts::{RankCounts, scaled};
use super::graph_sizes::GraphSizes;
use super::stand_in::{self, EDGE_FEATURES, WEIGHT};
use crate::engine::spill_dir::RunFolder;
use crate::event::Event;
use crate::formats::dgl::config::PartitionConfig;
use crate::io::IoTotals;
use crate::load::DataKeys;
use crate::platform::{Pages, give_memory_back};
use crate::run::config::{MemoryBudget, OnNan, RunConfig};
use crate::run::launch::workers::{Launch, StandIn, run_workers};
use crate::run::rank::Surroundings;
use crate::words::error::{Error, Result};

/// Number of epochs of a measurement; from the third on, all are alike.
const EPOCHS: u32 = 3;

/// Fraction (1 / n) of the budget that files of stand-ins may take in the page cache while memory is measured.
const OF_CACHE: u64 = 4;

/// Measured figures of a run, in bytes and seconds.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    /// Size of the stand-in relative to the real graph.
    pub(super) scale: f64,
    /// Bytes of the last epoch, of all ranks.
    pub(super) io: IoTotals,
    pub(super) epoch_s: f64,
    /// Peak size of the files.
    pub(super) disk: f64,
    /// Peak of each rank's own memory.
    pub(super) memory: Vec<f64>,
    /// Maximum memory of each rank at a pause.
    pub(super) waiting: Vec<f64>,
    /// Anonymous memory of the launcher before it forks, and the code that all processes run.
    pub(super) launcher: f64,
}

impl Measured {
    /// Bytes that would be written per epoch if zeros were stored.
    pub(super) fn written_unpacked(&self) -> f64 {
        (self.io.written + self.io.saved_in_writing) as f64
    }

    /// Bytes that would be read per epoch if zeros were stored.
    pub(super) fn read_unpacked(&self) -> f64 {
        (self.io.read + self.io.saved_in_reading) as f64
    }

    /// Memory of all processes, without files, for a graph `times` as large, if `resident` ranks work at a time and the
    /// others keep nothing. Memory must have been measured.
    fn grown(&self, times: f64, resident: usize) -> f64 {
        let largest = self.memory.iter().copied().fold(0.0, f64::max);
        let working = resident.min(self.memory.len()) as f64 * largest;
        self.launcher + times * working + self.waiting.iter().sum::<f64>()
    }

    /// Upper bound on the memory of `ranks` ranks of this size or smaller that do not return freed memory, including
    /// their files in the page cache. Memory must have been measured.
    pub(super) fn most(&self, ranks: usize) -> f64 {
        let largest = self.memory.iter().copied().fold(0.0, f64::max);
        let of_each = largest + self.disk / self.memory.len() as f64;
        self.launcher + ranks as f64 * of_each
    }
}

/// While this exists, new files of this process and its children are accessible to their owner only. The umask applies
/// to all threads, but the launcher has only one while it forks.
struct PrivateUmask(Mode);

impl PrivateUmask {
    fn set() -> Self {
        PrivateUmask(umask(Mode::RWXG | Mode::RWXO))
    }
}

impl Drop for PrivateUmask {
    fn drop(&mut self) {
        umask(self.0);
    }
}

/// The figures that are measured, at the expense of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// Memory as well. Waiting ranks keep nothing and return all freed memory, which makes small blocks slow. Their files
    /// take at most `cache` bytes of the page cache.
    Memory { cache: u64 },
    /// Everything except memory. Each waiting rank keeps `share` bytes on a graph of the real size. If the budget
    /// cannot hold all memory that ranks free, they are `frugal`: they return it, work one at a time, and write around
    /// the page cache.
    Epochs { share: u64, frugal: bool },
}

impl Measure {
    /// Memory of a small stand-in.
    pub(super) fn memory(run: &RunConfig) -> Self {
        let budget = run.memory_budget.bytes();
        Measure::Memory { cache: if budget > 0 { budget / OF_CACHE } else { u64::MAX } }
    }

    /// The same figures of a stand-in `times` as large as one that has been measured: its files take only what its
    /// memory leaves of the budget.
    pub(super) fn beside(self, run: &RunConfig, measured: &Measured, times: f64) -> Self {
        let budget = run.memory_budget.bytes();
        match self {
            Measure::Memory { cache } if budget > 0 => {
                let left =
                    budget.saturating_sub(measured.grown(times, run.resident.unwrap_or(1)) as u64);
                Measure::Memory { cache: cache.min(left) }
            }
            other => other,
        }
    }

    /// Whether memory is measured.
    pub(super) fn is_of_memory(self) -> bool {
        matches!(self, Measure::Memory { .. })
    }
}

/// Pages of files that the program maps, in bytes. A forked process starts with none of them, although the launcher of the
/// real run will have them all.
fn code_of_program() -> u64 {
    let files = |process: &str| Pages::of(process).unwrap_or_default().files;
    let program = |process: &str| std::fs::read_link(format!("/proc/{process}/exe")).ok();
    let parent = getppid().map(|parent| parent.as_raw_pid().to_string());
    let forked = parent.filter(|parent| program(parent) == program("self"));
    files("self").max(forked.map_or(0, |parent| files(&parent)))
}

/// Trains a few epochs on a stand-in of `scale` times the real size.
pub(super) fn measure(
    run: &RunConfig,
    sizes: &GraphSizes,
    ranks: &[RankCounts],
    scale: f64,
    what: Measure,
) -> Result<Measured> {
    let (share, frugal) = match what {
        Measure::Memory { .. } => (0, false),
        Measure::Epochs { share, frugal } => (share, frugal),
    };
    let frees = frugal || what.is_of_memory();
    let _umask = PrivateUmask::set();
    // The folder has a control file, like a run's, so that the next start removes it if this process is killed.
    let (folder, _control) = RunFolder::create(&run.spill_dir, 1, 1)?;
    let edge_weights = run.keys.edge_weight.is_some();
    let part_json =
        stand_in::write(folder.path(), &scaled(ranks, scale), sizes, run.task, edge_weights)?;
    let out = folder.path().join("out");
    std::fs::create_dir(&out).map_err(|e| Error::io("create", &out, e))?;
    let config = RunConfig {
        part_json,
        keys: DataKeys {
            edge_weight: edge_weights.then(|| WEIGHT.to_owned()),
            edge_features: sizes.edge_features.map(|_| EDGE_FEATURES.to_owned()),
            ..DataKeys::default()
        },
        // All classes of a stand-in have the same size; class weights affect no size.
        class_weights: None,
        patience: run.patience.map(|_| EPOCHS),
        // Values are meaningless here.
        init_params: None,
        on_nan: OnNan::GoOn,
        checkpoint_every: None,
        dump_step: None,
        epochs: EPOCHS,
        memory_budget: MemoryBudget::Min,
        // Two at a time may take more than the run itself, whose budget may allow only one.
        resident: run.resident.or(Some(if frees { 1 } else { 2 })),
        out,
        ..run.clone()
    };
    let partitions = PartitionConfig::open(&config.part_json)?;
    give_memory_back();
    let mut measured = Measured {
        scale,
        io: IoTotals::default(),
        epoch_s: f64::INFINITY,
        disk: 0.0,
        memory: vec![0.0; ranks.len()],
        waiting: vec![0.0; ranks.len()],
        launcher: 0.0,
    };
    let launcher = Pages { files: code_of_program(), ..Pages::of("self").unwrap_or_default() };
    let work = |here: Surroundings<'_>| {
        rank::measured(here, frees, |here| rank::train(here, &config, None, None))
    };
    let cache = match what {
        Measure::Memory { cache } => cache / ranks.len() as u64,
        Measure::Epochs { frugal: true, .. } => 0,
        Measure::Epochs { .. } => u64::MAX,
    };
    let stand_in = StandIn { scale, share: (share as f64 * scale) as u64, cache };
    let resources = config.resources();
    let launch = Launch { stand_in: Some(stand_in), ..Launch::new(&resources, &partitions) };
    let mut observe = |event: &Event| match event {
        Event::Epoch(report) => {
            measured.io = report.io;
            measured.epoch_s = measured.epoch_s.min(report.epoch_s);
        }
        Event::Usage(usage) => {
            measured.disk = measured.disk.max(usage.disk as f64);
            measured.memory[usage.rank] = usage.memory as f64;
            measured.waiting[usage.rank] = usage.waiting as f64;
            let files = usage.files.max(launcher.files);
            measured.launcher = measured.launcher.max((launcher.anonymous + files) as f64);
        }
        _ => {}
    };
    run_workers(&launch, &work, None, &mut observe, |_| Ok(()))?;
    debug!(?what, ?measured, "stand-in");
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_larger_stand_in_leave_its_memory_room() {
        let measured = Measured {
            scale: 0.25,
            io: IoTotals::default(),
            epoch_s: 0.1,
            disk: 0.0,
            memory: vec![20.0, 30.0],
            waiting: vec![2.0, 3.0],
            launcher: 75.0,
        };
        let cache = |budget, resident| {
            let mut run = RunConfig::new("g.json", "out");
            run.memory_budget = MemoryBudget::Bytes(budget);
            run.resident = resident;
            match Measure::memory(&run).beside(&run, &measured, 4.0) {
                Measure::Memory { cache } => cache,
                Measure::Epochs { .. } => panic!("memory is not measured"),
            }
        };
        assert_eq!([1000, 240, 200, 100].map(|budget| cache(budget, None)), [250, 40, 0, 0]);
        assert_eq!([1000, 340, 300].map(|budget| cache(budget, Some(2))), [250, 20, 0]);
    }
}
