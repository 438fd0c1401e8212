//! Graph attention with dynamic scores: Brody, Alon and Yahav, "How attentive are graph attention networks?", ICLR 2022.

use super::edge_attention::{EdgeScore, ScoredEnds};
use super::heads::{self, AttentionConfig, Heads, Residual};
use super::layer::{Conv, ConvInput};
use crate::engine::tape::{
    Attend, Begun, Init, Parameter, ParameterBuilder, Scoring, Tape, Var, Weight,
};
use crate::nn::describe::{Describe, Facts, Place, StackLayer};
use crate::nn::model_spec::{EdgeFeatureUse, ModelSpec};
use crate::words::error::Result;

/// `dgl.nn.GATv2Conv`, without activation and without shared weights. Per head:
///
/// `y_v = sum_{u in N(v)} softmax_u(<attn, leaky_relu(z_u + z'_v)>) z_u`, z = W_src x + b_src, z' = W_dst x + b_dst
///
/// With features f_e of edges, the sum in the scores is `z_u + z'_v + W_edge f_e` (PyTorch Geometric's `GATv2Conv(edge_dim=...)`),
/// and the layer takes two collectives instead of one.
///
/// A node without in-edges gets 0. State-dict keys: `attn` `[1, heads, out]`, `fc_src.weight` and `fc_dst.weight`
/// `[heads * out, in]`, `fc_src.bias` and `fc_dst.bias` `[heads * out]`; with features of edges `fc_edge.weight` `[heads * out,
/// edge_feats]`; with a residual of another width `res_fc.weight` and `res_fc.bias`.
///
/// ```
/// use sar::nn::{AttentionConfig, Gatv2Conv, HeadMerge};
/// use sar::testing::{TestGraph, assert_near, layer_output};
///
/// // 0 -> 1, 0 -> 2, 1 -> 2 and 2 -> 3 on two ranks.
/// let graph = TestGraph::of(4, &[[0, 1], [0, 2], [1, 2], [2, 3]], &[2]);
/// let features: [&[f64]; 4] = [&[1.0], &[2.0], &[3.0], &[4.0]];
/// let config = AttentionConfig {
///     in_feats: 1,
///     out_feats: 1,
///     heads: 1,
///     feat_drop: 0.0,
///     attn_drop: 0.0,
///     negative_slope: 0.2,
///     residual: false,
///     merge: HeadMerge::Concat,
/// };
/// let values: [(&str, &[f64]); 3] = [("fc_src.weight", &[1.0]), ("fc_dst.weight", &[1.0]), ("attn", &[1.0])];
/// let rows = layer_output(&graph, &features, &values, |p| Gatv2Conv::new(p, config, 0))?;
/// assert_near(&rows, &[0.0, 1.0, 1.731059, 3.0]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct Gatv2Conv {
    config: AttentionConfig,
    attn: Parameter,
    src: (Weight, Parameter),
    dst: (Weight, Parameter),
    /// Scores with edge features, if the layer takes them.
    edge_score: Option<EdgeScore>,
    residual: Residual,
}

impl Gatv2Conv {
    /// Creates the layer with the initial distributions of DGL or PyTorch Geometric. Scores use edge features of width
    /// `edge_feats`; 0 for none.
    pub fn new(
        parameters: &mut ParameterBuilder,
        config: AttentionConfig,
        edge_feats: i64,
    ) -> Self {
        let columns = config.columns();
        let normal = heads::initial(parameters);
        let attn = parameters.add("attn", &[1, config.heads as i64, config.out_feats], normal);
        let bias = parameters.either(Init::Zeros, Init::linear(config.in_feats));
        let mut linear = |name: &str| {
            parameters.scope(name, |parameters| {
                let weight = parameters.add("weight", &[columns, config.in_feats], normal);
                (Weight::OutIn(weight), parameters.add("bias", &[columns], bias))
            })
        };
        let (src, dst) = (linear("fc_src"), linear("fc_dst"));
        let edge_score = (edge_feats > 0).then(|| {
            let sizes = [config.heads as i64, config.out_feats];
            EdgeScore::new(parameters, "fc_edge", edge_feats, attn, sizes)
                .negative_slope(config.negative_slope)
        });
        let residual = Residual::new(parameters, &config);
        Gatv2Conv { config, attn, src, dst, edge_score, residual }
    }
}

impl Conv for Gatv2Conv {
    fn begin<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Begun<'a, Var> {
        let ConvInput { graph, src, dst, .. } = input;
        let (config, residual) = (self.config, self.residual.clone());
        let (src, dst) = config.drop_features(tape, graph, src, dst)?;
        let messages = tape.linear(&src, &self.src.0, Some(self.src.1), None)?;
        drop(src);
        let own = tape.linear(&dst, &self.dst.0, Some(self.dst.1), None)?;
        let dst = config.residual.then_some(dst);
        if let Some(score) = &self.edge_score {
            let ends = ScoredEnds { src: messages.clone(), dst: own };
            let attention = score.attention(tape, graph, ends, config.attn_drop)?;
            let sum = attention.and_then(tape, move |tape, attention| {
                tape.begin_weighted_sum(graph, messages, attention)
            });
            return sum?.then(tape, move |tape, y| residual.finish(&config, tape, y, dst));
        }
        let attend = Attend {
            heads: config.heads,
            scoring: Scoring::Dynamic { dst: own, vector: self.attn },
            negative_slope: config.negative_slope,
            dropout: config.attn_drop,
        };
        tape.begin_attend(graph, messages, attend)?
            .then(tape, move |tape, y| residual.finish(&config, tape, y, dst))
    }
}

impl Describe for Gatv2Conv {
    type Options = Heads;

    const SPEC: ModelSpec = ModelSpec {
        output_key: "convs.{last}.attn",
        edge_features: EdgeFeatureUse::Optional,
        ..heads::spec("gatv2", "Graph attention with dynamic scores (GATv2Conv)")
    };

    fn facts(options: &Heads) -> Facts {
        Facts { heads: options.heads as i64, ..Facts::default() }
    }
}

impl StackLayer for Gatv2Conv {
    fn make(options: &Heads, parameters: &mut ParameterBuilder, place: Place) -> Result<Self> {
        Ok(Gatv2Conv::new(parameters, options.config(place), place.edge_feats))
    }
}
