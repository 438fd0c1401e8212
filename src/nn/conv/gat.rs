//! Graph attention: Veličković et al., "Graph attention networks", ICLR 2018.

use super::heads::{self, AttentionConfig, Heads, Residual};
use super::layer::{Conv, ConvInput, ends_coincide};
use crate::engine::tape::{Attend, Begun, Parameter, ParameterBuilder, Scoring, Tape, Var, Weight};
use crate::nn::describe::{Describe, Facts, Place, StackLayer};
use crate::nn::model_spec::ModelSpec;
use crate::words::error::Result;

/// `dgl.nn.GATConv`, without activation. With z = W x, per head:
///
/// `y_v = sum_{u in N(v)} softmax_u(leaky_relu(<attn_l, z_u> + <attn_r, z_v>)) z_u + b`
///
/// A node without in-edges gets only the bias. State-dict keys: `fc.weight` `[heads * out, in]`, `attn_l` and `attn_r` `[1,
/// heads, out]`, `bias` `[heads * out]`; with a residual of another width, `res_fc.weight` and `res_fc.bias` take the place of
/// `bias`.
///
/// ```
/// use sar::nn::{AttentionConfig, GatConv, HeadMerge};
/// use sar::testing::{TestGraph, assert_near, layer_output};
///
/// // 0 -> 1, 0 -> 2, 1 -> 2 and 2 -> 3 on two ranks.
/// let graph = TestGraph::of(4, &[[0, 1], [0, 2], [1, 2], [2, 3]], &[2]);
/// let features: [&[f64]; 4] = [&[1.0], &[2.0], &[3.0], &[4.0]];
/// let config = AttentionConfig {
///     in_feats: 1,
///     out_feats: 1,
///     heads: 2,
///     feat_drop: 0.0,
///     attn_drop: 0.0,
///     negative_slope: 0.2,
///     residual: false,
///     merge: HeadMerge::Concat,
/// };
/// let values: [(&str, &[f64]); 2] = [("fc.weight", &[1.0, 10.0]), ("attn_l", &[1.0, 1.0])];
/// let rows = layer_output(&graph, &features, &values, |p| GatConv::new(p, config))?;
/// assert_near(&rows, &[0.0, 0.0, 1.0, 10.0, 1.731059, 19.999546, 3.0, 30.0]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct GatConv {
    config: AttentionConfig,
    fc: Weight,
    attn_l: Parameter,
    attn_r: Parameter,
    residual: Residual,
}

impl GatConv {
    /// Creates the layer with the initial distributions of DGL or PyTorch Geometric.
    pub fn new(parameters: &mut ParameterBuilder, config: AttentionConfig) -> Self {
        let columns = config.columns();
        let normal = heads::initial(parameters);
        let heads = [1, config.heads as i64, config.out_feats];
        let attn_l = parameters.add("attn_l", &heads, normal);
        let attn_r = parameters.add("attn_r", &heads, normal);
        let fc = Weight::OutIn(parameters.add("fc.weight", &[columns, config.in_feats], normal));
        let residual = Residual::new(parameters, &config).or_bias(parameters, columns);
        GatConv { config, fc, attn_l, attn_r, residual }
    }
}

impl Conv for GatConv {
    fn begin<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Begun<'a, Var> {
        let ConvInput { graph, src, dst, .. } = input;
        let config = self.config;
        let coincide = ends_coincide(graph, &src, &dst);
        let (src, dst) = config.drop_features(tape, graph, src, dst)?;
        let messages = tape.linear(&src, &self.fc, None, None)?;
        drop(src);
        let own = if coincide {
            tape.destinations(graph, &messages)?
        } else {
            tape.linear(&dst, &self.fc, None, None)?
        };
        let dst = config.residual.then_some(dst);
        let scoring = Scoring::Additive {
            src: config.products(tape, &messages, self.attn_l)?,
            dst: config.products(tape, &own, self.attn_r)?,
        };
        drop(own);
        let attend = Attend {
            heads: config.heads,
            scoring,
            negative_slope: config.negative_slope,
            dropout: config.attn_drop,
        };
        let residual = self.residual.clone();
        tape.begin_attend(graph, messages, attend)?
            .then(tape, move |tape, y| residual.finish(&config, tape, y, dst))
    }
}

impl Describe for GatConv {
    type Options = Heads;

    const SPEC: ModelSpec = ModelSpec {
        output_key: "convs.{last}.attn_l",
        ..heads::spec("gat", "Graph attention (GATConv)")
    };

    fn facts(options: &Heads) -> Facts {
        Facts { heads: options.heads as i64, ..Facts::default() }
    }
}

impl StackLayer for GatConv {
    fn make(options: &Heads, parameters: &mut ParameterBuilder, place: Place) -> Result<Self> {
        Ok(GatConv::new(parameters, options.config(place)))
    }
}
