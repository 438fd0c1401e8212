//! Training on the full graph, with one layer for all edge types.

use super::assignment::Assignment;
use super::setup::{Passes, RankSetup};
use super::shared_layers::SharedLayers;
use crate::error::Result;
use crate::run::config::Pass;

/// Trains with steps over all nodes.
pub(super) fn train(assignment: Assignment<'_>, pass: Pass) -> Result<()> {
    let setup = RankSetup::new(assignment.here, Passes::WholeGraph)?;
    SharedLayers::new(&setup, assignment)?.run(assignment, pass, None)?;
    setup.end()
}
