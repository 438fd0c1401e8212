//! Simplified graph convolution: Wu et al., "Simplifying graph convolutional networks", ICML 2019.

use super::model_config::Sizes;
use crate::engine::tape::{Aggregation, Graph, ParameterBuilder, Reduce, Tape, Var};
use crate::error::{Error, Result};
use crate::nn::conv::layer::Model;
use crate::nn::linear::{Linear, Network};

/// The propagation of features that SGC and SIGN do before training.
#[derive(Debug, Clone, Copy)]
pub(in crate::nn) struct Propagation {
    hops: usize,
    edge_weights: bool,
}

impl Propagation {
    pub(in crate::nn) fn new(hops: usize, edge_weights: bool) -> Result<Self> {
        if hops == 0 {
            return Err(Error::config("--hops", "at least one step of propagation is needed"));
        }
        Ok(Propagation { hops, edge_weights })
    }

    /// Passes ÂX, Â²X, ... to `each`. Â is D^-1/2 A D^-1/2, where D are the in-degrees, at least 1. With edge weights, those
    /// are its entries, [normalised](crate::engine::tape::GraphShardManager::normalise_edge_weights) beforehand.
    pub(in crate::nn) fn run<'a>(
        self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        x: Var,
        mut each: impl FnMut(&mut Tape<'a>, &Var) -> Result<()>,
    ) -> Result<()> {
        let inverse_root = |d: &tch::Tensor| Ok(d.f_clamp_min(1)?.f_rsqrt()?);
        let scale = tape.degree_scale(graph.in_degrees(), x.kind(), inverse_root);
        let mut x = x;
        for hop in 0..self.hops {
            tape.enter_layer(hop);
            let sum = Aggregation::new(Reduce::Sum);
            x = if self.edge_weights {
                tape.aggregate(graph, x, sum.weighted(true))?
            } else {
                let messages = tape.scale_rows(&x, &scale)?;
                drop(x);
                tape.aggregate(graph, messages, sum.scaled(Some(scale.clone())))?
            };
            each(tape, &x)?;
        }
        Ok(())
    }
}

/// `dgl.nn.SGConv`: a linear layer on Â^k X, where Â is D^-1/2 A D^-1/2, and D are the in-degrees, at least 1. With edge
/// weights the entries of Â are `w_uv / sqrt(sum of w_u. · sum of w_.v)`; the graph's weights must be
/// [normalised](crate::engine::tape::GraphShardManager::normalise_edge_weights) for it. State-dict keys: `convs.0.fc.weight`
/// `[out, in]` and `convs.0.fc.bias`.
///
/// The propagated features are constant, so they are computed once, before training; a step needs no rows of other ranks.
pub struct Sgc {
    fc: Linear,
    propagation: Propagation,
}

impl Sgc {
    /// Creates the model with k = `hops`.
    ///
    /// # Errors
    /// If `hops` is 0.
    pub fn new(
        parameters: &mut ParameterBuilder,
        sizes: Sizes,
        (hops, edge_weights): (usize, bool),
    ) -> Result<Self> {
        let propagation = Propagation::new(hops, edge_weights)?;
        let Sizes { in_feats, out_feats, .. } = sizes;
        let fc = parameters.scope("convs.0.fc", |p| Linear::new(p, in_feats, out_feats));
        Ok(Sgc { fc, propagation })
    }
}

impl Model for Sgc {
    fn precompute<'a>(&self, tape: &mut Tape<'a>, graph: &'a dyn Graph, x: Var) -> Result<Var> {
        let mut last = x.clone();
        self.propagation.run(tape, graph, x, |_, x| {
            last = x.clone();
            Ok(())
        })?;
        Ok(last)
    }

    /// Uses no graph: `x` is the result of [`precompute`](Model::precompute).
    fn forward<'a>(&self, tape: &mut Tape<'a>, _: &[&'a dyn Graph], x: Var) -> Result<Var> {
        tape.enter_layer(0);
        self.fc.forward(tape, x)
    }
}
