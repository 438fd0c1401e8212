//! Flags of the model.

use clap::{Args, ValueEnum};

use crate::error::{Error, Result};
use crate::nn::{
    Heads, JumpMode, ModelConfig, ModelKind, Norm, NormKind, Regularizer, SageAggregator,
};

/// The layer of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModelName {
    /// GraphSAGE (DGL's SAGEConv)
    Sage,
    /// Graph convolution (GraphConv)
    Gcn,
    /// Graph attention (GATConv)
    Gat,
    /// Graph attention with dynamic scores (GATv2Conv)
    Gatv2,
    /// Graph isomorphism network with a linear map (GINConv)
    Gin,
    /// Relational graph convolution (RelGraphConv)
    Rgcn,
    /// A multilayer perceptron whose predictions are propagated (APPNPConv)
    Appnp,
    /// A linear layer on features that are propagated once, before training (SGConv)
    Sgc,
    /// Perceptrons on features that are propagated once, a perceptron per step (DGL's example sign)
    Sign,
}

/// Flags of a model.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(super) struct ModelArgs {
    /// Layer of which the model is made
    #[arg(long, value_enum, default_value_t = ModelName::Sage)]
    model: ModelName,
    /// How --model sage combines neighbours
    #[arg(long, value_enum, default_value_t = SageAggregator::Mean)]
    aggregator: SageAggregator,
    /// How --model gcn normalises messages by degrees
    #[arg(long, value_enum, default_value_t = Norm::Both)]
    gcn_norm: Norm,
    /// Attention heads of --model gat and gatv2
    #[arg(long, value_name = "N", default_value_t = 4)]
    heads: usize,
    /// Dropout on the attention of --model gat and gatv2
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    attention_dropout: f64,
    /// Add each layer's input to its output where the widths are equal; in --model gat and gatv2 everywhere, through a
    /// linear map where they differ
    #[arg(long)]
    residual: bool,
    /// Normalise between layers
    #[arg(long, value_enum, default_value_t)]
    norm: NormKind,
    /// Join the outputs of all layers (jumping knowledge), followed by a linear layer
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    jk: JumpMode,
    /// Steps of propagation of --model appnp [default: 10], sgc [default: 2] and sign [default: 3]
    #[arg(long, value_name = "K")]
    hops: Option<usize>,
    /// Share of the prediction in each step of --model appnp
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    alpha: f64,
    /// Learn the weight of a node's own row in --model gin
    #[arg(long)]
    learn_eps: bool,
    /// Make the weights of --model rgcn sums of N bases [default: a matrix per relation]
    #[arg(long, value_name = "N")]
    bases: Option<i64>,
    /// Make the weights of --model rgcn block-diagonal with N blocks
    #[arg(long, value_name = "N", conflicts_with = "bases")]
    blocks: Option<i64>,
    /// Number of layers
    #[arg(long, value_name = "N", default_value_t = ModelConfig::default().layers)]
    layers: usize,
    /// Width of hidden layers; of each head, in --model gat and gatv2
    #[arg(long, value_name = "N", default_value_t = ModelConfig::default().hidden)]
    hidden: i64,
    /// Dropout between layers; in --model gat and gatv2 on every layer's input
    #[arg(long, value_name = "P", default_value_t = ModelConfig::default().dropout)]
    dropout: f64,
}

impl ModelArgs {
    pub(super) fn config(self, edge_weights: bool) -> Result<ModelConfig> {
        if edge_weights && matches!(self.model, ModelName::Gat | ModelName::Gatv2 | ModelName::Rgcn)
        {
            let problem = "this model's layers take no edge weights";
            return Err(Error::config("--edge-weight-key", problem)
                .with_hint("leave it out, or use another model than gat, gatv2 and rgcn"));
        }
        let heads = Heads { heads: self.heads, attention_dropout: self.attention_dropout };
        let regularizer = match (self.bases, self.blocks) {
            (Some(bases), _) => Regularizer::Basis(bases),
            (None, Some(blocks)) => Regularizer::Bdd(blocks),
            (None, None) => Regularizer::None,
        };
        let kind = match self.model {
            ModelName::Sage => ModelKind::Sage { aggregator: self.aggregator, edge_weights },
            ModelName::Gcn => ModelKind::Gcn { norm: self.gcn_norm, edge_weights },
            ModelName::Gat => ModelKind::Gat(heads),
            ModelName::Gatv2 => ModelKind::Gatv2(heads),
            ModelName::Gin => ModelKind::Gin { learn_eps: self.learn_eps, edge_weights },
            ModelName::Rgcn => ModelKind::Rgcn { regularizer },
            ModelName::Appnp => {
                let (hops, alpha) = (self.hops.unwrap_or(10), self.alpha);
                ModelKind::Appnp { hops, alpha, edge_weights }
            }
            ModelName::Sgc => ModelKind::Sgc { hops: self.hops.unwrap_or(2), edge_weights },
            ModelName::Sign => ModelKind::Sign { hops: self.hops.unwrap_or(3), edge_weights },
        };
        let ModelArgs { layers, hidden, dropout, norm, jk, residual, .. } = self;
        let plain = norm == NormKind::None && jk == JumpMode::None && !residual;
        if !plain && !kind.is_stack() {
            let problem = "--norm, --jk and --residual need a stack of graph layers";
            return Err(Error::config("--model", problem)
                .with_hint("leave them out of --model appnp, sgc and sign"));
        }
        Ok(ModelConfig { kind, layers, hidden, dropout, norm, jumping_knowledge: jk, residual })
    }
}
