//! This machine's part in a run on several machines.

use std::fs;
use std::path::{Path, PathBuf};

use crate::engine::comm::machines::{Launched, MachineFacts};
use crate::event::Event;
use crate::formats::dgl::config::PartitionConfig;
use crate::run::config::{OwnPartitions, RunConfig};
use crate::words::error::{Error, ErrorKind, Result};

/// This machine, in a run on several.
#[derive(Debug, Clone)]
pub(in crate::run) struct ThisMachine {
    /// Place of this process among the machines' processes.
    pub(in crate::run) here: Launched,
    /// Facts that machines compare at the start.
    pub(in crate::run) facts: MachineFacts,
}

impl ThisMachine {
    /// This machine and its partitions, which `told` may name; `None` for a command on one machine. Two texts must be the
    /// same on all machines: the settings that the work depends on, and the checksum of the file from which the work
    /// starts, empty without a file.
    pub(in crate::run) fn of(
        settings: &str,
        start: &str,
        partitions: &PartitionConfig,
        told: Option<&OwnPartitions>,
    ) -> Result<Option<Self>> {
        let Some(here) = Launched::here() else {
            return told.map_or(Ok(None), |_| Err(one_machine()));
        };
        let json = fs::read(partitions.path());
        let json = json.map_err(|e| Error::unreadable(partitions.path(), &e))?;
        let facts = MachineFacts {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            graph: crc32fast::hash(&json),
            configuration: crc32fast::hash(settings.as_bytes()),
            start: start.to_owned(),
            partitions: partitions.book().num_parts(),
            own: match told {
                Some(told) => named(told, partitions)?,
                None => own_partitions(here, partitions),
            },
        };
        if facts.own.is_empty() {
            let problem = "has no partition to work on";
            return Err(Error::new(ErrorKind::Config, problem)
                .with_hint("start fewer processes, or copy partitions to this machine"));
        }
        Ok(Some(ThisMachine { here, facts }))
    }

    /// Whether another machine, the first, writes the results.
    pub(in crate::run) fn is_another(&self) -> bool {
        self.here.machine > 0
    }

    /// An event as machines other than the first report it: only notes, which name the machine.
    pub(super) fn remark(&self, event: &Event) -> Option<Event> {
        let Event::Note(text) = event else { return None };
        Some(Event::Note(format!("machine {}: {text}", self.here.machine)))
    }

    /// Path of this machine's part of a file, next to that of the first machine.
    pub(super) fn own_path(&self, path: &Path) -> PathBuf {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{stem}.machine-{}", self.here.machine);
        let extension = path.extension().map(|end| format!(".{}", end.to_string_lossy()));
        path.with_file_name(name + &extension.unwrap_or_default())
    }
}

/// Partitions of this machine: those whose files it has, or an even share if it has all.
fn own_partitions(here: Launched, partitions: &PartitionConfig) -> Vec<usize> {
    let (own, all) = (partitions.present(), partitions.parts().len());
    if own.len() < all {
        return own;
    }
    let first = |machine| machine * all / here.machines;
    (first(here.machine)..first(here.machine + 1)).collect()
}

/// Partitions that the user has named for this machine.
fn named(told: &OwnPartitions, partitions: &PartitionConfig) -> Result<Vec<usize>> {
    let (present, all) = (partitions.present(), partitions.parts().len());
    let numbers = told.numbers();
    if let Some(beyond) = numbers.iter().find(|part| **part >= all) {
        let problem = format!("there is no partition {beyond}: the graph has {all}, from 0 on");
        return Err(Error::config("partitions", problem));
    }
    if let Some(missing) = numbers.iter().find(|part| !present.contains(part)) {
        let path = partitions.parts()[*missing].node_feats.display();
        let problem = format!("the files of partition {missing} are not here ({path})");
        return Err(Error::config("partitions", problem)
            .with_hint("copy them to this machine, or name the partitions that it has"));
    }
    Ok(numbers.to_vec())
}

/// The error for named partitions on a single machine.
fn one_machine() -> Error {
    Error::config("partitions", "has no effect on one machine, which works on all partitions")
        .with_hint("leave it out, or start the program on several machines, with mpirun or srun")
}

/// The error for a feature that does not work on several machines yet.
pub(super) fn not_yet(field: &str) -> Error {
    Error::config(field, "does not work on several machines yet")
        .with_hint("start sar-single alone, without an MPI launcher")
}

/// The part of a configuration that must be the same on all machines: without paths and resources.
pub(in crate::run) fn common(config: &RunConfig) -> RunConfig {
    RunConfig {
        dump_step: config.dump_step.as_ref().map(|_| PathBuf::new()),
        tensorboard: None,
        init_params: config.init_params.as_ref().map(|_| PathBuf::new()),
        ..config.anywhere()
    }
}
