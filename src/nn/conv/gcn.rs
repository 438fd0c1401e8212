//! Graph convolution: Kipf and Welling, "Semi-supervised classification with graph convolutional networks", ICLR 2017.

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use super::layer::{Conv, ConvInput, aggregates_first, check_in_edges};
use crate::engine::spill::PointerTensor;
use crate::engine::tape::{
    Aggregation, Begun, Graph, Init, Parameter, ParameterBuilder, Reduce, Tape, Var, Weight,
};
use crate::nn::describe::{Describe, Facts, Place, StackLayer};
use crate::nn::model_spec::{EdgeWeights, ModelOption, ModelSpec, OptionValues};
use crate::words::choice::{Choice, choices};
use crate::words::error::Result;

choices! {
    /// How messages are normalised by degrees, under DGL's names.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Norm {
        /// Divided by √(out-degree of the source · in-degree)
        @default Both = "both",
        /// Divided by the out-degree of the source
        Left = "left",
        /// Divided by the in-degree: the mean
        Right = "right",
        /// Not normalised: the sum
        None = "none",
    }
}

/// Configuration of a [`GcnConv`].
#[derive(Debug, Clone, Copy)]
pub struct GcnConvConfig {
    /// Width of the input.
    pub in_feats: i64,
    /// Width of the output.
    pub out_feats: i64,
    /// How messages are normalised.
    pub norm: Norm,
    /// Whether messages are multiplied by edge weights.
    pub edge_weights: bool,
    /// Whether nodes without in-edges are accepted; their output is the bias. If not, they are an error, as in DGL.
    pub allow_zero_in_degree: bool,
}

/// `dgl.nn.GraphConv`: `y_v = sum_{u in N(v)} c_uv w_uv x_u W + b`, with c_uv from [`Norm`] (degrees count edges, not
/// weights, and are at least 1) and w_uv the edge weight. State-dict keys: `weight` `[in, out]`, `bias`.
///
/// ```
/// use sar::nn::{GcnConv, GcnConvConfig, Norm};
/// use sar::testing::{TestGraph, assert_near, layer_output};
///
/// // 0 -> 1, 0 -> 2, 1 -> 2 and 2 -> 3 on two ranks.
/// let graph = TestGraph::of(4, &[[0, 1], [0, 2], [1, 2], [2, 3]], &[2]);
/// let features: [&[f64]; 4] = [&[1.0], &[2.0], &[3.0], &[4.0]];
/// let config = GcnConvConfig {
///     in_feats: 1,
///     out_feats: 1,
///     norm: Norm::Both,
///     edge_weights: false,
///     allow_zero_in_degree: true,
/// };
/// let rows = layer_output(&graph, &features, &[("weight", &[1.0])], |p| GcnConv::new(p, config))?;
/// assert_near(&rows, &[0.0, 0.707107, 1.914214, 3.0]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct GcnConv {
    config: GcnConvConfig,
    weight: Weight,
    bias: Option<Parameter>,
}

impl GcnConv {
    /// Creates the layer with the initial distributions of DGL or PyTorch Geometric.
    pub fn new(parameters: &mut ParameterBuilder, config: GcnConvConfig) -> Self {
        let shape = [config.in_feats, config.out_feats];
        let weight = parameters.add("weight", &shape, Init::XavierUniform { gain: 1.0 });
        let bias = parameters.add("bias", &[config.out_feats], Init::Zeros);
        GcnConv { config, weight: Weight::InOut(weight), bias: Some(bias) }
    }

    /// Creates the layer with a weight that other layers share, and without a bias.
    pub(super) fn with_weight(weight: Weight, config: GcnConvConfig) -> Self {
        GcnConv { config, weight, bias: None }
    }

    /// Factors of the sources' rows and of the destinations' rows.
    fn scales(
        &self,
        tape: &Tape<'_>,
        graph: &dyn Graph,
        kind: Kind,
    ) -> (Option<PointerTensor>, Option<PointerTensor>) {
        let inverse = |d: &Tensor| Ok(d.f_clamp_min(1)?.f_reciprocal()?);
        let inverse_root = |d: &Tensor| Ok(d.f_clamp_min(1)?.f_rsqrt()?);
        let (sources, destinations) = (graph.out_degrees(), graph.in_degrees());
        match self.config.norm {
            Norm::Both => (
                Some(tape.degree_scale(sources, kind, inverse_root)),
                Some(tape.degree_scale(destinations, kind, inverse_root)),
            ),
            Norm::Left => (Some(tape.degree_scale(sources, kind, inverse)), None),
            Norm::Right => (None, Some(tape.degree_scale(destinations, kind, inverse))),
            Norm::None => (None, None),
        }
    }
}

impl Conv for GcnConv {
    /// Ignores the destinations' own features.
    fn begin<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Begun<'a, Var> {
        let ConvInput { graph, src: mut x, dst, .. } = input;
        drop(dst);
        if !self.config.allow_zero_in_degree {
            check_in_edges(graph, "the bias")?;
        }
        let first = aggregates_first(graph, &x, self.config.in_feats, self.config.out_feats);
        let (source, destination) = self.scales(tape, graph, x.kind());
        if !first {
            x = tape.linear(&x, &self.weight, None, None)?;
        }
        if let Some(scale) = source {
            x = tape.scale_rows(&x, &scale)?;
        }
        let sum = Aggregation::new(Reduce::Sum).weighted(self.config.edge_weights);
        let sum = sum.scaled(destination);
        if first {
            let (weight, bias) = (self.weight.clone(), self.bias);
            tape.begin_aggregate(graph, x, sum)?
                .then(tape, move |tape, neighbours| tape.linear(&neighbours, &weight, bias, None))
        } else {
            tape.begin_aggregate(graph, x, sum.bias(self.bias))
        }
    }
}

/// Options of a stack of [`GcnConv`]s.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct GcnOptions {
    /// How messages are normalised; `gcn_norm` in files, because `norm` is a field of
    /// [`ModelConfig`](crate::nn::ModelConfig).
    #[serde(rename = "gcn_norm")]
    pub norm: Norm,
    /// Whether messages are multiplied by edge weights.
    pub edge_weights: bool,
}

impl Describe for GcnConv {
    type Options = GcnOptions;

    const SPEC: ModelSpec = ModelSpec {
        options: &[ModelOption {
            flag: "gcn-norm",
            key: "gcn_norm",
            help: "How messages are normalised by degrees",
            value_name: "HOW",
            values: OptionValues::Words(Norm::WORDS),
        }],
        edge_weights: EdgeWeights::Multiply,
        output_key: "convs.{last}.weight",
        output_side: 1,
        needs_in_edges: true,
        ..ModelSpec::stack("gcn", "Graph convolution (GraphConv)")
    };

    fn facts(options: &GcnOptions) -> Facts {
        Facts {
            edge_weights: options.edge_weights,
            out_degrees: matches!(options.norm, Norm::Both | Norm::Left),
            sums: true,
            ..Facts::default()
        }
    }
}

impl StackLayer for GcnConv {
    fn make(options: &GcnOptions, parameters: &mut ParameterBuilder, place: Place) -> Result<Self> {
        let GcnOptions { norm, edge_weights } = *options;
        let Place { in_feats, out_feats, .. } = place;
        // The run notes nodes without in-edges once instead of failing.
        let allow_zero_in_degree = true;
        let config =
            GcnConvConfig { in_feats, out_feats, norm, edge_weights, allow_zero_in_degree };
        Ok(GcnConv::new(parameters, config))
    }
}
