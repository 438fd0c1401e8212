//! The configuration of a model.

use serde::{Deserialize, Serialize};

use super::jumping_knowledge::JumpMode;
use crate::nn::conv::ModelKind;
use crate::nn::conv::sage::SageOptions;
use crate::nn::describe::HiddenLayers;
use crate::nn::normalization::NormKind;

/// Configuration of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelConfig {
    /// The kind of the model's layers.
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
            kind: ModelKind::Sage(SageOptions::default()),
            layers: 3,
            hidden: 128,
            dropout: 0.5,
            norm: NormKind::None,
            jumping_knowledge: JumpMode::None,
            residual: false,
        }
    }
}

impl ModelConfig {
    /// Number of graphs that a forward pass takes: one per layer that uses neighbours. SIGN takes one for its nodes only.
    pub fn num_graphs(&self) -> usize {
        self.kind.num_graphs(self.layers)
    }

    /// Number of layers whose neighbourhoods a batch draws.
    pub fn sampled_layers(&self) -> usize {
        if self.kind.propagates_once() { 0 } else { self.num_graphs() }
    }

    /// Whether each epoch sums rows of neighbours. (A single layer does so once, because features do not change.)
    pub fn repeats_sums(&self) -> bool {
        self.kind.facts().sums && self.num_graphs() > 1
    }

    /// The layers between features and outputs.
    pub fn hidden_layers(&self) -> HiddenLayers {
        HiddenLayers { layers: self.layers, width: self.hidden, dropout: self.dropout }
    }

    /// Number of hidden layers: the layers after which a forward pass [can end](crate::engine::tape::Tape::ending_after). SIGN's first
    /// perceptrons count as one.
    pub fn num_hidden_layers(&self) -> usize {
        let spec = self.kind.spec();
        if !spec.hidden_layers {
            return 0;
        }
        let follows = self.jumping_knowledge != JumpMode::None || spec.initial_rows;
        let all_are_hidden = follows || self.kind.propagates_once();
        self.layers.saturating_sub(usize::from(!all_are_hidden))
    }

    /// Parameter whose shape has the output width.
    pub(in crate::nn) fn output_side(&self) -> OutputSide {
        match self.jumping_knowledge {
            JumpMode::None => OutputSide {
                key: self.kind.output_key(self.layers.saturating_sub(1)),
                side: self.kind.spec().output_side,
            },
            JumpMode::Cat | JumpMode::Max => OutputSide { key: "lin.weight".to_owned(), side: 0 },
        }
    }
}

/// A parameter, and the dimension of its shape that is the model's output width.
pub(in crate::nn) struct OutputSide {
    pub(in crate::nn) key: String,
    pub(in crate::nn) side: usize,
}
