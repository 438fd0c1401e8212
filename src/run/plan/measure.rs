//! A short run of the real model on a stand-in, and what it took.

use crate::run::rank;
use rustix::fs::Mode;
use rustix::process::umask;

use super::counts::{RankCounts, scaled};
use super::graph_sizes::GraphSizes;
use super::stand_in::{self, WEIGHT};
use crate::engine::spill_dir::RunFolder;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::formats::dgl::config::PartitionConfig;
use crate::load::DataKeys;
use crate::platform::give_memory_back;
use crate::run::config::{MemoryBudget, OnNan, RunConfig};
use crate::run::launch::workers::{StandIn, run_workers};
use crate::run::rank::Surroundings;

/// Epochs of a measurement: from the third on all are alike.
const EPOCHS: u32 = 3;

/// What a run took. Bytes, and seconds.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    /// Nodes and edges beside those of the real graph.
    pub(super) scale: f64,
    /// Written in an epoch, by all ranks.
    pub(super) written: f64,
    /// Read in an epoch, by all ranks.
    pub(super) read: f64,
    /// Of both, in the part of the page cache that ranks may fill.
    pub(super) cached: f64,
    pub(super) epoch_s: f64,
    /// The most that files took.
    pub(super) disk: f64,
    /// The most memory of each rank of its own.
    pub(super) memory: Vec<f64>,
    /// The most memory of all processes together, as far as samples show.
    pub(super) tree: f64,
}

/// While it lives, new files of this process and those it forks are for their owner only. The umask is one for all threads:
/// as it forks, the launcher has only one.
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

/// Trains some epochs on a stand-in of `scale` times the size. Waiting ranks keep `share` bytes each.
pub(super) fn measure(
    run: &RunConfig,
    (sizes, ranks): (&GraphSizes, &[RankCounts]),
    scale: f64,
    share: u64,
) -> Result<Measured> {
    let _umask = PrivateUmask::set();
    // It has a control file as the folder of a run has, so that the next start removes it if this process is killed.
    let (folder, _control) = RunFolder::create(&run.spill_dir, 1, 1)?;
    let edge_weights = run.keys.edge_weight.is_some();
    let part_json =
        stand_in::write(folder.path(), &scaled(ranks, scale), sizes, (run.task, edge_weights))?;
    let out = folder.path().join("out");
    std::fs::create_dir(&out).map_err(|e| Error::io("create", &out, e))?;
    let config = RunConfig {
        part_json,
        keys: DataKeys {
            edge_weight: edge_weights.then(|| WEIGHT.to_owned()),
            ..DataKeys::default()
        },
        // Classes of a stand-in are of one size; what they weigh changes no size of anything.
        class_weights: None,
        patience: run.patience.map(|_| EPOCHS),
        // What is measured does not depend on values.
        on_nan: OnNan::GoOn,
        checkpoint_every: None,
        dump_step: None,
        epochs: EPOCHS,
        memory_budget: MemoryBudget::Min,
        out,
        ..run.clone()
    };
    let partitions = PartitionConfig::open(&config.part_json)?;
    let mut measured = Measured {
        scale,
        written: 0.0,
        read: 0.0,
        cached: 0.0,
        epoch_s: f64::INFINITY,
        disk: 0.0,
        memory: vec![0.0; ranks.len()],
        tree: 0.0,
    };
    let work =
        |here: Surroundings<'_>| rank::measured(here, |here| rank::train(here, &config, None));
    // Workers are copies of this process, with all that it has freed and not given back.
    give_memory_back();
    let stand_in = StandIn { scale, share: (share as f64 * scale) as u64 };
    run_workers(&config, &partitions, Some(stand_in), None, &work, &mut |event, tree| {
        measured.tree = tree as f64;
        match event {
            Event::Epoch(report) => {
                measured.written = report.io.written as f64;
                measured.read = report.io.read as f64;
                measured.cached = report.io.cached as f64;
                measured.epoch_s = measured.epoch_s.min(report.epoch_s);
            }
            Event::Usage(usage) => {
                measured.disk = measured.disk.max(usage.disk as f64);
                measured.memory[usage.rank] = usage.memory as f64;
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(measured)
}
