//! A rank's part of a training run.

use std::path::Path;

use super::setup::Surroundings;
use crate::engine::tape::ParameterSet;
use crate::event::StepReport;
use crate::load::GraphFingerprint;
use crate::nn::load_state_dict;
use crate::run::config::RunConfig;
use crate::train::StepLog;
use crate::words::error::Result;

/// A rank's part of a training run.
#[derive(Clone, Copy)]
pub(super) struct Assignment<'a> {
    /// The launcher's arguments to the rank.
    pub(super) here: Surroundings<'a>,
    /// Configuration of the run.
    pub(super) config: &'a RunConfig,
    /// Fingerprint of the graph, as far as this machine has it; `None` for a stand-in.
    pub(super) graph: Option<&'a GraphFingerprint>,
    /// The checkpoint from which the run resumes, if it does.
    pub(super) resumed: Option<&'a Path>,
}

impl Assignment<'_> {
    /// Log of steps, if the run has one and this rank reports it.
    pub(super) fn step_log<'r>(
        &self,
        report: &'r dyn Fn(StepReport) -> Result<()>,
    ) -> Option<StepLog<'r>> {
        let every = self.config.sampling.as_ref()?.log_every.filter(|_| self.here.rank == 0)?;
        Some(StepLog { every, report })
    }

    /// The file of initial values, if there is one. A checkpoint replaces all of them.
    pub(super) fn initial(&self) -> Option<&Path> {
        self.config.init_params.as_deref().filter(|_| self.resumed.is_none())
    }

    /// Loads the run's initial values on rank 0, whose values the other ranks get.
    pub(super) fn load_initial(&self, parameters: &ParameterSet) -> Result<()> {
        match self.initial() {
            Some(path) if self.here.rank == 0 => load_state_dict(path, parameters, &[]),
            _ => Ok(()),
        }
    }
}
