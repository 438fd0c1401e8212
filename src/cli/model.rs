//! Flags of the model.

use clap::Args;

use super::choice::choice;
use super::model_kind::KindArgs;
use crate::choice::Choice;
use crate::error::Result;
use crate::nn::{JumpMode, ModelConfig, NormKind};

/// Flags of a model.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(super) struct ModelArgs {
    #[command(flatten)]
    kind: KindArgs,
    /// Add each layer's input to its output where the widths are equal; in --model gat, gatv2 and egat everywhere, through a
    /// linear map where they differ
    #[arg(long)]
    residual: bool,
    /// Normalise between layers
    #[arg(long, value_parser = choice::<NormKind>(), default_value = NormKind::default().name())]
    norm: NormKind,
    /// Join the outputs of all layers (jumping knowledge), followed by a linear layer
    #[arg(long, value_name = "HOW", value_parser = choice::<JumpMode>(), default_value = JumpMode::default().name())]
    jk: JumpMode,
    /// Number of layers
    #[arg(long, value_name = "N", default_value_t = ModelConfig::default().layers)]
    layers: usize,
    /// Width of hidden layers; of each head, in --model gat, gatv2 and egat
    #[arg(long, value_name = "N", default_value_t = ModelConfig::default().hidden)]
    hidden: i64,
    /// Dropout between layers; in --model gat, gatv2 and egat on every layer's input
    #[arg(long, value_name = "P", default_value_t = ModelConfig::default().dropout)]
    dropout: f64,
}

impl ModelArgs {
    pub(super) fn config(self, edge_weights: bool) -> Result<ModelConfig> {
        let ModelArgs { kind, layers, hidden, dropout, norm, jk, residual } = self;
        let kind = kind.kind(edge_weights)?;
        Ok(ModelConfig { kind, layers, hidden, dropout, norm, jumping_knowledge: jk, residual })
    }
}
