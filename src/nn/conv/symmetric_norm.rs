//! Propagation with symmetric normalisation.

use tch::Tensor;

use crate::engine::tape::{Aggregation, Graph, Reduce, Tape, Var};
use crate::words::error::Result;

/// A factor times Â = D^-1/2 A D'^-1/2, where D are the in-degrees of destinations and D' degrees of sources, all at
/// least 1. With edge weights, the entries of Â are the
/// [normalised](crate::engine::tape::GraphShardManager::normalise_edge_weights) weights.
#[derive(Debug, Clone, Copy)]
pub(in crate::nn) struct SymmetricNorm {
    pub(in crate::nn) edge_weights: bool,
    pub(in crate::nn) factor: f64,
    /// Whether D' are out-degrees, instead of in-degrees.
    pub(in crate::nn) out_degrees: bool,
}

impl SymmetricNorm {
    /// Returns `factor * Â x`, plus `onto` if it is given.
    pub(in crate::nn) fn propagate<'a>(
        self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        x: Var,
        onto: Option<Var>,
    ) -> Result<Var> {
        let messages = self.messages(tape, graph, x)?;
        self.sums(tape, graph, messages, onto)
    }

    /// The rows of `x` with the factors of sources, which [`sums`](Self::sums) adds up.
    pub(in crate::nn) fn messages(
        self,
        tape: &mut Tape<'_>,
        graph: &dyn Graph,
        x: Var,
    ) -> Result<Var> {
        if self.edge_weights {
            return Ok(x);
        }
        let degrees =
            if self.out_degrees { graph.out_degrees() } else { graph.source_in_degrees() };
        let scale = tape.degree_scale(degrees, x.kind(), inverse_root);
        tape.scale_rows(&x, &scale)
    }

    /// Returns `factor * Â x`, plus `onto` if it is given, for the [`messages`](Self::messages) of `x`.
    pub(in crate::nn) fn sums<'a>(
        self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        messages: Var,
        onto: Option<Var>,
    ) -> Result<Var> {
        let SymmetricNorm { edge_weights, factor, .. } = self;
        let unscaled = edge_weights && (factor - 1.0).abs() < f64::EPSILON;
        let scale = move |d: &Tensor| {
            Ok(if edge_weights {
                d.f_full_like(factor)?
            } else {
                inverse_root(d)?.f_mul_scalar(factor)?
            })
        };
        let scale =
            (!unscaled).then(|| tape.degree_scale(graph.in_degrees(), messages.kind(), scale));
        let sum = Aggregation::new(Reduce::Sum).weighted(edge_weights).scaled(scale);
        match onto {
            Some(onto) => tape.aggregate(graph, messages, sum.onto(onto)),
            None => tape.aggregate(graph, messages, sum),
        }
    }
}

fn inverse_root(degrees: &Tensor) -> Result<Tensor> {
    Ok(degrees.f_clamp_min(1)?.f_rsqrt()?)
}
