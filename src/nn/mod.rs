//! Layers, models, losses and optimizers.
//!
//! A layer is one file: its configuration, its parameters, its forward pass. The backward pass follows from the tape's
//! operations. Parameters carry the state-dict keys of the DGL module of the same name, so that weights go there and
//! back.

mod appnp;
mod class_weights;
mod clip;
mod conv;
mod correct_and_smooth;
mod cross_entropy;
mod gat_conv;
mod gatv2_conv;
mod gcn_conv;
mod gin_conv;
mod heads;
mod hetero_graph_conv;
mod hetero_stack;
mod jumping_knowledge;
mod learned_rows;
mod linear;
mod link;
mod loss;
mod model_config;
mod model_kind;
mod node_embedding;
mod normalization;
mod optim;
mod rgcn_conv;
mod safetensors_file;
mod sage_conv;
mod schedule;
mod score;
mod sgc;
mod shared_arrays;
mod sign;
mod stack;
mod state_dict;
mod task;

pub use appnp::{Appnp, AppnpConfig};
pub use class_weights::{ClassWeights, class_counts};
pub(crate) use clip::sum_of_squares;
pub use clip::{clip_factor, clip_grad_norm};
pub use conv::{Conv, Model};
pub use correct_and_smooth::{CorrectAndSmooth, KnownLabels, LabelPropagation};
pub use gat_conv::GatConv;
pub use gatv2_conv::Gatv2Conv;
pub use gcn_conv::{GcnConv, GcnConvConfig, Norm};
pub use gin_conv::GinConv;
pub use heads::{AttentionConfig, HeadMerge};
pub use hetero_graph_conv::{HeteroGraphConv, RelationMerge};
pub use hetero_stack::{HeteroConfig, HeteroStack};
pub use jumping_knowledge::{JumpMode, JumpingKnowledge};
pub use learned_rows::LearnedRows;
pub use linear::{Linear, Mlp, Network};
pub use link::{LinkScore, auc, link_loss, mean_reciprocal_rank};
pub use loss::Loss;
pub use model_config::{ModelConfig, Sizes};
pub use model_kind::{Heads, ModelKind};
pub use node_embedding::NodeEmbedding;
pub(crate) use node_embedding::start_rows;
pub use normalization::{BatchNorm, LayerNorm, NormKind, Normalization};
pub use optim::{Optimizer, OptimizerConfig, OptimizerState};
pub use rgcn_conv::{Regularizer, RgcnConv, RgcnConvConfig};
pub(crate) use safetensors_file::SafetensorsFile;
pub use sage_conv::{SageAggregator, SageConv, SageConvConfig};
pub use schedule::{LearningRate, Schedule};
pub use score::{ScoreSums, f1};
pub use sgc::Sgc;
pub(crate) use shared_arrays::{SharedArray, write_arrays};
pub use sign::Sign;
pub use stack::Stack;
pub use state_dict::{
    load_state_dict, save_state_dict, state_dict_text, stored_out_feats, verify_state_dict,
};
pub use task::Task;
