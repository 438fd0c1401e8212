//! Personalised propagation of predictions: Gasteiger, Bojchevski and Günnemann, "Predict then propagate: graph neural
//! networks meet personalized PageRank", ICLR 2019.

use serde::{Deserialize, Serialize};

use crate::engine::tape::{Graph, ParameterBuilder, Tape, Var};
use crate::nn::conv::layer::Model;
use crate::nn::conv::symmetric_norm::SymmetricNorm;
use crate::nn::describe::{Describe, Facts, Graphs, HiddenLayers, Sizes};
use crate::nn::linear::{Linear, Network};
use crate::nn::model_spec::{EdgeWeights, ModelOption, ModelSpec, OptionValues};
use crate::words::error::{Error, Result};

/// Configuration of [`Appnp`]'s propagation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AppnpConfig {
    /// Number of steps of propagation.
    pub hops: usize,
    /// Share of the prediction in each step, from 0 to 1.
    pub alpha: f64,
    /// Whether the entries of Â are the graph's edge weights.
    pub edge_weights: bool,
}

/// A multilayer perceptron followed by `dgl.nn.APPNPConv` without edge dropout: with h⁰ the perceptron's output and Â =
/// D_in^-1/2 A D_out^-1/2 (degrees at least 1), hⁱ⁺¹ = (1 - alpha) Â hⁱ + alpha h⁰. With edge weights, the entries of Â
/// are the [normalised](crate::engine::tape::GraphShardManager::normalise_edge_weights) weights.
///
/// ReLU and then dropout follow each hidden layer of the perceptron. The i-th layer's state-dict keys are `layers.i.weight`
/// `[out, in]` and `layers.i.bias`, as in DGL's example.
///
/// ```
/// use sar::nn::{Appnp, AppnpConfig, HiddenLayers, Sizes};
/// use sar::testing::{TestGraph, assert_near, model_output};
///
/// // 0 -> 1, 0 -> 2, 1 -> 2 and 2 -> 3 on two ranks.
/// let graph = TestGraph::of(4, &[[0, 1], [0, 2], [1, 2], [2, 3]], &[2]);
/// let features: [&[f64]; 4] = [&[1.0], &[2.0], &[3.0], &[4.0]];
/// let perceptron = HiddenLayers { layers: 1, width: 1, dropout: 0.0 };
/// let sizes = Sizes { in_feats: 1, out_feats: 1, num_rels: 1, edge_feats: 0 };
/// let config = AppnpConfig { hops: 2, alpha: 0.5, edge_weights: false };
/// let values: [(&str, &[f64]); 1] = [("layers.0.weight", &[1.0])];
/// let rows = model_output(&graph, 2, &features, &values, |p| {
///     Appnp::new(p, perceptron, sizes, config)
/// })?;
/// assert_near(&rows, &[0.5, 1.176777, 2.103553, 3.228553]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct Appnp {
    layers: Vec<Linear>,
    config: AppnpConfig,
    dropout: f64,
}

impl Appnp {
    /// Creates the model with a perceptron of these layers.
    ///
    /// # Errors
    /// If the number of layers or of steps is 0, the hidden width is 0, or alpha is not in [0, 1].
    pub fn new(
        parameters: &mut ParameterBuilder,
        perceptron: HiddenLayers,
        sizes: Sizes,
        config: AppnpConfig,
    ) -> Result<Self> {
        perceptron.check()?;
        let AppnpConfig { hops, alpha, .. } = config;
        if hops == 0 {
            return Err(Error::config("model.hops", "at least one step of propagation is needed"));
        }
        if !(0.0..=1.0).contains(&alpha) {
            return Err(Error::config("model.alpha", format!("must be from 0 to 1, not {alpha}")));
        }
        let widths = perceptron.widths(sizes.in_feats, sizes.out_feats);
        let layers = widths.windows(2).enumerate().map(|(i, width)| {
            parameters.scope(&format!("layers.{i}"), |p| Linear::new(p, width[0], width[1]))
        });
        Ok(Appnp { layers: layers.collect(), config, dropout: perceptron.dropout })
    }

    /// The perceptron's output; `graph` is the graph of the first step.
    fn predict(&self, tape: &mut Tape<'_>, graph: &dyn Graph, x: Var) -> Result<Var> {
        let mut x = x;
        for (i, layer) in self.layers.iter().enumerate() {
            tape.enter_layer(i);
            if i > 0 {
                x = tape.relu_dropout(graph.source_ids(), x, self.dropout)?;
                if tape.ends_after(i) {
                    break;
                }
            }
            x = layer.forward(tape, x)?;
        }
        Ok(x)
    }
}

impl Model for Appnp {
    /// Takes one graph per step of propagation.
    fn forward<'a>(&self, tape: &mut Tape<'a>, graphs: &[&'a dyn Graph], x: Var) -> Result<Var> {
        let AppnpConfig { hops, alpha, edge_weights } = self.config;
        if graphs.len() != hops {
            let problem = format!("{} graphs for {hops} steps", graphs.len());
            return Err(Error::config("graphs", problem));
        }
        let mut prediction = self.predict(tape, graphs[0], x)?;
        if (1..self.layers.len()).any(|layer| tape.ends_after(layer)) {
            return Ok(prediction);
        }
        let norm = SymmetricNorm { edge_weights, factor: 1.0 - alpha, out_degrees: true };
        let mut x = prediction.clone();
        for (step, graph) in graphs.iter().enumerate() {
            tape.enter_layer(self.layers.len() + step);
            let messages = norm.messages(tape, *graph, x)?;
            prediction = tape.destinations(*graph, &prediction)?;
            let teleport = tape.segment("teleport", &[&prediction], &[], move |x, _| {
                Ok(x[0].f_mul_scalar(alpha)?)
            })?;
            x = norm.sums(tape, *graph, messages, Some(teleport))?;
        }
        Ok(x)
    }
}

impl Default for AppnpConfig {
    fn default() -> Self {
        AppnpConfig { hops: 10, alpha: 0.1, edge_weights: false }
    }
}

impl Describe for Appnp {
    type Options = AppnpConfig;

    const SPEC: ModelSpec = ModelSpec {
        options: &[
            ModelOption::HOPS,
            ModelOption {
                flag: "alpha",
                key: "alpha",
                help: "Teleport probability",
                value_name: "SHARE",
                values: OptionValues::Share,
            },
        ],
        edge_weights: EdgeWeights::Normalised,
        output_key: "layers.{last}.weight",
        relations: false,
        ..ModelSpec::stack("appnp", "A perceptron whose predictions are propagated (APPNPConv)")
    };

    fn facts(options: &AppnpConfig) -> Facts {
        Facts {
            edge_weights: options.edge_weights,
            out_degrees: true,
            sums: true,
            graphs: Graphs::Total(options.hops),
            ..Facts::default()
        }
    }
}
