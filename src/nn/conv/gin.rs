//! Graph isomorphism network: Xu, Hu, Leskovec and Jegelka, "How powerful are graph neural networks?", ICLR 2019.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::layer::{Conv, ConvInput};
use crate::engine::tape::{
    Aggregation, Begun, Init, Parameter, ParameterBuilder, Reduce, Tape, Var,
};
use crate::nn::describe::{Describe, Facts, Place, StackLayer};
use crate::nn::linear::{Linear, Network};
use crate::nn::model_spec::{EdgeWeights, ModelOption, ModelSpec, OptionValues};
use crate::words::error::Result;

/// Configuration of a [`GinConv`].
#[derive(Debug, Clone, Copy)]
pub struct GinConvConfig {
    /// How neighbours are combined.
    pub reduce: Reduce,
    /// Whether the weight of a node's own row is learned.
    pub learn_eps: bool,
    /// Whether messages of a sum are multiplied by edge weights.
    pub edge_weights: bool,
}

/// `dgl.nn.GINConv`: `y_v = f((1 + eps) x_v + reduce_{u in N(v)} w_uv x_u)` with any inner network f. State-dict keys:
/// the keys of f, prefixed with `apply_func.`, and `eps` `[1]` if it is learned (otherwise it is 0).
///
/// ```
/// use sar::engine::tape::Reduce;
/// use sar::nn::{GinConv, GinConvConfig, Linear};
/// use sar::testing::{TestGraph, assert_near, layer_output};
///
/// // 0 -> 1, 0 -> 2, 1 -> 2 and 2 -> 3 on two ranks.
/// let graph = TestGraph::of(4, &[[0, 1], [0, 2], [1, 2], [2, 3]], &[2]);
/// let features: [&[f64]; 4] = [&[1.0], &[2.0], &[3.0], &[4.0]];
/// let config = GinConvConfig { reduce: Reduce::Sum, learn_eps: false, edge_weights: false };
/// let values: [(&str, &[f64]); 2] = [("apply_func.weight", &[2.0]), ("apply_func.bias", &[1.0])];
/// let rows = layer_output(&graph, &features, &values, |p| {
///     GinConv::new(p, |p| Linear::new(p, 1, 1), config)
/// })?;
/// assert_near(&rows, &[3.0, 7.0, 13.0, 15.0]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct GinConv {
    apply: Rc<dyn Network>,
    eps: Option<Parameter>,
    config: GinConvConfig,
}

impl GinConv {
    /// Creates the layer around the network that `apply` creates.
    pub fn new<N: Network + 'static>(
        parameters: &mut ParameterBuilder,
        apply: impl FnOnce(&mut ParameterBuilder) -> N,
        config: GinConvConfig,
    ) -> Self {
        let eps = config.learn_eps.then(|| parameters.add("eps", &[1], Init::Zeros));
        let apply = Rc::new(parameters.scope("apply_func", apply));
        GinConv { apply, eps, config }
    }
}

impl Conv for GinConv {
    fn begin<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Begun<'a, Var> {
        let ConvInput { graph, src, dst, .. } = input;
        let own = match self.eps {
            Some(eps) => tape.segment("own", &[&dst], &[eps], |x, eps| {
                Ok(x[0].f_mul(&eps[0].f_add_scalar(1)?)?)
            })?,
            None => dst,
        };
        let GinConvConfig { reduce, edge_weights, .. } = self.config;
        let reduction = Aggregation::new(reduce).weighted(edge_weights);
        let sum = match reduce {
            Reduce::Sum | Reduce::Mean => tape.begin_aggregate(graph, src, reduction.onto(own))?,
            Reduce::Max | Reduce::Min => tape.begin_aggregate(graph, src, reduction)?.then(
                tape,
                move |tape, neighbours| {
                    tape.segment("sum", &[&own, &neighbours], &[], |x, _| Ok(x[0].f_add(&x[1])?))
                },
            )?,
        };
        let apply = self.apply.clone();
        sum.then(tape, move |tape, sum| apply.forward(tape, sum))
    }
}

/// Options of a stack of [`GinConv`]s with a linear map inside.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct GinOptions {
    /// Whether the weight of a node's own row is learned.
    pub learn_eps: bool,
    /// Whether messages are multiplied by edge weights.
    pub edge_weights: bool,
}

impl Describe for GinConv {
    type Options = GinOptions;

    const SPEC: ModelSpec = ModelSpec {
        options: &[ModelOption {
            flag: "learn-eps",
            key: "learn_eps",
            help: "Learn the weight of a node's own row",
            value_name: "",
            values: OptionValues::Switch,
        }],
        edge_weights: EdgeWeights::Multiply,
        output_key: "convs.{last}.apply_func.weight",
        ..ModelSpec::stack("gin", "Graph isomorphism network with a linear map (GINConv)")
    };

    fn facts(options: &GinOptions) -> Facts {
        Facts { edge_weights: options.edge_weights, sums: true, ..Facts::default() }
    }
}

impl StackLayer for GinConv {
    fn make(options: &GinOptions, parameters: &mut ParameterBuilder, place: Place) -> Result<Self> {
        let GinOptions { learn_eps, edge_weights } = *options;
        let linear = |p: &mut ParameterBuilder| Linear::new(p, place.in_feats, place.out_feats);
        let config = GinConvConfig { reduce: Reduce::Sum, learn_eps, edge_weights };
        Ok(GinConv::new(parameters, linear, config))
    }
}
