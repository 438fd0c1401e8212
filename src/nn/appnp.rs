//! Personalised propagation of predictions: Gasteiger, Bojchevski and Günnemann, "Predict then propagate: graph neural
//! networks meet personalized PageRank", ICLR 2019.

use super::conv::Model;
use super::linear::{Linear, Network};
use super::model_config::{ModelConfig, Sizes};
use crate::error::{Error, Result};
use crate::tape::{Aggregation, Graph, ParameterBuilder, Reduce, Tape, Var};

/// A multilayer perceptron and, behind it, `dgl.nn.APPNPConv` without edge dropout: with h⁰ the perceptron's output and
/// Â = D_in^-1/2 A D_out^-1/2 (degrees at least 1), hⁱ⁺¹ = (1 - alpha) Â hⁱ + alpha h⁰.
///
/// ReLU, then dropout, lie between the layers of the perceptron. The i-th one's state-dict keys are `layers.i.weight`
/// `[out, in]` and `layers.i.bias`, as in DGL's example.
pub struct Appnp {
    layers: Vec<Linear>,
    steps: usize,
    alpha: f64,
    dropout: f64,
}

impl Appnp {
    /// Makes the model with `steps` steps of propagation; of `config` it takes layers, hidden width and dropout.
    ///
    /// # Errors
    /// If there is no layer, no hidden width, no step, or alpha is not in [0, 1].
    pub fn new(
        parameters: &mut ParameterBuilder,
        config: &ModelConfig,
        sizes: Sizes,
        (steps, alpha): (usize, f64),
    ) -> Result<Self> {
        config.check()?;
        if steps == 0 {
            return Err(Error::config("--hops", "at least one step of propagation is needed"));
        }
        if !(0.0..=1.0).contains(&alpha) {
            return Err(Error::config("--alpha", format!("must be from 0 to 1, not {alpha}")));
        }
        let mut widths = vec![config.hidden; config.layers + 1];
        widths[0] = sizes.in_feats;
        widths[config.layers] = sizes.out_feats;
        let layers = widths.windows(2).enumerate().map(|(i, width)| {
            parameters.scope(&format!("layers.{i}"), |p| Linear::new(p, width[0], width[1]))
        });
        Ok(Appnp { layers: layers.collect(), steps, alpha, dropout: config.dropout })
    }

    /// The perceptron; `graph` is the first step's.
    fn predict(&self, tape: &mut Tape<'_>, graph: &dyn Graph, x: Var) -> Result<Var> {
        let mut x = x;
        for (i, layer) in self.layers.iter().enumerate() {
            tape.enter_layer(i);
            if i > 0 {
                x = tape.relu(&x)?;
                x = tape.dropout(graph.source_ids(), &x, self.dropout)?;
            }
            x = layer.forward(tape, x)?;
        }
        Ok(x)
    }
}

impl Model for Appnp {
    /// One graph per step of propagation.
    fn forward<'a>(&self, tape: &mut Tape<'a>, graphs: &[&'a dyn Graph], x: Var) -> Result<Var> {
        if graphs.len() != self.steps {
            let problem = format!("{} graphs for {} steps", graphs.len(), self.steps);
            return Err(Error::Internal(problem));
        }
        let alpha = self.alpha;
        let mut prediction = self.predict(tape, graphs[0], x)?;
        let mut x = prediction.clone();
        for (step, graph) in graphs.iter().enumerate() {
            tape.enter_layer(self.layers.len() + step);
            let (kind, degrees) = (x.kind(), graph.out_degrees());
            let sources = tape.degree_scale(degrees, kind, |d| Ok(d.f_clamp_min(1)?.f_rsqrt()?));
            let destinations = tape.degree_scale(graph.in_degrees(), kind, move |d| {
                Ok(d.f_clamp_min(1)?.f_rsqrt()?.f_mul_scalar(1.0 - alpha)?)
            });
            let messages = tape.scale_rows(&x, &sources)?;
            prediction = tape.destinations(*graph, &prediction)?;
            let teleport = tape.segment("teleport", &[&prediction], &[], move |x, _| {
                Ok(x[0].f_mul_scalar(alpha)?)
            })?;
            let sum = Aggregation::new(Reduce::Sum).scaled(Some(destinations)).onto(teleport);
            x = tape.aggregate(*graph, messages, sum)?;
        }
        Ok(x)
    }
}
