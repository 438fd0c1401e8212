//! A process that chooses the number of partitions.

use super::aside::{Aside, Asked};
use super::graph_shape::GraphShape;
use super::num_parts::{PlannedParts, check_run, num_parts};
use crate::run::config::RunConfig;
use crate::words::error::{Error, ErrorKind, ErrorRecord, Result};

/// A process that measures runs while this process reads the graph. Measuring forks workers, which only a
/// single-threaded process may do; readers have several threads.
#[derive(Debug)]
pub struct PartsChooser {
    run: RunConfig,
    process: Aside<PlannedParts>,
}

impl PartsChooser {
    /// Starts the process for a run on an uncut graph.
    ///
    /// # Errors
    /// If no number of partitions can be chosen for this kind of run, or the system starts no process.
    pub fn start(run: RunConfig) -> Result<Self> {
        check_run(&run)?;
        let planned =
            |asked: &mut Asked| -> Result<PlannedParts> { num_parts(&run, &asked.read()?) };
        let process = Aside::start("a process that plans", &run.spill_dir, |asked| {
            planned(asked).map_err(|error| ErrorRecord::from(&error))
        })?;
        Ok(PartsChooser { run, process })
    }

    /// The run, without the partition directory that does not exist yet.
    pub fn run(&self) -> &RunConfig {
        &self.run
    }

    /// Smallest number of partitions with which the run fits into its memory budget.
    ///
    /// # Errors
    /// If no number makes it fit, a measurement fails, or the user asks to stop.
    pub fn choose(mut self, shape: &GraphShape) -> Result<PlannedParts> {
        self.process.ask(shape)?;
        let ended = || Error::new(ErrorKind::Worker, "the process that plans has ended early");
        self.process.answer()?.ok_or_else(ended)
    }
}
