//! Layers, models, losses and optimizers.
//!
//! A layer is one file: its configuration, its parameters, its forward pass. The backward pass follows from the tape's
//! operations. Parameters carry the state-dict keys of the DGL module of the same name, so that weights can be exchanged in
//! both directions.

pub mod conv;
mod describe;
mod learned_rows;
mod linear;
pub mod losses;
pub mod model_spec;
pub mod models;
mod node_embedding;
mod normalization;
pub mod optim;
pub mod weights;

pub use crate::words::choice::OptionWord;
pub use conv::*;
pub use describe::{Facts, HiddenLayers, Sizes};
pub use learned_rows::LearnedRows;
pub use linear::{Linear, Mlp, Network};
pub use losses::class_weights::{ClassWeights, class_counts};
pub use losses::link::{auc, link_loss, mean_reciprocal_rank};
pub(crate) use losses::link::{link_loss_sum, reciprocal_ranks_sum};
pub use losses::link_score::{EtypeVectors, LinkScore};
pub use losses::loss::Loss;
pub use losses::score::{ScoreSums, f1};
pub use losses::task::Task;
pub use model_spec::{EdgeFeatureUse, EdgeWeights, ModelOption, ModelSpec, OptionValues};
pub use models::appnp::{Appnp, AppnpConfig};
pub use models::correct_and_smooth::{CorrectAndSmooth, KnownLabels, LabelPropagation};
pub use models::hetero_stack::{HeteroConfig, HeteroOutput, HeteroStack};
pub use models::jumping_knowledge::{JumpMode, JumpingKnowledge};
pub use models::model_config::ModelConfig;
pub use models::sgc::{Sgc, SgcOptions};
pub use models::sign::{Sign, SignOptions};
pub use models::stack::Stack;
pub use node_embedding::NodeEmbedding;
pub(crate) use node_embedding::start_rows;
pub use normalization::{BatchNorm, LayerNorm, NormKind, Normalization};
pub(crate) use optim::clip::sum_of_squares;
pub use optim::clip::{clip_factor, clip_grad_norm};
pub use optim::optimizer::{Optimizer, OptimizerConfig, OptimizerState};
pub use optim::schedule::{LearningRate, Schedule, ValidationScore};
pub(crate) use weights::safetensors_file::SafetensorsFile;
pub(crate) use weights::shared_arrays::{SharedArray, write_arrays};
pub use weights::state_dict::{
    load_state_dict, save_state_dict, state_dict_text, stored_out_feats, verify_state_dict,
};
