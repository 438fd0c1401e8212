//! Attention with scores that use edge features.

use tch::Tensor;

use super::heads;
use crate::engine::tape::{
    Begun, EdgeBatch, Graph, Parameter, ParameterBuilder, Propagation, Tape, Var,
};
use crate::words::error::{Error, Result};

/// Score of an edge e = u -> v per head: `<vector, leaky_relu(src[u] + dst[v] + weight f_e + bias)>` over the head's
/// columns, where f_e are the edge's features.
pub(super) struct EdgeScore {
    /// The map of edge features, `[heads * width, edge_feats]`.
    weight: Parameter,
    /// The attention vector, `[1, heads, width]`.
    vector: Parameter,
    bias: Option<Parameter>,
    heads: i64,
    negative_slope: f64,
}

/// Rows that scores add up: `[num_sources, heads * width]` and `[num_destinations, heads * width]`.
pub(super) struct ScoredEnds {
    /// Rows of the sources.
    pub(super) src: Var,
    /// Rows of the destinations.
    pub(super) dst: Var,
}

impl EdgeScore {
    /// Adds the map of edge features under the name `map`. `vector` is the layer's attention vector, `[1, heads, width]`.
    pub(super) fn new(
        parameters: &mut ParameterBuilder,
        map: &str,
        edge_feats: i64,
        vector: Parameter,
        [heads, width]: [i64; 2],
    ) -> Self {
        let init = heads::initial(parameters);
        let shape = [heads * width, edge_feats];
        let weight = parameters.scope(map, |parameters| parameters.add("weight", &shape, init));
        EdgeScore { weight, vector, bias: None, heads, negative_slope: 0.2 }
    }

    /// Sets the slope of the leaky ReLU for negative sums.
    pub(super) fn negative_slope(self, negative_slope: f64) -> Self {
        EdgeScore { negative_slope, ..self }
    }

    /// Adds a bias, `[heads * width]`, to every sum.
    pub(super) fn bias(self, bias: Parameter) -> Self {
        EdgeScore { bias: Some(bias), ..self }
    }

    /// Attention of each edge, `[num_edges, heads]`: the softmax of the scores over the in-edges of a destination, with
    /// dropout. One collective.
    pub(super) fn attention<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        ends: ScoredEnds,
        dropout: f64,
    ) -> Begun<'a, Var> {
        let (heads, slope) = (self.heads, self.negative_slope);
        let scores = self.on_edges(tape, graph, ends, move |sums, vector| {
            heads::products(&leaky_relu(&sums, slope)?, vector, heads)
        })?;
        scores.then(tape, move |tape, scores| softmax(tape, graph, &scores, dropout))
    }

    /// The sums of each edge after the leaky ReLU, `[num_edges, heads * width]`, and the attention. One collective.
    pub(super) fn sums_and_attention<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        ends: ScoredEnds,
        dropout: f64,
    ) -> Begun<'a, (Var, Var)> {
        let (heads, slope, vector) = (self.heads, self.negative_slope, self.vector);
        let sums = self.on_edges(tape, graph, ends, move |sums, _| leaky_relu(&sums, slope))?;
        sums.then(tape, move |tape, sums| {
            let scores =
                tape.segment("attention-scores", &[&sums], &[vector], move |x, vector| {
                    heads::products(&x[0], &vector[0], heads)
                })?;
            let attention = softmax(tape, graph, &scores, dropout)?;
            Ok((sums, attention))
        })
    }

    /// Applies a function to each edge's sum and the attention vector.
    fn on_edges<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        ends: ScoredEnds,
        then: impl Fn(Tensor, &Tensor) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Begun<'a, Var> {
        let ScoredEnds { src, dst } = ends;
        let rows = graph.edge_inputs().ok_or_else(|| {
            Error::config(
                "edge features",
                "the layer takes features of edges, but the graph has none",
            )
            .with_hint("name them with ‹keys.edge_features=KEY›, or give the graph an EdgeSource")
        })?;
        let edge = Some(tape.input(&rows.features));
        let parameters: Vec<_> = [self.weight, self.vector].into_iter().chain(self.bias).collect();
        let inputs = Propagation { src, dst, edge, parameters: &parameters };
        tape.begin_apply_edges(graph, inputs, move |e: &EdgeBatch<'_>| {
            let features = e.edge.f_to_kind(e.src.kind())?;
            let sums = e.src.f_add(e.dst)?.f_add(&features.f_mm(&e.parameters[0].f_tr()?)?)?;
            let sums = match e.parameters.get(2) {
                Some(bias) => sums.f_add(bias)?,
                None => sums,
            };
            then(sums, &e.parameters[1])
        })
    }
}

fn leaky_relu(sums: &Tensor, slope: f64) -> Result<Tensor> {
    Ok(sums.f_where_self(&sums.f_gt(0)?, &sums.f_mul_scalar(slope)?)?)
}

fn softmax<'a>(
    tape: &mut Tape<'a>,
    graph: &'a dyn Graph,
    scores: &Var,
    dropout: f64,
) -> Result<Var> {
    let attention = tape.edge_softmax(graph, scores)?;
    match graph.edge_inputs() {
        Some(rows) => tape.dropout_of_edges(&rows.ids, &attention, dropout),
        None => Ok(attention),
    }
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;

    #[test]
    fn the_slope_at_zero_is_that_of_negative_numbers() {
        let sums = Tensor::from_slice(&[-2.0_f64, 0.0, 3.0]).set_requires_grad(true);
        let y = leaky_relu(&sums, 0.5).unwrap();
        y.sum(Kind::Double).backward();
        assert_eq!(Vec::<f64>::try_from(&y.detach()).unwrap(), [-1.0, 0.0, 3.0]);
        assert_eq!(Vec::<f64>::try_from(sums.grad()).unwrap(), [0.5, 0.5, 1.0]);
    }
}
