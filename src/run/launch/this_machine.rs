//! This machine among those of a run.

use std::fs;
use std::path::PathBuf;

use crate::engine::comm::machines::{Launched, MachineFacts};
use crate::error::{Error, ErrorKind, Result};
use crate::formats::dgl::config::PartitionConfig;
use crate::io::IoMode;
use crate::run::config::{MemoryBudget, RunConfig};

/// This machine, of a run on several.
#[derive(Debug, Clone)]
pub(in crate::run) struct ThisMachine {
    /// The place of its process.
    pub(in crate::run) here: Launched,
    /// What it brings to the check at the start.
    pub(in crate::run) facts: MachineFacts,
}

impl ThisMachine {
    /// This machine, with the partitions that it works on; `None` in a run on one machine.
    ///
    /// # Errors
    /// If the run needs something that does not work on several machines yet, or the JSON file cannot be read.
    pub(in crate::run) fn of_run(
        config: &RunConfig,
        partitions: &PartitionConfig,
    ) -> Result<Option<Self>> {
        let Some(here) = Launched::here() else { return Ok(None) };
        check(config)?;
        let json = fs::read(partitions.path());
        let json = json.map_err(|e| Error::unreadable(partitions.path(), &e))?;
        let facts = MachineFacts {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            graph: crc32fast::hash(&json),
            configuration: crc32fast::hash(common(config).to_toml()?.as_bytes()),
            partitions: partitions.book().num_parts(),
            own: own_partitions(here, partitions),
        };
        if facts.own.is_empty() {
            let problem = "has no partition to work on";
            return Err(Error::new(ErrorKind::Config, problem)
                .with_hint("start fewer processes, or copy partitions to this machine"));
        }
        Ok(Some(ThisMachine { here, facts }))
    }
}

/// The partitions that this machine works on: those whose files it has, or an even part if it has all.
fn own_partitions(here: Launched, partitions: &PartitionConfig) -> Vec<usize> {
    let parts = partitions.parts();
    let is_here = |part: &usize| parts[*part].node_feats.exists();
    let own: Vec<usize> = (0..parts.len()).filter(is_here).collect();
    if own.len() < parts.len() {
        return own;
    }
    let first = |machine| machine * parts.len() / here.machines;
    (first(here.machine)..first(here.machine + 1)).collect()
}

/// Refuses what does not work on several machines yet.
fn check(config: &RunConfig) -> Result<()> {
    let refused = [
        ("sampling", config.sampling.is_some()),
        ("link", config.link.is_some()),
        ("relations", config.relations.is_some()),
        ("dump_step", config.dump_step.is_some()),
        ("trace", config.trace.is_some()),
    ];
    match refused.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((field, _)) => Err(not_yet(field)),
    }
}

/// The error for something that does not work on several machines yet.
pub(in crate::run) fn not_yet(field: &str) -> Error {
    Error::config(field, "does not work on several machines yet")
        .with_hint("start sar-single alone, without an MPI launcher")
}

/// The part of a configuration that is the same on all machines: paths and what is taken of a machine are left out.
fn common(config: &RunConfig) -> RunConfig {
    RunConfig {
        part_json: PathBuf::new(),
        out: PathBuf::new(),
        spill_dir: PathBuf::new(),
        tensorboard: None,
        init_params: None,
        resident: None,
        threads: 1,
        memory_budget: MemoryBudget::Min,
        io: IoMode::default(),
        ..config.clone()
    }
}
