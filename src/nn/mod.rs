//! Layers, models, losses and optimizers.
//!
//! A layer is one file: its configuration, its parameters, its forward pass. The backward pass follows from the tape's
//! operations. Parameters carry the state-dict keys of the DGL module of the same name, so that weights go there and
//! back.

mod conv;
mod gat_conv;
mod gatv2_conv;
mod gcn_conv;
mod gin_conv;
mod heads;
mod linear;
mod link;
mod loss;
mod model_kind;
mod optim;
mod rgcn_conv;
mod sage_conv;
mod stack;
mod state_dict;

pub use conv::{Conv, Model};
pub use gat_conv::GatConv;
pub use gatv2_conv::Gatv2Conv;
pub use gcn_conv::{GcnConv, GcnConvConfig, Norm};
pub use gin_conv::GinConv;
pub use heads::{AttentionConfig, HeadMerge};
pub use linear::{Linear, Mlp, Network};
pub use link::{LinkScore, auc, link_loss, mean_reciprocal_rank};
pub use loss::{accuracy_counts, cross_entropy};
pub use model_kind::{Heads, ModelKind};
pub use optim::{Optimizer, OptimizerConfig};
pub use rgcn_conv::{Regularizer, RgcnConv, RgcnConvConfig};
pub use sage_conv::{SageAggregator, SageConv, SageConvConfig};
pub use stack::{ModelConfig, Sizes, Stack};
pub use state_dict::{load_state_dict, save_state_dict, stored_out_feats};
