//! The layer of which a model is made.

use serde::{Deserialize, Serialize};

use crate::engine::tape::{ParameterBuilder, Reduce};
use crate::error::{Error, Result};
use crate::nn::conv::gat::GatConv;
use crate::nn::conv::gatv2::Gatv2Conv;
use crate::nn::conv::gcn::{GcnConv, GcnConvConfig, Norm};
use crate::nn::conv::gin::GinConv;
use crate::nn::conv::heads::{AttentionConfig, HeadMerge};
use crate::nn::conv::layer::Conv;
use crate::nn::conv::rgcn::{Regularizer, RgcnConv, RgcnConvConfig};
use crate::nn::conv::sage::{SageAggregator, SageConv, SageConvConfig};
use crate::nn::linear::Linear;

/// The layer of which a model is made, with the settings that all its layers share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "layer")]
pub enum ModelKind {
    /// [`SageConv`].
    Sage {
        /// How neighbours are combined.
        aggregator: SageAggregator,
        /// Whether messages are multiplied by edge weights.
        edge_weights: bool,
    },
    /// [`GcnConv`].
    Gcn {
        /// How messages are normalised; `gcn_norm` in files, where `norm` is that of [`ModelConfig`](crate::nn::ModelConfig).
        #[serde(rename = "gcn_norm")]
        norm: Norm,
        /// Whether messages are multiplied by edge weights.
        edge_weights: bool,
    },
    /// [`GatConv`]; heads are concatenated between layers and averaged in the last.
    Gat(Heads),
    /// [`Gatv2Conv`]; heads are joined as with `Gat`.
    Gatv2(Heads),
    /// [`GinConv`] with a linear map inside.
    Gin {
        /// Whether the weight of a node's own row is learned.
        learn_eps: bool,
        /// Whether messages are multiplied by edge weights.
        edge_weights: bool,
    },
    /// [`RgcnConv`].
    Rgcn {
        /// How the weights of relations are kept small.
        regularizer: Regularizer,
    },
    /// [`Appnp`](crate::nn::Appnp).
    Appnp {
        /// Number of steps of propagation.
        hops: usize,
        /// Share of the prediction in each step.
        alpha: f64,
        /// Whether messages are multiplied by normalised edge weights.
        edge_weights: bool,
    },
    /// [`Sgc`](crate::nn::Sgc).
    Sgc {
        /// Number of steps of propagation.
        hops: usize,
        /// Whether messages are multiplied by normalised edge weights.
        edge_weights: bool,
    },
    /// [`Sign`](crate::nn::Sign).
    Sign {
        /// Number of steps of propagation.
        hops: usize,
        /// Whether messages are multiplied by normalised edge weights.
        edge_weights: bool,
    },
}

/// The settings that attention layers share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Heads {
    /// Number of heads.
    pub heads: usize,
    /// Dropout on attention.
    pub attention_dropout: f64,
}

/// A layer's place in a model.
#[derive(Debug, Clone, Copy)]
pub(in crate::nn) struct Place {
    /// Width of the input.
    pub(in crate::nn) in_feats: i64,
    /// Width of the output; with attention, of one head.
    pub(in crate::nn) out_feats: i64,
    /// Whether it is the last layer.
    pub(in crate::nn) last: bool,
    /// Number of edge types of the graph.
    pub(in crate::nn) num_rels: usize,
    /// Dropout on its input.
    pub(in crate::nn) dropout: f64,
    /// Whether its input is added to its output.
    pub(in crate::nn) residual: bool,
}

impl ModelKind {
    /// Whether the model is a stack of graph layers; the others have models of their own.
    pub fn is_stack(self) -> bool {
        !matches!(self, ModelKind::Appnp { .. }) && !self.propagates_once()
    }

    /// Whether the model propagates features before training and needs no neighbours afterwards.
    pub fn propagates_once(self) -> bool {
        matches!(self, ModelKind::Sgc { .. } | ModelKind::Sign { .. })
    }

    /// Whether the model takes edge weights [normalised](crate::engine::tape::GraphShardManager::normalise_edge_weights) over
    /// the whole graph.
    pub fn normalises_edge_weights(self) -> bool {
        match self {
            ModelKind::Appnp { edge_weights, .. }
            | ModelKind::Sgc { edge_weights, .. }
            | ModelKind::Sign { edge_weights, .. } => edge_weights,
            _ => false,
        }
    }

    /// The parameter, and the index of its dimension, that holds the width of the output of a model whose last layer has the
    /// index `last`.
    pub(in crate::nn) fn output_parameter(self, last: usize) -> (String, usize) {
        let (name, dimension) = match self {
            ModelKind::Sage { .. } => ("fc_neigh.weight", 0),
            ModelKind::Gcn { .. } => ("weight", 1),
            ModelKind::Gat(_) => ("attn_l", 2),
            ModelKind::Gatv2(_) => ("attn", 2),
            ModelKind::Gin { .. } => ("apply_func.weight", 0),
            ModelKind::Rgcn { .. } => ("h_bias", 0),
            ModelKind::Appnp { .. } => return (format!("layers.{last}.weight"), 0),
            ModelKind::Sgc { .. } => return ("convs.0.fc.weight".to_owned(), 0),
            ModelKind::Sign { .. } => return (format!("project.layers.{last}.weight"), 0),
        };
        (format!("convs.{last}.{name}"), dimension)
    }

    /// Whether its layers are attention layers.
    pub(in crate::nn) fn is_attention(self) -> bool {
        matches!(self, ModelKind::Gat(_) | ModelKind::Gatv2(_))
    }

    /// Whether its layers use the types of edges.
    pub fn uses_edge_types(self) -> bool {
        matches!(self, ModelKind::Rgcn { .. })
    }

    /// Whether its layers use out-degrees.
    pub fn uses_out_degrees(self) -> bool {
        match self {
            ModelKind::Gcn { norm, .. } => matches!(norm, Norm::Both | Norm::Left),
            ModelKind::Appnp { .. } | ModelKind::Sgc { .. } => true,
            _ => false,
        }
    }

    /// Whether a node without in-edges gets only a bias.
    pub fn needs_in_edges(self) -> bool {
        matches!(
            self,
            ModelKind::Gcn { .. } | ModelKind::Gat(_) | ModelKind::Gatv2(_) | ModelKind::Sgc { .. }
        )
    }

    /// Number of rows of the hidden width that a layer's output has side by side.
    pub fn heads(self) -> i64 {
        match self {
            ModelKind::Gat(heads) | ModelKind::Gatv2(heads) => heads.heads as i64,
            _ => 1,
        }
    }

    /// Creates a layer.
    pub(in crate::nn) fn conv(
        self,
        parameters: &mut ParameterBuilder,
        place: Place,
    ) -> Result<Box<dyn Conv>> {
        let Place { in_feats, out_feats, num_rels, .. } = place;
        Ok(match self {
            ModelKind::Sage { aggregator, edge_weights } => {
                let config = SageConvConfig { in_feats, out_feats, aggregator, edge_weights };
                Box::new(SageConv::new(parameters, config))
            }
            ModelKind::Gcn { norm, edge_weights } => {
                // A run notes nodes without in-edges once, and does not fail because of them.
                let allow_zero_in_degree = true;
                let config =
                    GcnConvConfig { in_feats, out_feats, norm, edge_weights, allow_zero_in_degree };
                Box::new(GcnConv::new(parameters, config))
            }
            ModelKind::Gat(heads) => Box::new(GatConv::new(parameters, heads.config(place))),
            ModelKind::Gatv2(heads) => Box::new(Gatv2Conv::new(parameters, heads.config(place))),
            ModelKind::Gin { learn_eps, edge_weights } => {
                let linear = |parameters: &mut ParameterBuilder| {
                    Linear::new(parameters, in_feats, out_feats)
                };
                Box::new(GinConv::new(parameters, linear, Reduce::Sum, (learn_eps, edge_weights)))
            }
            ModelKind::Rgcn { regularizer } => {
                let config = RgcnConvConfig { in_feats, out_feats, num_rels, regularizer };
                Box::new(RgcnConv::new(parameters, config)?)
            }
            ModelKind::Appnp { .. } | ModelKind::Sgc { .. } | ModelKind::Sign { .. } => {
                return Err(Error::config("model", "is not a stack of graph layers"));
            }
        })
    }
}

impl Heads {
    fn config(self, place: Place) -> AttentionConfig {
        AttentionConfig {
            in_feats: place.in_feats,
            out_feats: place.out_feats,
            heads: self.heads,
            feat_drop: place.dropout,
            attn_drop: self.attention_dropout,
            negative_slope: 0.2,
            residual: place.residual,
            merge: if place.last { HeadMerge::Mean } else { HeadMerge::Concat },
        }
    }
}
