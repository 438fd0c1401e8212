//! Steps of propagation.

use serde::{Deserialize, Serialize};

use super::symmetric_norm::SymmetricNorm;
use crate::engine::tape::{Graph, Tape, Var};
use crate::words::error::{Error, Result};

/// Options of a model that propagates rows; `USUAL` is the default number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Hops<const USUAL: usize> {
    /// Steps of propagation.
    pub hops: usize,
    /// Whether messages are multiplied by normalised edge weights.
    pub edge_weights: bool,
}

impl<const USUAL: usize> Default for Hops<USUAL> {
    fn default() -> Self {
        Hops { hops: USUAL, edge_weights: false }
    }
}

impl<const USUAL: usize> Hops<USUAL> {
    /// Checks that there is at least one step.
    pub(in crate::nn) fn checked(self) -> Result<Self> {
        if self.hops == 0 {
            return Err(Error::config("model.hops", "at least one step of propagation is needed"));
        }
        Ok(self)
    }

    /// Passes ÂX, Â²X, ... to `each`, as SGC and SIGN do before training. Â is D^-1/2 A D^-1/2, D being the in-degrees, at
    /// least 1; with edge weights, the entries of Â are the
    /// [normalised](crate::engine::tape::GraphShardManager::normalise_edge_weights) weights.
    pub(in crate::nn) fn run<'a>(
        self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        x: Var,
        mut each: impl FnMut(&mut Tape<'a>, &Var) -> Result<()>,
    ) -> Result<()> {
        let norm =
            SymmetricNorm { edge_weights: self.edge_weights, factor: 1.0, out_degrees: false };
        let mut x = x;
        for hop in 0..self.hops {
            tape.enter_layer(hop);
            x = norm.propagate(tape, graph, x, None)?;
            each(tape, &x)?;
        }
        Ok(())
    }
}
