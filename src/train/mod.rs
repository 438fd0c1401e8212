//! Training, on full graphs and on sampled neighbourhoods: epochs, evaluation, checkpoints.
//!
//! A step on samples trains a `BatchModel`: `GraphBatches` with one layer for all edges, or `HeteroBatches` with a
//! layer per relation; `RowBatches` is for models that need no neighbours while they train. A block has several times as many sources as destinations, so layers aggregate before they
//! multiply if that is less work. An edge type without edges in a block still contributes its bias, as on the full
//! graph (DGL leaves it out). Ranks take a turn per batch; with sampler threads they work in parallel, and take turns
//! between epochs and in evaluations on the full graph. Training for link prediction (`LinkTrainer`) works with any `BatchModel`; in the index for its
//! samples, held-back edges have probability 0.

mod batch_model;
mod batch_turn;
mod checkpoint;
mod class_table;
mod counts;
mod early_stopping;
mod evaluation;
mod evaluation_config;
mod fanouts;
mod forward;
mod graph_batches;
mod hetero_batches;
mod input_rows;
mod learner;
mod link_epoch;
mod link_evaluation;
mod link_trainer;
mod pass;
mod prediction_scores;
mod regime;
mod relation_degrees;
mod roc_auc;
mod sampled;
mod sampled_epoch;
mod sampled_evaluation;
mod sampling_config;
mod score_runs;
mod step_log;
pub(crate) mod stored_rows;
mod trained_set;
mod trainer;
mod training;
mod update;

pub use batch_model::{BatchForward, BatchModel};
pub use checkpoint::{BestEpoch, Checkpoint, KeptState, Progress};
pub use counts::Totals;
pub use evaluation_config::{EvaluationConfig, ExtraMetric, Keep};
pub use fanouts::Fanouts;
pub use forward::{Forward, GraphModel, HeteroModel, NodeInput, SourceNodes};
pub use graph_batches::{EDGE_FEATURES, FEATURES, GraphBatches, LABELS, block_graphs};
pub use hetero_batches::{HeteroBatches, edge_features_of, features_of};
pub use input_rows::{InputRows, RowBatches};
pub use link_evaluation::LinkEvaluation;
pub use link_trainer::{LinkLoaders, LinkTrainer};
pub use pass::{BatchPass, seed_of_step};
pub use prediction_scores::PredictionSums;
pub use regime::Regime;
pub use relation_degrees::RelationDegrees;
pub use sampled::{EvaluationLoaders, SampledTrainer};
pub use sampling_config::SamplingConfig;
pub use step_log::StepLog;
pub use stored_rows::{StoredRows, stored_rows};
pub use trainer::{Mark, Step, Trainer};
pub use training::Training;
pub use update::GradientReduce;
pub(crate) use update::TurnHooks;
