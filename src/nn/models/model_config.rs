//! The configuration of a model.

use serde::{Deserialize, Serialize};

use super::appnp::{Appnp, AppnpConfig};
use super::jumping_knowledge::JumpMode;
use super::model_kind::ModelKind;
use super::sgc::Sgc;
use super::sign::Sign;
use super::stack::Stack;
use crate::engine::tape::ParameterBuilder;
use crate::error::{Error, Result};
use crate::nn::conv::layer::Model;
use crate::nn::conv::sage::SageAggregator;
use crate::nn::normalization::NormKind;

/// Configuration of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelConfig {
    /// The layer of which the model is made.
    #[serde(flatten)]
    pub kind: ModelKind,
    /// Number of layers.
    pub layers: usize,
    /// Width of the layers between the first and the last; with attention, of each head.
    pub hidden: i64,
    /// Dropout on the input of every layer but the first; with attention, of every layer.
    pub dropout: f64,
    /// The normalisation between two layers of a stack, before the activation.
    pub norm: NormKind,
    /// How the outputs of a stack's layers are joined.
    pub jumping_knowledge: JumpMode,
    /// Whether a stack's layers add their input to their output. Attention layers do so as in DGL, through a linear map where
    /// the widths differ; other layers do so where the widths are equal.
    pub residual: bool,
}

/// The default: three layers of GraphSAGE(mean), 128 wide, with dropout 0.5.
impl Default for ModelConfig {
    fn default() -> Self {
        ModelConfig {
            kind: ModelKind::Sage { aggregator: SageAggregator::Mean, edge_weights: false },
            layers: 3,
            hidden: 128,
            dropout: 0.5,
            norm: NormKind::None,
            jumping_knowledge: JumpMode::None,
            residual: false,
        }
    }
}

/// The sizes of a model that depend on the data.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Width of the input features.
    pub in_feats: i64,
    /// Width of the last layer's output.
    pub out_feats: i64,
    /// Number of edge types of the graph.
    pub num_rels: usize,
}

impl ModelConfig {
    /// Creates the model.
    ///
    /// # Errors
    /// If there are no layers, a width is 0, or a layer does not support its width.
    pub fn build(&self, parameters: &mut ParameterBuilder, sizes: Sizes) -> Result<Box<dyn Model>> {
        Ok(match self.kind {
            ModelKind::Appnp { hops, alpha, edge_weights } => {
                let steps = AppnpConfig { steps: hops, alpha, edge_weights };
                Box::new(Appnp::new(parameters, self, sizes, steps)?)
            }
            ModelKind::Sgc { hops, edge_weights } => {
                Box::new(Sgc::new(parameters, sizes, (hops, edge_weights))?)
            }
            ModelKind::Sign { hops, edge_weights } => {
                Box::new(Sign::new(parameters, self, sizes, (hops, edge_weights))?)
            }
            _ => Box::new(Stack::new(parameters, self, sizes)?),
        })
    }

    /// Number of graphs that a forward pass takes: one per layer that uses neighbours. SIGN takes one for its nodes only.
    pub fn num_graphs(&self) -> usize {
        match self.kind {
            ModelKind::Appnp { hops, .. } => hops,
            ModelKind::Sgc { .. } => 0,
            ModelKind::Sign { .. } => 1,
            _ => self.layers,
        }
    }

    /// The parameter, and the index of its dimension, that holds the width of the output.
    pub(in crate::nn) fn output_parameter(&self) -> (String, usize) {
        match self.jumping_knowledge {
            JumpMode::None => self.kind.output_parameter(self.layers.saturating_sub(1)),
            JumpMode::Cat | JumpMode::Max => ("lin.weight".to_owned(), 0),
        }
    }

    /// Checks that the configuration describes a model.
    pub(in crate::nn) fn check(&self) -> Result<()> {
        if self.layers == 0 {
            return Err(Error::config("layers", "a model needs at least one layer"));
        }
        if self.hidden < 1 {
            return Err(Error::config("hidden", "the hidden width must be at least 1"));
        }
        Ok(())
    }
}
