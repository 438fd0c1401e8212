//! A process that chooses the number of partitions.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use super::aside::{Aside, failed};
use super::graph_shape::GraphShape;
use super::num_parts::{PlannedParts, check_run, num_parts};
use crate::error::{Error, ErrorKind, ErrorRecord, Result};
use crate::io::{decode, encode};
use crate::run::config::RunConfig;

/// A process that measures runs while this process reads the graph. Measuring forks workers, which only a
/// single-threaded process may do; readers have several threads.
#[derive(Debug)]
pub struct PartsChooser {
    run: RunConfig,
    process: Aside,
}

impl PartsChooser {
    /// Starts the process for a run on an uncut graph.
    ///
    /// # Errors
    /// If no number of partitions can be chosen for this kind of run, or the system starts no process.
    pub fn start(run: RunConfig) -> Result<Self> {
        check_run(&run)?;
        let planned = &run;
        let process =
            Aside::start("a process that plans", &run.spill_dir, |link| answer(planned, link))?;
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
        self.process.ask(&encode(shape)?)?;
        let bytes = self.process.answer()?;
        if bytes.is_empty() {
            return Err(Error::new(ErrorKind::Worker, "the process that plans has ended early"));
        }
        let answer: Result<PlannedParts, ErrorRecord> = decode(&bytes)?;
        answer.map_err(Error::from)
    }
}

/// Work of the process: one question, one answer.
fn answer(run: &RunConfig, mut link: UnixStream) -> Result<()> {
    let mut question = Vec::new();
    link.read_to_end(&mut question).map_err(failed)?;
    if question.is_empty() {
        return Ok(());
    }
    let planned = decode(&question).and_then(|shape| num_parts(run, &shape));
    let answer = planned.map_err(|error| ErrorRecord::from(&error));
    link.write_all(&encode(&answer)?).map_err(failed)
}
