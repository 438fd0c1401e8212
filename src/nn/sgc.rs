//! Simplified graph convolution: Wu et al., "Simplifying graph convolutional networks", ICML 2019.

use super::conv::Model;
use super::linear::{Linear, Network};
use super::model_config::Sizes;
use crate::error::{Error, Result};
use crate::tape::{Aggregation, Graph, ParameterBuilder, Reduce, Tape, Var};

/// `dgl.nn.SGConv`: a linear layer on (D^-1/2 A D^-1/2)^k X, D being the in-degrees, at least 1. State-dict keys:
/// `convs.0.fc.weight` `[out, in]` and `convs.0.fc.bias`.
///
/// The propagated features are constant, so they are computed once, before training; a step needs no rows of other ranks.
pub struct Sgc {
    fc: Linear,
    hops: usize,
}

impl Sgc {
    /// Makes the model with k = `hops`.
    ///
    /// # Errors
    /// If there is no hop.
    pub fn new(parameters: &mut ParameterBuilder, sizes: Sizes, hops: usize) -> Result<Self> {
        if hops == 0 {
            return Err(Error::config("--hops", "at least one step of propagation is needed"));
        }
        let Sizes { in_feats, out_feats, .. } = sizes;
        let fc = parameters.scope("convs.0.fc", |p| Linear::new(p, in_feats, out_feats));
        Ok(Sgc { fc, hops })
    }
}

impl Model for Sgc {
    fn precompute<'a>(&self, tape: &mut Tape<'a>, graph: &'a dyn Graph, x: Var) -> Result<Var> {
        let inverse_root = |d: &tch::Tensor| Ok(d.f_clamp_min(1)?.f_rsqrt()?);
        let scale = tape.degree_scale(graph.in_degrees(), x.kind(), inverse_root);
        let mut x = x;
        for hop in 0..self.hops {
            tape.enter_layer(hop);
            let messages = tape.scale_rows(&x, &scale)?;
            x = tape.aggregate(
                graph,
                messages,
                Aggregation::new(Reduce::Sum).scaled(Some(scale.clone())),
            )?;
        }
        Ok(x)
    }

    /// No graph: `x` is what [`precompute`](Model::precompute) gave.
    fn forward<'a>(&self, tape: &mut Tape<'a>, _: &[&'a dyn Graph], x: Var) -> Result<Var> {
        tape.enter_layer(0);
        self.fc.forward(tape, x)
    }
}
