//! The score by which a prediction compares nodes.

use tch::Tensor;

use crate::engine::tape::ParameterSet;
use crate::error::Result;
use crate::nn::LinkScore;

/// The score of a run, and its parameters.
#[derive(Clone, Copy)]
pub(super) struct ScoredBy<'a> {
    pub(super) score: &'a LinkScore,
    pub(super) parameters: &'a ParameterSet,
}

impl ScoredBy<'_> {
    /// Rows whose inner products with rows of destinations are the scores of these sources, if there is one score for all edges.
    pub(super) fn queries(self, sources: &Tensor) -> Result<Tensor> {
        self.score.queries(self.parameters, sources, None)
    }
}
