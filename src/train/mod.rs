//! Training, on full graphs and on sampled neighbourhoods: epochs, evaluation, checkpoints.

mod checkpoint;
mod class_table;
mod counts;
mod early_stopping;
mod evaluation;
mod forward;
mod learner;
mod link_epoch;
mod link_trainer;
mod roc_auc;
mod sampled;
mod sampled_epoch;
mod sampling_config;
mod trainer;
mod training;
mod update;

pub use checkpoint::{Checkpoint, Progress};
pub use counts::Totals;
pub use early_stopping::BestEpoch;
pub use forward::{Forward, GraphModel, HeteroModel, NodeInput};
pub use link_epoch::LinkLoaders;
pub use link_trainer::{LinkEvaluation, LinkPass, LinkTrainer};
pub use sampled::{FEATURES, LABELS, SampledPass, SampledTrainer, block_graphs};
pub use sampling_config::SamplingConfig;
pub use trainer::{Mark, Step, Trainer};
pub use training::{Regime, Training};
pub use update::Reduce;
