//! Layers, models, losses and optimizers.
//!
//! A layer is one file: its configuration, its parameters, its forward pass. The backward pass follows from the tape's
//! operations. Parameters carry the state-dict keys of the DGL module of the same name, so that weights go there and
//! back.

mod conv;
mod gcn_conv;
mod loss;
mod optim;
mod sage_conv;
mod stack;
mod state_dict;

pub use conv::{Conv, Model};
pub use gcn_conv::{GcnConv, GcnConvConfig, Norm};
pub use loss::{accuracy_counts, cross_entropy};
pub use optim::{Optimizer, OptimizerConfig};
pub use sage_conv::{SageAggregator, SageConv, SageConvConfig};
pub use stack::{ModelConfig, ModelKind, Stack};
pub use state_dict::{load_state_dict, save_state_dict, stored_out_feats};
