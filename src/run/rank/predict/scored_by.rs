//! The score by which a prediction compares nodes.

use tch::Tensor;

use crate::engine::tape::ParameterSet;
use crate::nn::LinkScore;
use crate::words::error::Result;

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

    /// Rows whose inner products with rows of the other end are the scores of edges of a type that have these sources, or these
    /// destinations.
    pub(super) fn queries_of_type(
        self,
        rows: &Tensor,
        etype: usize,
        are_destinations: bool,
    ) -> Result<Tensor> {
        let etype = Tensor::f_from_slice(&[etype as i64])?;
        let etype = Some(&etype).filter(|_| self.score.tells_etypes_apart());
        if are_destinations {
            self.score.queries_of_destinations(self.parameters, rows, etype)
        } else {
            self.score.queries(self.parameters, rows, etype)
        }
    }
}
