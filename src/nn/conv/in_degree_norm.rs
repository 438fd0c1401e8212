//! Propagation with symmetric normalisation by in-degrees.

use tch::Tensor;

use crate::engine::tape::{Aggregation, Graph, Reduce, Tape, Var};
use crate::error::Result;

/// A factor times Â = D^-1/2 A D^-1/2, D being the in-degrees, at least 1. With edge weights, the entries of Â are the
/// [normalised](crate::engine::tape::GraphShardManager::normalise_edge_weights) weights.
#[derive(Debug, Clone, Copy)]
pub(in crate::nn) struct InDegreeNorm {
    pub(in crate::nn) edge_weights: bool,
    pub(in crate::nn) factor: f64,
}

impl InDegreeNorm {
    /// Returns `factor * Â x`, plus `onto` if it is given.
    pub(in crate::nn) fn propagate<'a>(
        self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        x: Var,
        onto: Option<Var>,
    ) -> Result<Var> {
        let InDegreeNorm { edge_weights, factor } = self;
        let kind = x.kind();
        let inverse_root = |d: &Tensor| Ok(d.f_clamp_min(1)?.f_rsqrt()?);
        let (messages, scale) = if edge_weights {
            let scale = move |d: &Tensor| Ok(d.f_full_like(factor)?);
            let unscaled = (factor - 1.0).abs() < f64::EPSILON;
            let scale = (!unscaled).then(|| tape.degree_scale(graph.in_degrees(), kind, scale));
            (x, scale)
        } else {
            let sources = tape.degree_scale(graph.source_in_degrees(), kind, inverse_root);
            let scale = move |d: &Tensor| Ok(inverse_root(d)?.f_mul_scalar(factor)?);
            let scale = tape.degree_scale(graph.in_degrees(), kind, scale);
            (tape.scale_rows(&x, &sources)?, Some(scale))
        };
        let sum = Aggregation::new(Reduce::Sum).weighted(edge_weights).scaled(scale);
        match onto {
            Some(onto) => tape.aggregate(graph, messages, sum.onto(onto)),
            None => tape.aggregate(graph, messages, sum),
        }
    }
}
