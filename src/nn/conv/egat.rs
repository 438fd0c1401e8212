//! Graph attention with edge features: Kamiński et al., "Rossmann-Toolbox", Briefings in Bioinformatics, 2022.

use super::edge_attention::{EdgeScore, ScoredEnds};
use super::heads::{self, AttentionConfig, Heads, Residual};
use super::layer::{Conv, ConvInput};
use crate::engine::tape::{Begun, Graph, Init, ParameterBuilder, Tape, Var, Weight};
use crate::nn::describe::{Describe, Facts, Place, StackLayer};
use crate::nn::model_spec::{EdgeFeatureUse, ModelSpec};
use crate::words::error::Result;

/// Configuration of an [`EgatConv`].
#[derive(Debug, Clone, Copy)]
pub struct EgatConvConfig {
    /// Settings that all attention layers have. (DGL's layer has a `negative_slope` of 0.01, no dropout, no residual,
    /// and leaves the heads side by side.)
    pub attention: AttentionConfig,
    /// Width of the edge features.
    pub in_edge_feats: i64,
    /// Width of the edge output of one head.
    pub out_edge_feats: i64,
}

/// `dgl.nn.EGATConv`, with two collectives. Per head, for an edge e = u -> v with features f_e:
///
/// `f'_e = leaky_relu(W_ni x_u + W_nj x_v + W_fij f_e + b)`, `y_v = sum_{u in N(v)} softmax_u(<attn, f'_e>) W_src x_u`
///
/// A node without in-edges gets 0. State-dict keys: `fc_node_src.weight` `[heads * out, in]`, `fc_ni.weight` and `fc_nj.weight`
/// `[heads * out_edge, in]`, `fc_fij.weight` `[heads * out_edge, in_edge]`, `attn` `[1, heads, out_edge]`, `bias` `[heads *
/// out_edge]`; with a residual of another width `res_fc.weight` and `res_fc.bias`.
///
/// ```
/// use sar::nn::{AttentionConfig, EgatConv, EgatConvConfig, HeadMerge};
/// use sar::testing::{TestGraph, assert_near, layer_output};
///
/// // 0 -> 1, 0 -> 2, 1 -> 2 and 2 -> 3 on two ranks; weights are features of the edges.
/// let edges = vec![(0, 1, 1.0), (0, 2, 3.0), (1, 2, 1.0), (2, 3, 1.0)];
/// let graph = TestGraph { edges, types: vec![], boundaries: vec![0, 2, 4] };
/// let features: [&[f64]; 4] = [&[1.0], &[2.0], &[3.0], &[4.0]];
/// let attention = AttentionConfig {
///     in_feats: 1,
///     out_feats: 1,
///     heads: 1,
///     feat_drop: 0.0,
///     attn_drop: 0.0,
///     negative_slope: 0.01,
///     residual: false,
///     merge: HeadMerge::Concat,
/// };
/// let config = EgatConvConfig { attention, in_edge_feats: 1, out_edge_feats: 1 };
/// let values: [(&str, &[f64]); 5] = [
///     ("fc_node_src.weight", &[1.0]),
///     ("fc_ni.weight", &[1.0]),
///     ("fc_nj.weight", &[1.0]),
///     ("fc_fij.weight", &[1.0]),
///     ("attn", &[1.0]),
/// ];
/// let rows = layer_output(&graph, &features, &values, |p| EgatConv::new(p, config))?;
/// // The edges into node 2 have scores of 1 + 3 + 3 and 2 + 3 + 1.
/// assert_near(&rows, &[0.0, 1.0, 1.268941, 3.0]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct EgatConv {
    config: AttentionConfig,
    messages: Weight,
    src: Weight,
    dst: Weight,
    score: EdgeScore,
    residual: Residual,
}

/// The results of an [`EgatConv`].
pub struct EgatOutput {
    /// Rows of the destinations, `[num_destinations, heads * out]`, or `out` if the mean of the heads is taken.
    pub nodes: Var,
    /// Rows of the edges, `[num_edges, heads * out_edge]`, in the order of [`Graph::shards`].
    pub edges: Var,
}

impl EgatConv {
    /// Creates the layer with the initial distributions of DGL or PyTorch Geometric.
    pub fn new(parameters: &mut ParameterBuilder, config: EgatConvConfig) -> Self {
        let EgatConvConfig { attention, in_edge_feats, out_edge_feats } = config;
        let normal = heads::initial(parameters);
        let heads = attention.heads as i64;
        let mut map = |name: &str, rows: i64| {
            let shape = [rows, attention.in_feats];
            parameters.scope(name, |p| Weight::OutIn(p.add("weight", &shape, normal)))
        };
        let messages = map("fc_node_src", attention.columns());
        let [src, dst] = ["fc_ni", "fc_nj"].map(|name| map(name, heads * out_edge_feats));
        let attn = parameters.add("attn", &[1, heads, out_edge_feats], normal);
        let bias = parameters.add("bias", &[heads * out_edge_feats], Init::Zeros);
        let sizes = [heads, out_edge_feats];
        let score = EdgeScore::new(parameters, "fc_fij", in_edge_feats, attn, sizes)
            .negative_slope(attention.negative_slope)
            .bias(bias);
        let residual = Residual::new(parameters, &attention);
        EgatConv { config: attention, messages, src, dst, score, residual }
    }

    /// Rows of nodes and edges, like DGL's layer.
    ///
    /// # Errors
    /// If the graph has no features of edges, or the results cannot be kept.
    pub fn forward_edges<'a>(
        &self,
        tape: &mut Tape<'a>,
        input: ConvInput<'a>,
    ) -> Result<EgatOutput> {
        let score = |tape: &mut Tape<'a>, graph, ends| {
            self.score.sums_and_attention(tape, graph, ends, self.config.attn_drop)
        };
        let (nodes, edges) = self.run(tape, input, score)?.finish(tape)?;
        Ok(EgatOutput { nodes, edges })
    }

    /// Rows of the destinations, and the second result of `score`.
    fn run<'a, E: 'a>(
        &self,
        tape: &mut Tape<'a>,
        input: ConvInput<'a>,
        score: impl FnOnce(&mut Tape<'a>, &'a dyn Graph, ScoredEnds) -> Begun<'a, (E, Var)>,
    ) -> Begun<'a, (Var, E)> {
        let ConvInput { graph, src, dst, .. } = input;
        let (config, residual) = (self.config, self.residual.clone());
        let (src, dst) = config.drop_features(tape, graph, src, dst)?;
        let ends = ScoredEnds {
            src: tape.linear(&src, &self.src, None, None)?,
            dst: tape.linear(&dst, &self.dst, None, None)?,
        };
        let dst = config.residual.then_some(dst);
        let weight = self.messages.clone();
        score(tape, graph, ends)?.and_then(tape, move |tape, (edges, attention)| {
            let messages = tape.linear(&src, &weight, None, None)?;
            drop(src);
            let sum = tape.begin_weighted_sum(graph, messages, attention)?;
            sum.then(tape, move |tape, y| Ok((residual.finish(&config, tape, y, dst)?, edges)))
        })
    }
}

impl Conv for EgatConv {
    fn begin<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Begun<'a, Var> {
        let score = |tape: &mut Tape<'a>, graph, ends| {
            let attention = self.score.attention(tape, graph, ends, self.config.attn_drop)?;
            attention.then(tape, |_, attention| Ok(((), attention)))
        };
        self.run(tape, input, score)?.then(tape, |_, (nodes, ())| Ok(nodes))
    }
}

impl Describe for EgatConv {
    type Options = Heads;

    const SPEC: ModelSpec = ModelSpec {
        output_key: "convs.{last}.attn",
        edge_features: EdgeFeatureUse::Required,
        ..heads::spec("egat", "Graph attention with edge features (EGATConv)")
    };

    fn facts(options: &Heads) -> Facts {
        Facts { heads: options.heads as i64, ..Facts::default() }
    }
}

/// In a stack, a head's edge output is as wide as its node output. Every layer takes the graph's edge features rather
/// than the edge output of the layer before, so layers may run on different edges.
impl StackLayer for EgatConv {
    fn make(options: &Heads, parameters: &mut ParameterBuilder, place: Place) -> Result<Self> {
        let attention = AttentionConfig { negative_slope: 0.01, ..options.config(place) };
        let (in_edge_feats, out_edge_feats) = (place.edge_feats, place.out_feats);
        Ok(EgatConv::new(parameters, EgatConvConfig { attention, in_edge_feats, out_edge_feats }))
    }
}
