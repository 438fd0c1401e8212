//! The work of a rank on a prediction, from start to end.

use super::relations::predict_relations;
use super::whole::predict_whole;
use super::work::PredictionWork;
use crate::run::rank::setup::{Passes, RankSetup, Surroundings};
use crate::words::error::Result;

/// Runs a rank's part of the prediction.
///
/// # Errors
/// If a file is wrong (`Input`), the output cannot be written (`Io`, `OutOfDisk`), or an operation fails.
pub fn predict(here: Surroundings<'_>, work: &PredictionWork<'_>) -> Result<()> {
    let setup = RankSetup::new(here, Passes::WholeGraph)?;
    match &work.config.run.relations {
        Some(relations) => predict_relations(&setup, here, work, relations)?,
        None => predict_whole(&setup, here, work)?,
    }
    setup.end()
}
