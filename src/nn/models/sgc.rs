//! Simplified graph convolution: Wu et al., "Simplifying graph convolutional networks", ICML 2019.

use crate::engine::spill::Pointer;
use crate::engine::tape::{Graph, ParameterBuilder, Tape, Var};
use crate::nn::conv::hops::Hops;
use crate::nn::conv::layer::{Model, kept_rows};
use crate::nn::describe::{Describe, Facts, Graphs, HiddenLayers, Sizes};
use crate::nn::linear::{Linear, Network};
use crate::nn::model_spec::{EdgeWeights, ModelOption, ModelSpec};
use crate::words::error::Result;

/// Options of an [`Sgc`].
pub type SgcOptions = Hops<2>;

/// `dgl.nn.SGConv`: a linear layer on Â^k X. Â is D^-1/2 A D^-1/2, D being the in-degrees, at least 1; with edge
/// weights, its entries are `w_uv / sqrt(sum of w_u. · sum of w_.v)`, for which the graph's weights must be
/// [normalised](crate::engine::tape::GraphShardManager::normalise_edge_weights). State-dict keys: `convs.0.fc.weight`
/// `[out, in]` and `convs.0.fc.bias`.
///
/// The propagated features are constant: they are computed once, before training. A step needs no rows of other ranks.
///
/// ```
/// use sar::nn::{Sgc, SgcOptions, Sizes};
/// use sar::testing::{TestGraph, assert_near, model_output};
///
/// // 0 -> 1, 0 -> 2, 1 -> 2 and 2 -> 3 on two ranks.
/// let graph = TestGraph::of(4, &[[0, 1], [0, 2], [1, 2], [2, 3]], &[2]);
/// let features: [&[f64]; 4] = [&[1.0], &[2.0], &[3.0], &[4.0]];
/// let sizes = Sizes { in_feats: 1, out_feats: 1, num_rels: 1, edge_feats: 0 };
/// let options = SgcOptions { hops: 2, edge_weights: false };
/// let values: [(&str, &[f64]); 1] = [("convs.0.fc.weight", &[1.0])];
/// let rows = model_output(&graph, 0, &features, &values, |p| Sgc::new(p, sizes, options))?;
/// assert_near(&rows, &[0.0, 0.0, 0.707107, 1.5]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct Sgc {
    fc: Linear,
    propagation: SgcOptions,
}

impl Sgc {
    /// Creates the model.
    ///
    /// # Errors
    /// If `hops` is 0.
    pub fn new(
        parameters: &mut ParameterBuilder,
        sizes: Sizes,
        options: SgcOptions,
    ) -> Result<Self> {
        let propagation = options.checked()?;
        let Sizes { in_feats, out_feats, .. } = sizes;
        let fc = parameters.scope("convs.0.fc", |p| Linear::glorot(p, 1.0, in_feats, out_feats));
        Ok(Sgc { fc, propagation })
    }

    /// Like [`new`](Sgc::new), with the arguments of other models; SGC has no hidden layers.
    pub(in crate::nn) fn like_others(
        parameters: &mut ParameterBuilder,
        _: HiddenLayers,
        sizes: Sizes,
        options: SgcOptions,
    ) -> Result<Self> {
        Sgc::new(parameters, sizes, options)
    }
}

impl Model for Sgc {
    fn precompute<'a>(
        &self,
        tape: &mut Tape<'a>,
        graph: &'a dyn Graph,
        x: Var,
        rows: Option<&Pointer<Vec<u32>>>,
    ) -> Result<Var> {
        let mut last = x.clone();
        self.propagation.run(tape, graph, x, |_, x| {
            last = x.clone();
            Ok(())
        })?;
        kept_rows(tape, &last, rows)
    }

    /// Uses no graph, because `x` is the result of [`precompute`](Model::precompute).
    fn forward<'a>(&self, tape: &mut Tape<'a>, _: &[&'a dyn Graph], x: Var) -> Result<Var> {
        tape.enter_layer(0);
        self.fc.forward(tape, x)
    }
}

impl Describe for Sgc {
    type Options = SgcOptions;

    const SPEC: ModelSpec = ModelSpec {
        options: &[ModelOption::HOPS],
        edge_weights: EdgeWeights::Normalised,
        output_key: "convs.0.fc.weight",
        relations: false,
        needs_in_edges: true,
        hidden_layers: false,
        ..ModelSpec::stack("sgc", "A linear layer on features that are propagated once (SGConv)")
    };

    fn facts(options: &SgcOptions) -> Facts {
        Facts {
            edge_weights: options.edge_weights,
            graphs: Graphs::Total(0),
            precomputed: Some(1),
            steps: options.hops,
            ..Facts::default()
        }
    }
}
