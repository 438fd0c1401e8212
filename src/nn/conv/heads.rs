//! Configuration and merging of heads, shared by all attention layers.

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use super::layer::ends_coincide;
use crate::engine::tape::{Graph, Init, Parameter, ParameterBuilder, Tape, Var, Weight};
use crate::nn::describe::Place;
use crate::nn::model_spec::{ModelOption, ModelSpec, OptionValues};
use crate::words::error::Result;

/// Configuration of an attention layer.
#[derive(Debug, Clone, Copy)]
pub struct AttentionConfig {
    /// Width of the input.
    pub in_feats: i64,
    /// Width of the output of one head.
    pub out_feats: i64,
    /// Number of heads.
    pub heads: usize,
    /// Dropout on the input.
    pub feat_drop: f64,
    /// Dropout on the attention of each edge and head.
    pub attn_drop: f64,
    /// Slope of the leaky ReLU in scores.
    pub negative_slope: f64,
    /// Whether the destination's input is added to the output: unchanged if it has the output's width, otherwise through a
    /// linear map.
    pub residual: bool,
    /// How the outputs of the heads become one row.
    pub merge: HeadMerge,
}

/// How the outputs of several heads become one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadMerge {
    /// Side by side: `heads * out_feats` columns. Usual between layers.
    Concat,
    /// Mean of the heads: `out_feats` columns. Usual after the last layer; in a
    /// [`HeteroGraphConv`](super::HeteroGraphConv), it precedes the merge of the relations.
    Mean,
}

impl AttentionConfig {
    /// Number of columns of all heads together.
    pub(in crate::nn) fn columns(&self) -> i64 {
        self.out_feats * self.heads as i64
    }

    /// Applies dropout to the features of sources and destinations.
    pub(in crate::nn) fn drop_features(
        &self,
        tape: &mut Tape<'_>,
        graph: &dyn Graph,
        src: Var,
        dst: Var,
    ) -> Result<(Var, Var)> {
        let coincide = ends_coincide(graph, &src, &dst);
        let dropped = tape.dropout(graph.source_ids(), &src, self.feat_drop)?;
        drop(src);
        let dst = if coincide {
            tape.destinations(graph, &dropped)?
        } else {
            tape.dropout(graph.destination_ids(), &dst, self.feat_drop)?
        };
        Ok((dropped, dst))
    }

    /// Each head's inner product with a vector, `[rows, heads]`; `vector` is `[1, heads, out_feats]`.
    pub(in crate::nn) fn products(
        &self,
        tape: &mut Tape<'_>,
        x: &Var,
        vector: Parameter,
    ) -> Result<Var> {
        let heads = self.heads as i64;
        tape.segment("attention-scores", &[x], &[vector], move |x, vector| {
            products(&x[0], &vector[0], heads)
        })
    }
}

/// The inner product of each head's columns with a vector, `[rows, heads]`; `vector` is `[1, heads, width]`.
pub(in crate::nn) fn products(rows: &Tensor, vector: &Tensor, heads: i64) -> Result<Tensor> {
    let products = rows.f_view([rows.size()[0], heads, vector.size()[2]])?.f_mul(vector)?;
    Ok(products.f_sum_dim_intlist([2_i64].as_slice(), false, None::<Kind>)?)
}

/// The mean of heads that lie side by side in rows of `y`.
pub(in crate::nn) fn mean_of_heads(y: &Tensor, heads: i64) -> Result<Tensor> {
    let (rows, columns) = y.size2()?;
    let heads = y.f_view([rows, heads, columns / heads])?;
    Ok(heads.f_mean_dim([1_i64].as_slice(), false, None::<Kind>)?)
}

/// The residual of a layer: the destination's input, through a linear map with a bias where the widths differ.
#[derive(Clone)]
pub(in crate::nn) struct Residual {
    map: Option<(Weight, Parameter)>,
    /// The bias of the layer, unless the map has one.
    bias: Option<Parameter>,
}

impl Residual {
    /// Adds the parameters of the map, `res_fc.*`, if the configuration needs one.
    pub(in crate::nn) fn new(parameters: &mut ParameterBuilder, config: &AttentionConfig) -> Self {
        let columns = config.columns();
        let mapped = config.residual && config.in_feats != columns;
        let map = mapped.then(|| {
            parameters.scope("res_fc", |parameters| {
                let normal = initial(parameters);
                let weight = parameters.add("weight", &[columns, config.in_feats], normal);
                (Weight::OutIn(weight), parameters.add("bias", &[columns], Init::Zeros))
            })
        });
        Residual { map, bias: None }
    }

    /// Adds a bias of the layer under the name `bias`, unless the map has one.
    pub(in crate::nn) fn or_bias(self, parameters: &mut ParameterBuilder, columns: i64) -> Self {
        let bias = || parameters.add("bias", &[columns], Init::Zeros);
        Residual { bias: self.map.is_none().then(bias), ..self }
    }

    /// Adds the residual and the bias, if there are any, and merges the heads; `dst` is the destinations' input.
    pub(in crate::nn) fn finish(
        &self,
        config: &AttentionConfig,
        tape: &mut Tape<'_>,
        y: Var,
        dst: Option<Var>,
    ) -> Result<Var> {
        let (bias, residual) = match (&self.map, dst) {
            (Some((weight, bias)), Some(dst)) => {
                (None, Some(tape.linear(&dst, weight, Some(*bias), None)?))
            }
            (_, dst) => (self.bias, dst),
        };
        let (heads, merge) = (config.heads as i64, config.merge);
        if bias.is_none() && residual.is_none() && (merge == HeadMerge::Concat || heads == 1) {
            return Ok(y);
        }
        let inputs: Vec<&Var> = std::iter::once(&y).chain(&residual).collect();
        let parameters: Vec<Parameter> = bias.into_iter().collect();
        tape.segment("heads", &inputs, &parameters, move |x, bias| {
            let terms = x[1..].iter().chain(bias);
            let mut sum = x[0].shallow_clone();
            for term in terms {
                sum = sum.f_add(term)?;
            }
            match merge {
                HeadMerge::Concat => Ok(sum),
                HeadMerge::Mean => mean_of_heads(&sum, heads),
            }
        })
    }
}

/// The initial distribution of weights and attention vectors.
pub(in crate::nn) fn initial(parameters: &ParameterBuilder) -> Init {
    parameters.either(Init::XavierNormal { gain: 2f64.sqrt() }, Init::Glorot)
}

/// Options of a stack of attention layers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Heads {
    /// Number of heads.
    pub heads: usize,
    /// Dropout on attention.
    pub attention_dropout: f64,
}

impl Default for Heads {
    fn default() -> Self {
        Heads { heads: 4, attention_dropout: 0.0 }
    }
}

/// The description of a kind of attention layer.
pub(in crate::nn) const fn spec(name: &'static str, about: &'static str) -> ModelSpec {
    ModelSpec {
        options: &[
            ModelOption {
                flag: "heads",
                key: "heads",
                help: "Attention heads",
                value_name: "N",
                values: OptionValues::Whole { least: 1, most: 1 << 12 },
            },
            ModelOption {
                flag: "attention-dropout",
                key: "attention_dropout",
                help: "Dropout on the attention",
                value_name: "P",
                values: OptionValues::Probability,
            },
        ],
        output_side: 2,
        attention: true,
        needs_in_edges: true,
        ..ModelSpec::stack(name, about)
    }
}

impl Heads {
    /// Configuration of a layer in a stack.
    pub(in crate::nn) fn config(self, place: Place) -> AttentionConfig {
        AttentionConfig {
            in_feats: place.in_feats,
            out_feats: place.out_feats,
            heads: self.heads,
            feat_drop: place.dropout,
            attn_drop: self.attention_dropout,
            negative_slope: 0.2,
            residual: place.residual,
            merge: if place.mean_of_heads { HeadMerge::Mean } else { HeadMerge::Concat },
        }
    }
}
