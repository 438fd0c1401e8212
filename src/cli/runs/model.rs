//! Flags of the model.

use super::model_kind::KindArgs;
use super::setting::settings;
use crate::cli::flags::choice::choice;
use crate::nn::{JumpMode, ModelConfig, NormKind};
use crate::words::choice::Choice;
use crate::words::error::Result;

settings! {
    /// Flags of a model.
    #[command(next_help_heading = "Model")]
    pub(in crate::cli) struct ModelArgs, fields "model." of ModelConfig {
        #[command(flatten)]
        kind: KindArgs,
        /// Add each layer's input to its output where the widths are equal; in --model gat, gatv2 and egat everywhere, through a
        /// linear map where they differ
        #[arg(long)]
        residual: bool => residual; Stacks,
        /// Normalise between layers
        #[arg(long, value_parser = choice::<NormKind>(), default_value = NormKind::default().name())]
        norm: NormKind => norm; Stacks,
        /// Join the outputs of all layers (jumping knowledge), followed by a linear layer
        #[arg(long, value_name = "HOW", value_parser = choice::<JumpMode>(), default_value = JumpMode::default().name())]
        jk: JumpMode => jumping_knowledge; Stacks,
        /// Number of layers
        #[arg(long, value_name = "N", default_value_t = ModelConfig::default().layers)]
        layers: usize => layers; HiddenLayers,
        /// Width of hidden layers; of each head, in --model gat, gatv2 and egat
        #[arg(long, value_name = "N", default_value_t = ModelConfig::default().hidden)]
        hidden: i64 => hidden; HiddenLayers,
        /// Dropout between layers; in --model gat, gatv2 and egat on every layer's input
        #[arg(long, value_name = "P", default_value_t = ModelConfig::default().dropout)]
        dropout: f64 => dropout; HiddenLayers,
    }
}

impl ModelArgs {
    pub(in crate::cli) fn config(self, edge_weights: bool) -> Result<ModelConfig> {
        let mut model = ModelConfig::default();
        self.set(&mut model)?;
        model.kind = self.kind.kind(edge_weights)?;
        Ok(model)
    }
}
