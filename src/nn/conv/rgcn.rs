//! Relational graph convolution: Schlichtkrull et al., "Modeling relational data with graph convolutional networks",
//! ESWC 2018.

use std::ops::Range;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use tch::Tensor;

use super::layer::{Conv, ConvInput};
use crate::engine::tape::{
    Begun, DerivedWeight, Init, Parameter, ParameterBuilder, Tape, Var, Weight,
};
use crate::nn::describe::{Describe, Place, StackLayer};
use crate::nn::model_spec::{ModelOption, ModelSpec, OptionValues};
use crate::words::error::{Error, Result};

/// DGL's initial values of weights before a ReLU.
pub(super) const RELU_XAVIER: Init = Init::XavierUniform { gain: std::f64::consts::SQRT_2 };

/// How the weights of the relations are kept small, under DGL's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regularizer {
    /// Full weights: a matrix per relation.
    #[default]
    None,
    /// Each weight is a sum of this many matrices, shared by all relations, with coefficients per relation.
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
    /// Creates the layer with the initial distributions of DGL or PyTorch Geometric.
    ///
    /// # Errors
    /// If a width is not a multiple of the number of blocks.
    pub fn new(parameters: &mut ParameterBuilder, config: RgcnConvConfig) -> Result<Self> {
        let RgcnConvConfig { out_feats, num_rels, .. } = config;
        let bias = parameters.add("h_bias", &[out_feats], Init::Zeros);
        let own = own_weight(parameters, config);
        let weights = RelationWeights::new(
            parameters,
            config,
            WeightNames {
                weight: "linear_r.W",
                bases: "linear_r.W",
                coefficients: "linear_r.coeff",
                init: Init::linear,
            },
        )?;
        Ok(RgcnConv { relations: weights.stacked(), num_rels, bias, own })
    }
}

/// Adds the weight that multiplies the nodes' own rows.
pub(super) fn own_weight(parameters: &mut ParameterBuilder, config: RgcnConvConfig) -> Weight {
    let shape = [config.in_feats, config.out_feats];
    let init = parameters.either(RELU_XAVIER, Init::Glorot);
    Weight::InOut(parameters.add("loop_weight", &shape, init))
}

/// Weights of all relations, as functions of shared parameters.
pub(super) struct RelationWeights {
    config: RgcnConvConfig,
    parameters: Vec<Parameter>,
}

/// Names of the parameters of [`RelationWeights`], and their initial values.
pub(super) struct WeightNames<'n> {
    /// Name of the weights; unused with bases.
    pub(super) weight: &'n str,
    /// Name of the bases.
    pub(super) bases: &'n str,
    /// Name of the relations' coefficients of the bases.
    pub(super) coefficients: &'n str,
    /// DGL's initial distribution for an input width.
    pub(super) init: fn(i64) -> Init,
}

impl RelationWeights {
    /// Adds the parameters.
    pub(super) fn new(
        parameters: &mut ParameterBuilder,
        config: RgcnConvConfig,
        WeightNames { weight, bases, coefficients, init }: WeightNames<'_>,
    ) -> Result<Self> {
        let RgcnConvConfig { in_feats, out_feats, num_rels, regularizer } = config;
        let rels = num_rels as i64;
        let parameters = match regularizer {
            Regularizer::None => {
                let init = parameters.either(init(in_feats), Init::Glorot);
                vec![parameters.add(weight, &[rels, in_feats, out_feats], init)]
            }
            Regularizer::Basis(count) => {
                let of_bases = parameters.either(init(in_feats), Init::Glorot);
                let of_relations = parameters.either(RELU_XAVIER, Init::Glorot);
                vec![
                    parameters.add(bases, &[count, in_feats, out_feats], of_bases),
                    parameters.add(coefficients, &[rels, count], of_relations),
                ]
            }
            Regularizer::Bdd(blocks) => {
                if blocks < 1 || in_feats % blocks != 0 || out_feats % blocks != 0 {
                    let problem = format!(
                        "{blocks} blocks do not divide a weight of {in_feats} by {out_feats} evenly"
                    );
                    return Err(Error::config("model.blocks", problem));
                }
                let (height, width) = (in_feats / blocks, out_feats / blocks);
                // Glorot's bound for one block, because PyTorch Geometric keeps blocks as separate matrices.
                let glorot = Init::Uniform { bound: (6.0 / (height + width) as f64).sqrt() };
                let init = parameters.either(init(height), glorot);
                vec![parameters.add(weight, &[rels, blocks * height * width], init)]
            }
        };
        Ok(RelationWeights { config, parameters })
    }

    /// Weights of all relations, stacked: `[rels * in, out]`.
    fn stacked(&self) -> Weight {
        self.of(0..self.config.num_rels as i64)
    }

    /// The weight of one relation, `[in, out]`.
    pub(super) fn of_relation(&self, relation: usize) -> Weight {
        self.of(relation as i64..relation as i64 + 1)
    }

    fn of(&self, relations: Range<i64>) -> Weight {
        let config = self.config;
        let code = move |values: &[Tensor]| config.weights(values, relations.clone());
        Weight::Derived(Rc::new(DerivedWeight::new(self.parameters.clone(), code)))
    }
}

impl RgcnConvConfig {
    /// Weights of a range of relations, stacked, computed from the parameters' values.
    fn weights(self, values: &[Tensor], relations: Range<i64>) -> Result<Tensor> {
        let RgcnConvConfig { in_feats, out_feats, regularizer, .. } = self;
        let rels = relations.end - relations.start;
        let some = |of: &Tensor| of.f_narrow(0, relations.start, rels);
        let shape = [rels * in_feats, out_feats];
        match regularizer {
            Regularizer::None => Ok(some(&values[0])?.f_reshape(shape)?),
            Regularizer::Basis(bases) => {
                let bases = values[0].f_reshape([bases, in_feats * out_feats])?;
                Ok(some(&values[1])?.f_mm(&bases)?.f_reshape(shape)?)
            }
            Regularizer::Bdd(blocks) => {
                let (height, width) = (in_feats / blocks, out_feats / blocks);
                let parts = some(&values[0])?.f_reshape([rels, blocks, height, width])?;
                let mut rows = Vec::new();
                for block in 0..blocks {
                    // [rels, height, out]: zeros on both sides of the block.
                    let part = parts.f_select(1, block)?;
                    let sides = [block * width, (blocks - 1 - block) * width];
                    rows.push(part.f_constant_pad_nd(sides)?);
                }
                Ok(Tensor::f_cat(&rows, 1)?.f_reshape(shape)?)
            }
        }
    }
}

impl Conv for RgcnConv {
    fn begin<'a>(&self, tape: &mut Tape<'a>, input: ConvInput<'a>) -> Begun<'a, Var> {
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

impl RgcnOptions {
    /// The configuration of a layer.
    pub(in crate::nn) fn config(self, place: Place) -> RgcnConvConfig {
        let Place { in_feats, out_feats, num_rels, .. } = place;
        RgcnConvConfig { in_feats, out_feats, num_rels, regularizer: self.regularizer }
    }
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
        ..ModelSpec::stack("rgcn", "Relational graph convolution (RelGraphConv)")
    };
}

impl StackLayer for RgcnConv {
    fn make(
        options: &RgcnOptions,
        parameters: &mut ParameterBuilder,
        place: Place,
    ) -> Result<Self> {
        RgcnConv::new(parameters, options.config(place))
    }
}
