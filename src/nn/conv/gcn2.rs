//! Graph convolution with initial residual and identity mapping (GCNII): Chen et al., "Simple and deep graph convolutional
//! networks", ICML 2020.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use tch::{Device, Tensor};

use super::layer::{Conv, ConvInput, check_in_edges};
use super::symmetric_norm::SymmetricNorm;
use crate::engine::tape::{DerivedWeight, Init, Parameter, ParameterBuilder, Tape, Var, Weight};
use crate::nn::describe::{Describe, Facts, Place, StackLayer};
use crate::nn::model_spec::{EdgeWeights, ModelOption, ModelSpec, OptionValues};
use crate::words::error::{Error, Result};

/// Configuration of a [`Gcn2Conv`].
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // Each is an argument of DGL's module.
pub struct Gcn2ConvConfig {
    /// Width of the input and of the output.
    pub in_feats: i64,
    /// Index of the layer in its stack, from 1.
    pub layer: usize,
    /// Share of the initial rows, from 0 to 1.
    pub alpha: f64,
    /// Strength lambda of the weights; layer l uses beta = ln(lambda / l + 1), which falls with l.
    pub lambda: f64,
    /// Whether one weight multiplies both the initial rows and the neighbours' sum.
    pub project_initial_features: bool,
    /// Whether nodes without in-edges are accepted. If not, they are an error, as in DGL.
    pub allow_zero_in_degree: bool,
    /// Whether the layer has a bias.
    pub bias: bool,
    /// Whether messages are multiplied by normalised edge weights.
    pub edge_weights: bool,
}

/// `dgl.nn.GCN2Conv`. With h = (1 - alpha) Â x and r = alpha x_0, where x_0 is the input of the first layer: `y = (1 -
/// beta) (h + r) + beta (h + r) W_1 + b`, or with a separate weight for the initial rows `y = (1 - beta) (h + r) + beta
/// (h W_1 + r W_2) + b`. Â is D^-1/2 A D^-1/2, D being the in-degrees, at least 1; with edge weights, the entries of Â
/// are the normalised weights. State-dict keys: `weight1` and, if there is one, `weight2` `[in, in]`, `bias` `[in]`.
///
/// ```
/// use sar::nn::{Gcn2Conv, Gcn2ConvConfig};
/// use sar::testing::{TestGraph, assert_near, layer_output};
///
/// // 0 -> 1, 0 -> 2, 1 -> 2 and 2 -> 3 on two ranks.
/// let graph = TestGraph::of(4, &[[0, 1], [0, 2], [1, 2], [2, 3]], &[2]);
/// let features: [&[f64]; 4] = [&[1.0], &[2.0], &[3.0], &[4.0]];
/// let config = Gcn2ConvConfig {
///     in_feats: 1,
///     layer: 2,
///     alpha: 0.5,
///     lambda: 1.0,
///     project_initial_features: true,
///     allow_zero_in_degree: true,
///     bias: true,
///     edge_weights: false,
/// };
/// let rows = layer_output(&graph, &features, &[("weight1", &[2.0])], |p| Gcn2Conv::new(p, config))?;
/// assert_near(&rows, &[0.702733, 2.108198, 3.598919, 4.301651]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct Gcn2Conv {
    config: Gcn2ConvConfig,
    weight: Weight,
    initial_weight: Option<Weight>,
    bias: Option<Parameter>,
}

impl Gcn2Conv {
    /// Creates the layer with the initial distributions of DGL or PyTorch Geometric.
    pub fn new(parameters: &mut ParameterBuilder, config: Gcn2ConvConfig) -> Self {
        let Gcn2ConvConfig { in_feats, layer, alpha, lambda, .. } = config;
        let beta = (lambda / layer.max(1) as f64 + 1.0).ln();
        // A square matrix of this gain has deviation 1.
        let normal = Init::XavierNormal { gain: (in_feats as f64).sqrt() };
        let init = parameters.either(normal, Init::Glorot);
        // (1 - beta) x + beta x W = x ((1 - beta) I + beta W).
        let mut mapping = |name: &str, factor: f64| {
            let weight = parameters.add(name, &[in_feats, in_feats], init);
            Weight::Derived(Rc::new(DerivedWeight::new(vec![weight], move |w| {
                let identity = Tensor::f_eye(in_feats, (w[0].kind(), Device::Cpu))?;
                let identity = identity.f_mul_scalar((1.0 - beta) * factor)?;
                Ok(w[0].f_mul_scalar(beta * factor)?.f_add(&identity)?)
            })))
        };
        let weight = mapping("weight1", 1.0);
        let separate = !config.project_initial_features;
        let initial_weight = separate.then(|| mapping("weight2", alpha));
        let bias = config.bias.then(|| parameters.add("bias", &[in_feats], Init::Zeros));
        Gcn2Conv { config, weight, initial_weight, bias }
    }
}

impl Conv for Gcn2Conv {
    /// Uses the destinations' initial features and ignores their own.
    fn forward<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Result<Var> {
        let Gcn2ConvConfig { alpha, edge_weights, allow_zero_in_degree, .. } = self.config;
        let ConvInput { graph, src, dst, initial, .. } = input;
        drop(dst);
        let Some(initial) = initial else {
            return Err(Error::config("initial", "the layer needs the input of the first layer"));
        };
        if !allow_zero_in_degree {
            check_in_edges(graph, "their share of the initial rows")?;
        }
        let norm = SymmetricNorm { edge_weights, factor: 1.0 - alpha, out_degrees: false };
        match &self.initial_weight {
            None => {
                let share = tape.segment("initial", &[&initial], &[], move |x, _| {
                    Ok(x[0].f_mul_scalar(alpha)?)
                })?;
                drop(initial);
                let sum = norm.propagate(tape, graph, src, Some(share))?;
                tape.linear(&sum, &self.weight, self.bias, None)
            }
            Some(initial_weight) => {
                let neighbours = norm.propagate(tape, graph, src, None)?;
                let share = tape.linear(&initial, initial_weight, self.bias, None)?;
                tape.linear(&neighbours, &self.weight, None, Some(share))
            }
        }
    }
}

/// Options of a stack of [`Gcn2Conv`]s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gcn2Options {
    /// Share of the initial rows in each layer.
    pub alpha: f64,
    /// Strength of the weights.
    pub lambda: f64,
    /// Whether initial rows have a separate weight (the opposite of DGL's `project_initial_features`).
    pub initial_weight: bool,
    /// Whether messages are multiplied by normalised edge weights.
    pub edge_weights: bool,
}

impl Default for Gcn2Options {
    fn default() -> Self {
        Gcn2Options { alpha: 0.1, lambda: 1.0, initial_weight: false, edge_weights: false }
    }
}

impl Describe for Gcn2Conv {
    type Options = Gcn2Options;

    const SPEC: ModelSpec = ModelSpec {
        options: &[
            ModelOption {
                flag: "alpha",
                key: "alpha",
                help: "Weight of the initial residual",
                value_name: "SHARE",
                values: OptionValues::Share,
            },
            ModelOption {
                flag: "lambda",
                key: "lambda",
                help: "Lambda of GCN2Conv: layer l uses beta = log(lambda / l + 1)",
                value_name: "L",
                values: OptionValues::Positive,
            },
            ModelOption {
                flag: "initial-weight",
                key: "initial_weight",
                help: "Give the initial rows a weight of their own",
                value_name: "",
                values: OptionValues::Switch,
            },
        ],
        edge_weights: EdgeWeights::Normalised,
        output_key: "lins.1.weight",
        relations: false,
        initial_rows: true,
        ..ModelSpec::stack("gcn2", "Graph convolution with initial residual (GCN2Conv)")
    };

    fn facts(options: &Gcn2Options) -> Facts {
        Facts {
            edge_weights: options.edge_weights,
            in_degrees: true,
            sums: true,
            ..Facts::default()
        }
    }
}

impl StackLayer for Gcn2Conv {
    fn make(
        options: &Gcn2Options,
        parameters: &mut ParameterBuilder,
        place: Place,
    ) -> Result<Self> {
        let Gcn2Options { alpha, lambda, initial_weight, edge_weights } = *options;
        let config = Gcn2ConvConfig {
            in_feats: place.in_feats,
            layer: place.number,
            alpha,
            lambda,
            project_initial_features: !initial_weight,
            // The run notes nodes without in-edges once instead of failing.
            allow_zero_in_degree: true,
            bias: true,
            edge_weights,
        };
        Ok(Gcn2Conv::new(parameters, config))
    }
}
