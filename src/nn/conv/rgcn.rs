//! Relational graph convolution: Schlichtkrull et al., "Modeling relational data with graph convolutional networks",
//! ESWC 2018.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use tch::Tensor;

use super::layer::{Conv, ConvInput};
use crate::engine::tape::{
    Computation, DerivedWeight, Init, Parameter, ParameterBuilder, Tape, Var, Weight,
};
use crate::error::{Error, Result};
use crate::nn::describe::{Describe, Place, StackLayer};
use crate::nn::model_spec::{ModelOption, ModelSpec, OptionValues};

/// How the weights of the relations are kept small, under DGL's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regularizer {
    /// Full weights: a matrix per relation.
    #[default]
    None,
    /// Each weight is a sum of this many matrices, which all relations share, with its own coefficients.
    Basis(i64),
    /// Each weight is block diagonal, with this many blocks.
    Bdd(i64),
}

/// Configuration of an [`RgcnConv`].
#[derive(Debug, Clone, Copy)]
pub struct RgcnConvConfig {
    /// Width of the input.
    pub in_feats: i64,
    /// Width of the output.
    pub out_feats: i64,
    /// Number of edge types.
    pub num_rels: usize,
    /// How the weights of the relations are kept small.
    pub regularizer: Regularizer,
}

/// `dgl.nn.RelGraphConv` with self loop and bias, without norm: `y_v = sum_{e: u -> v} W_type(e) x_u + b + W_loop x_v`.
///
/// State-dict keys: `linear_r.W` (`[rels, in, out]`; basis: `[bases, in, out]` and `linear_r.coeff` `[rels, bases]`; block
/// diagonal: `[rels, blocks * in/blocks * out/blocks]`), `h_bias` `[out]`, `loop_weight` `[in, out]`.
///
/// ```
/// use sar::nn::{Regularizer, RgcnConv, RgcnConvConfig};
/// use sar::testing::{TestGraph, assert_near, layer_output};
///
/// // 0 -> 1, 0 -> 2, 1 -> 2 and 2 -> 3 on two ranks.
/// let graph = TestGraph::of(4, &[[0, 1], [0, 2], [1, 2], [2, 3]], &[2]);
/// let features: [&[f64]; 4] = [&[1.0], &[2.0], &[3.0], &[4.0]];
/// let graph = TestGraph { types: vec![0, 1, 0, 1], ..graph };
/// let regularizer = Regularizer::None;
/// let config = RgcnConvConfig { in_feats: 1, out_feats: 1, num_rels: 2, regularizer };
/// let values: [(&str, &[f64]); 2] = [("linear_r.W", &[1.0, 10.0]), ("loop_weight", &[100.0])];
/// let layer = |p: &mut _| RgcnConv::new(p, config).expect("without blocks");
/// let rows = layer_output(&graph, &features, &values, layer)?;
/// assert_near(&rows, &[100.0, 201.0, 312.0, 430.0]);
/// # Ok::<(), sar::Error>(())
/// ```
pub struct RgcnConv {
    relations: Weight,
    num_rels: usize,
    bias: Parameter,
    own: Weight,
}

impl RgcnConv {
    /// Creates the layer with DGL's initial distributions.
    ///
    /// # Errors
    /// If a width is not a multiple of the number of blocks.
    pub fn new(parameters: &mut ParameterBuilder, config: RgcnConvConfig) -> Result<Self> {
        let RgcnConvConfig { in_feats, out_feats, num_rels, regularizer } = config;
        let bias = parameters.add("h_bias", &[out_feats], Init::Zeros);
        let xavier = Init::XavierUniform { gain: 2f64.sqrt() };
        let own = Weight::InOut(parameters.add("loop_weight", &[in_feats, out_feats], xavier));
        let relations = relation_weights(parameters, config, regularizer, num_rels as i64)?;
        Ok(RgcnConv { relations: Weight::Derived(Rc::new(relations)), num_rels, bias, own })
    }
}

/// The relations' weights, one below the other, `[rels * in, out]`.
fn relation_weights(
    parameters: &mut ParameterBuilder,
    RgcnConvConfig { in_feats, out_feats, .. }: RgcnConvConfig,
    regularizer: Regularizer,
    rels: i64,
) -> Result<DerivedWeight> {
    let uniform = |fan_in: i64| Init::Uniform { bound: 1.0 / (fan_in.max(1) as f64).sqrt() };
    Ok(match regularizer {
        Regularizer::None => {
            let weight = [rels, in_feats, out_feats];
            let weight = parameters.add("linear_r.W", &weight, uniform(in_feats));
            DerivedWeight::new(vec![weight], move |w| {
                Ok(w[0].f_reshape([rels * in_feats, out_feats])?)
            })
        }
        Regularizer::Basis(bases) => {
            let weight = [bases, in_feats, out_feats];
            let weight = parameters.add("linear_r.W", &weight, uniform(in_feats));
            let xavier = Init::XavierUniform { gain: 2f64.sqrt() };
            let coeff = parameters.add("linear_r.coeff", &[rels, bases], xavier);
            DerivedWeight::new(vec![weight, coeff], move |w| {
                let bases = w[0].f_reshape([bases, in_feats * out_feats])?;
                Ok(w[1].f_mm(&bases)?.f_reshape([rels * in_feats, out_feats])?)
            })
        }
        Regularizer::Bdd(blocks) => {
            if blocks < 1 || in_feats % blocks != 0 || out_feats % blocks != 0 {
                let problem = format!(
                    "{blocks} blocks do not divide a weight of {in_feats} by {out_feats} evenly"
                );
                return Err(Error::config("model.blocks", problem));
            }
            let (height, width) = (in_feats / blocks, out_feats / blocks);
            let shape = [rels, blocks * height * width];
            let weight = parameters.add("linear_r.W", &shape, uniform(height));
            DerivedWeight::new(vec![weight], move |w| {
                let parts = w[0].f_reshape([rels, blocks, height, width])?;
                let mut rows = Vec::new();
                for block in 0..blocks {
                    // [rels, height, out]: zeros on both sides of the block.
                    let part = parts.f_select(1, block)?;
                    let sides = [block * width, (blocks - 1 - block) * width];
                    rows.push(part.f_constant_pad_nd(sides)?);
                }
                Ok(Tensor::f_cat(&rows, 1)?.f_reshape([rels * in_feats, out_feats])?)
            })
        }
    })
}

impl Conv for RgcnConv {
    fn forward<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Result<Var> {
        self.begin(tape, input)?.finish(tape)
    }

    fn begin<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Result<Computation<'a, Var>> {
        let ConvInput { graph, src, dst, .. } = input;
        let (weight, own_weight) = (self.relations.clone(), self.own.clone());
        let bias = Some(self.bias);
        let sums = tape.begin_aggregate_typed(graph, src, self.num_rels)?;
        sums.then(tape, move |tape, neighbours| {
            let own = tape.linear(&dst, &own_weight, bias, None)?;
            tape.linear(&neighbours, &weight, None, Some(own))
        })
    }
}

/// Options of a stack of [`RgcnConv`]s.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RgcnOptions {
    /// How the weights of relations are kept small.
    pub regularizer: Regularizer,
}

impl Describe for RgcnConv {
    type Options = RgcnOptions;

    const SPEC: ModelSpec = ModelSpec {
        options: &[
            ModelOption {
                flag: "bases",
                key: "regularizer.basis",
                help: "Make the weights sums of N bases instead of a matrix per relation",
                value_name: "N",
                values: OptionValues::Whole { least: 1, most: 1 << 20 },
            },
            ModelOption {
                flag: "blocks",
                key: "regularizer.bdd",
                help: "Make the weights block-diagonal with N blocks",
                value_name: "N",
                values: OptionValues::Whole { least: 1, most: 1 << 20 },
            },
        ],
        output_key: "convs.{last}.h_bias",
        edge_types: true,
        relations: false,
        ..ModelSpec::stack("rgcn", "Relational graph convolution (RelGraphConv)")
    };
}

impl StackLayer for RgcnConv {
    fn make(
        options: &RgcnOptions,
        parameters: &mut ParameterBuilder,
        place: Place,
    ) -> Result<Self> {
        let Place { in_feats, out_feats, num_rels, .. } = place;
        let regularizer = options.regularizer;
        RgcnConv::new(parameters, RgcnConvConfig { in_feats, out_feats, num_rels, regularizer })
    }
}
