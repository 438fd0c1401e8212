//! Forward and backward walk of attention over the edges of one shard.

use tch::{Kind, Tensor};

use crate::engine::spill::{Pinned, ShardPointer};
use crate::engine::tape::graphs::graph::Graph;
use crate::engine::tape::graphs::row_layout::RowLayout;
use crate::engine::tape::parameters::{Parameter, ParameterSet};
use crate::engine::tape::var::Var;
use crate::engine::tensor;
use crate::engine::tensor::{TensorElement, with_real};
use crate::kernels::{
    AdditiveScore, Attention, AttentionDropout, Destinations, DropoutKey, DynamicScore, Real, Score,
};
use crate::words::error::Result;

/// Rows of sources for attention, pulled from their owners.
pub(in crate::engine::tape) struct Sources {
    /// Rows to be summed, `[num_sources, heads * width]`.
    pub(in crate::engine::tape) messages: Var,
    /// Scores of the sources, `[num_sources, heads]`, if scores are sums of a term per end.
    pub(in crate::engine::tape) scores: Option<Var>,
}

impl Sources {
    /// Parts of a pull: messages, scores, and with dropout the global ids.
    pub(in crate::engine::tape) fn pin(
        &self,
        graph: &dyn Graph,
        with_ids: bool,
    ) -> Result<Vec<Pinned<Tensor>>> {
        let mut parts = vec![self.messages.pin()?];
        if let Some(scores) = &self.scores {
            parts.push(scores.pin()?);
        }
        if with_ids {
            parts.push(graph.source_ids().pin()?);
        }
        Ok(parts)
    }

    /// Layout of those parts.
    pub(in crate::engine::tape) fn layout(&self, with_ids: bool) -> Vec<RowLayout> {
        let ids = with_ids.then_some(RowLayout::new(1, Kind::Int64));
        let scores = self.scores.as_ref().map(Var::rows);
        [self.messages.rows()].into_iter().chain(scores).chain(ids).collect()
    }
}

/// Scoring and dropout of edges.
#[derive(Clone)]
pub(in crate::engine::tape) struct Edges {
    pub(in crate::engine::tape) heads: usize,
    /// The destinations' term of a score.
    pub(in crate::engine::tape) dst: Var,
    /// The attention vector, `[heads * width]`, if the score is an inner product with it.
    pub(in crate::engine::tape) vector: Option<Parameter>,
    pub(in crate::engine::tape) negative_slope: f64,
    pub(in crate::engine::tape) dropout: Option<(DropoutKey, f64)>,
}

/// [`Edges`] with everything in memory.
pub(in crate::engine::tape) struct PinnedEdges<'e> {
    edges: &'e Edges,
    dst: Pinned<Tensor>,
    vector: Option<Tensor>,
    dst_ids: Option<Pinned<Tensor>>,
}

impl Edges {
    pub(in crate::engine::tape) fn pin(
        &self,
        parameters: &ParameterSet,
        graph: &dyn Graph,
    ) -> Result<PinnedEdges<'_>> {
        Ok(PinnedEdges {
            edges: self,
            dst: self.dst.pin()?,
            vector: self.vector.map(|vector| parameters.value(vector)).transpose()?,
            dst_ids: self.dropout.map(|_| graph.destination_ids().pin()).transpose()?,
        })
    }

    /// Widths of the gradients that a [backward](Walk::Backward) walk fills: of sources' scores, and of destinations.
    pub(in crate::engine::tape) fn gradient_widths(&self) -> (i64, i64) {
        match self.vector {
            Some(_) => (0, 2 * self.dst.width()),
            None => (self.heads as i64, self.heads as i64),
        }
    }
}

/// Intermediate state of the forward pass.
pub(in crate::engine::tape) struct Running {
    /// Largest score so far, `[num_destinations, heads]`.
    pub(in crate::engine::tape) largest: Tensor,
    /// Sum of exponentials of scores minus the largest, `[num_destinations, heads]`.
    pub(in crate::engine::tape) sum: Tensor,
    /// Sum of messages times those exponentials, `[num_destinations, heads * width]`.
    pub(in crate::engine::tape) weighted: Tensor,
}

/// Gradients that the backward pass fills in for one shard.
pub(in crate::engine::tape) struct ShardGradients<'g> {
    /// Gradient of the destinations, `[num_destinations, _]`, summed over shards.
    pub(in crate::engine::tape) destinations: &'g mut Tensor,
    /// Gradient of the messages, `[shard.num_sources(), heads * width]`.
    pub(in crate::engine::tape) messages: &'g mut Tensor,
    /// Gradient of the sources' scores, `[shard.num_sources(), _]`.
    pub(in crate::engine::tape) scores: &'g mut Tensor,
}

/// Values of the destinations in the backward pass: largest score, logarithm of the sum, `<gy, y>`, gy.
pub(in crate::engine::tape) struct Outputs<'o> {
    pub(in crate::engine::tape) largest: &'o Tensor,
    pub(in crate::engine::tape) log_sum: &'o Tensor,
    pub(in crate::engine::tape) delta: &'o Tensor,
    pub(in crate::engine::tape) gy: &'o Tensor,
}

/// Direction of a walk over a shard's edges, and what they are added to.
pub(in crate::engine::tape) enum Walk<'w, 'g> {
    Forward(&'w mut Running),
    Backward(&'w Outputs<'w>, ShardGradients<'g>),
}

impl PinnedEdges<'_> {
    /// Adds a shard's edges to the state, or their contributions to the gradients. `parts` are its sources' rows.
    pub(in crate::engine::tape) fn walk(
        &self,
        shard: &ShardPointer,
        parts: &[&Tensor],
        walk: Walk<'_, '_>,
    ) -> Result<()> {
        let heads = self.edges.heads;
        let ids = self.dst_ids.as_ref().zip(parts.last());
        let ids = ids.map(|(dst, src)| [src, &**dst].map(tensor::slice::<i64>));
        let dropout = ids.as_ref().zip(self.edges.dropout);
        let dropout = dropout.map(|([src_ids, dst_ids], (key, probability))| AttentionDropout {
            key,
            probability,
            src_ids,
            dst_ids,
        });
        with_real!(parts[0].kind(), T => {
            let messages = &tensor::slice::<T>(parts[0]);
            let width = parts[0].size()[1] as usize / heads;
            let dst = &tensor::slice::<T>(&self.dst);
            let slope = T::from_f64(self.edges.negative_slope);
            if let Some(vector) = &self.vector {
                    let vector = &tensor::slice::<T>(vector);
                    let score = DynamicScore { src: messages, dst, vector, width, slope };
                    run(&Attention { score, messages, heads, width, dropout }, shard, walk)?;
            } else {
                    let src = &tensor::slice::<T>(parts[1]);
                    let score = AdditiveScore { src, dst, heads, slope };
                    run(&Attention { score, messages, heads, width, dropout }, shard, walk)?;
            }
            Ok(())
        })
    }
}

fn run<T: Real + TensorElement, S: Score<T>>(
    attention: &Attention<'_, T, S>,
    shard: &ShardPointer,
    walk: Walk<'_, '_>,
) -> Result<()> {
    match walk {
        Walk::Forward(Running { largest, sum, weighted }) => attention.accumulate(
            &shard.by_dst()?.ends,
            &mut tensor::slice_mut(largest),
            &mut tensor::slice_mut(sum),
            &mut tensor::slice_mut(weighted),
        ),
        Walk::Backward(of, gradients) => {
            let [largest, log_sum, delta, gy] =
                [of.largest, of.log_sum, of.delta, of.gy].map(tensor::slice);
            let of = Destinations { largest: &largest, log_sum: &log_sum, delta: &delta, gy: &gy };
            let ShardGradients { destinations, messages, scores } = gradients;
            let destinations = &mut tensor::slice_mut(destinations);
            attention.destination_adjoint(&shard.by_dst()?.ends, of, destinations);
            let (messages, scores) =
                (&mut tensor::slice_mut(messages), &mut tensor::slice_mut(scores));
            attention.source_adjoint(&shard.by_src()?.ends, of, messages, scores);
        }
    }
    Ok(())
}
