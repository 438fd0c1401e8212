//! What a rank is asked to train.

use std::path::Path;

use super::setup::Surroundings;
use crate::run::config::RunConfig;

/// A rank's part of a training run.
#[derive(Clone, Copy)]
pub(super) struct Assignment<'a> {
    /// What the launcher gives the rank.
    pub(super) here: Surroundings<'a>,
    /// The run.
    pub(super) config: &'a RunConfig,
    /// The checkpoint that a resumed run goes on from.
    pub(super) resumed: Option<&'a Path>,
}
