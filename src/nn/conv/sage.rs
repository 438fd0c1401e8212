//! GraphSAGE: Hamilton, Ying and Leskovec, "Inductive representation learning on large graphs", NeurIPS 2017.

use serde::{Deserialize, Serialize};

use super::layer::{Conv, ConvInput, aggregates_first, ends_coincide};
use crate::engine::tape::{
    Aggregation, Begun, Init, Parameter, ParameterBuilder, Reduce, Tape, Var, Weight,
};
use crate::nn::describe::{Describe, Facts, Place, StackLayer};
use crate::nn::model_spec::{EdgeWeights, ModelOption, ModelSpec, OptionValues};
use crate::words::choice::{Choice, choices};
use crate::words::error::Result;

choices! {
    /// How neighbours are combined, with DGL's names.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum SageAggregator {
        /// The mean of the neighbours, and the node's own row with separate weights
        @default Mean = "mean",
        /// The mean of the neighbours and the own row
        Gcn = "gcn",
        /// The maximum of a learned map of the neighbours
        Pool = "pool",
    }
}

/// Configuration of a [`SageConv`].
#[derive(Debug, Clone, Copy)]
pub struct SageConvConfig {
    /// Width of the input.
    pub in_feats: i64,
    /// Width of the output.
    pub out_feats: i64,
    /// How neighbours are combined.
    pub aggregator: SageAggregator,
    /// Whether messages are multiplied by edge weights; not with the pool aggregator.
    pub edge_weights: bool,
}

/// `dgl.nn.SAGEConv`. With N(v) the in-edges of v (parallel edges count each) and w their weights, or 1:
///
/// * mean: `y_v = W_self x_v + b + W_neigh mean_{u in N(v)} w_uv x_u`
/// * gcn: `y_v = W_neigh (x_v + sum_{u in N(v)} w_uv x_u) / (|N(v)| + 1) + b`
/// * pool: `y_v = W_self x_v + b + W_neigh max_{u in N(v)} relu(W_pool x_u + b_pool)`
///
/// Mean and maximum over an empty set are 0. State-dict keys: `fc_neigh.weight` `[out, in]`; mean and pool: `fc_self.weight`
/// `[out, in]`, `fc_self.bias`; gcn: `bias`; pool: `fc_pool.weight` `[in, in]`, `fc_pool.bias`.
///
/// ```
/// use sar::nn::{SageAggregator, SageConv, SageConvConfig};
/// use sar::testing::{TestGraph, assert_near, layer_output};
///
/// // 0 -> 1, 0 -> 2, 1 -> 2 and 2 -> 3 on two ranks.
/// let graph = TestGraph::of(4, &[[0, 1], [0, 2], [1, 2], [2, 3]], &[2]);
/// let features: [&[f64]; 4] = [&[1.0], &[2.0], &[3.0], &[4.0]];
/// let aggregator = SageAggregator::Mean;
/// let config = SageConvConfig { in_feats: 1, out_feats: 1, aggregator, edge_weights: false };
/// let values: [(&str, &[f64]); 2] = [("fc_self.weight", &[1.0]), ("fc_neigh.weight", &[10.0])];
/// let rows = layer_output(&graph, &features, &values, |p| SageConv::new(p, config))?;
/// assert_near(&rows, &[1.0, 12.0, 18.0, 34.0]);
/// # Ok::<(), sar::Error>(())
/// ```
#[derive(Clone)]
pub struct SageConv {
    config: SageConvConfig,
    neigh: Weight,
    own: Option<Weight>,
    bias: Parameter,
    pool: Option<Pool>,
}

/// The map of sources that the pool aggregator takes the maximum of.
#[derive(Clone)]
struct Pool {
    weight: Weight,
    bias: Parameter,
}

impl SageConv {
    /// Creates the layer with the initial distributions of DGL or PyTorch Geometric.
    pub fn new(parameters: &mut ParameterBuilder, config: SageConvConfig) -> Self {
        let SageConvConfig { in_feats, out_feats, aggregator, .. } = config;
        let xavier = Init::XavierUniform { gain: 2f64.sqrt() };
        let weight = parameters.either(xavier, Init::linear(in_feats));
        // DGL leaves biases as nn.Linear initialises them.
        let bias_init = Init::linear(in_feats);
        let pool = (aggregator == SageAggregator::Pool).then(|| {
            let weight = parameters.add("fc_pool.weight", &[in_feats, in_feats], weight);
            let bias = parameters.add("fc_pool.bias", &[in_feats], bias_init);
            Pool { weight: Weight::OutIn(weight), bias }
        });
        let neigh =
            Weight::OutIn(parameters.add("fc_neigh.weight", &[out_feats, in_feats], weight));
        let (own, bias) = match aggregator {
            SageAggregator::Gcn => {
                let bias = parameters.either(Init::Zeros, bias_init);
                (None, parameters.add("bias", &[out_feats], bias))
            }
            SageAggregator::Mean | SageAggregator::Pool => {
                let own = parameters.add("fc_self.weight", &[out_feats, in_feats], weight);
                let bias = parameters.add("fc_self.bias", &[out_feats], bias_init);
                (Some(Weight::OutIn(own)), bias)
            }
        };
        SageConv { config, neigh, own, bias, pool }
    }

    fn own_term(&self, tape: &mut Tape<'_>, x: &Var) -> Result<Var> {
        match &self.own {
            Some(own) => tape.linear(x, own, Some(self.bias), None),
            None => {
                unreachable!("only the gcn aggregator has no own weight, and it does not need one")
            }
        }
    }

    fn mean<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Begun<'a, Var> {
        let ConvInput { graph, src, dst, .. } = input;
        let mean = Aggregation::new(Reduce::Mean).weighted(self.config.edge_weights);
        if aggregates_first(graph, &src, self.config.in_feats, self.config.out_feats) {
            let layer = self.clone();
            return tape.begin_aggregate(graph, src, mean)?.then(tape, move |tape, neighbours| {
                let own = layer.own_term(tape, &dst)?;
                drop(dst);
                tape.linear(&neighbours, &layer.neigh, None, Some(own))
            });
        }
        let messages = tape.linear(&src, &self.neigh, None, None)?;
        let own = self.own_term(tape, &dst)?;
        drop((src, dst));
        tape.begin_aggregate(graph, messages, mean.onto(own))
    }

    fn gcn<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Begun<'a, Var> {
        let ConvInput { graph, src, dst, .. } = input;
        let share = |degrees: &tch::Tensor| Ok(degrees.f_add_scalar(1)?.f_reciprocal()?);
        let scale = tape.degree_scale(graph.in_degrees(), src.kind(), share);
        let first = aggregates_first(graph, &src, self.config.in_feats, self.config.out_feats);
        let (src, dst) = if first {
            (src, dst)
        } else {
            let messages = tape.linear(&src, &self.neigh, None, None)?;
            let own = if ends_coincide(graph, &src, &dst) {
                tape.destinations(graph, &messages)?
            } else {
                tape.linear(&dst, &self.neigh, None, None)?
            };
            drop((src, dst));
            (messages, own)
        };
        let own = tape.scale_rows(&dst, &scale)?;
        drop(dst);
        let sum = Aggregation::new(Reduce::Sum).weighted(self.config.edge_weights);
        let sum = sum.scaled(Some(scale)).onto(own);
        if first {
            let (weight, bias) = (self.neigh.clone(), Some(self.bias));
            tape.begin_aggregate(graph, src, sum)?
                .then(tape, move |tape, mean| tape.linear(&mean, &weight, bias, None))
        } else {
            tape.begin_aggregate(graph, src, sum.bias(Some(self.bias)))
        }
    }

    fn pool<'a>(&self, pool: &Pool, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Begun<'a, Var> {
        let ConvInput { graph, src, dst, .. } = input;
        let messages = tape.linear(&src, &pool.weight, Some(pool.bias), None)?;
        drop(src);
        let messages = tape.relu(messages)?;
        let max = Aggregation::new(Reduce::Max).weighted(self.config.edge_weights);
        let layer = self.clone();
        tape.begin_aggregate(graph, messages, max)?.then(tape, move |tape, neighbours| {
            let own = layer.own_term(tape, &dst)?;
            tape.linear(&neighbours, &layer.neigh, None, Some(own))
        })
    }
}

impl Conv for SageConv {
    fn begin<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Begun<'a, Var> {
        match (self.config.aggregator, &self.pool) {
            (SageAggregator::Gcn, _) => self.gcn(tape, input),
            (_, Some(pool)) => self.pool(pool, tape, input),
            (_, None) => self.mean(tape, input),
        }
    }
}

/// Options of a stack of [`SageConv`]s.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SageOptions {
    /// How neighbours are combined.
    pub aggregator: SageAggregator,
    /// Whether messages are multiplied by edge weights.
    pub edge_weights: bool,
}

impl Describe for SageConv {
    type Options = SageOptions;

    const SPEC: ModelSpec = ModelSpec {
        options: &[ModelOption {
            flag: "aggregator",
            key: "aggregator",
            help: "How neighbours are combined",
            value_name: "HOW",
            values: OptionValues::Words(SageAggregator::WORDS),
        }],
        edge_weights: EdgeWeights::Multiply,
        output_key: "convs.{last}.fc_neigh.weight",
        ..ModelSpec::stack("sage", "GraphSAGE (DGL's SAGEConv)")
    };

    fn facts(options: &SageOptions) -> Facts {
        let sums = options.aggregator != SageAggregator::Pool;
        Facts { edge_weights: options.edge_weights, sums, ..Facts::default() }
    }
}

impl StackLayer for SageConv {
    fn make(
        options: &SageOptions,
        parameters: &mut ParameterBuilder,
        place: Place,
    ) -> Result<Self> {
        let SageOptions { aggregator, edge_weights } = *options;
        let Place { in_feats, out_feats, .. } = place;
        let config = SageConvConfig { in_feats, out_feats, aggregator, edge_weights };
        Ok(SageConv::new(parameters, config))
    }
}
