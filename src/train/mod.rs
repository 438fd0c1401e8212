//! Full-batch training: epochs, evaluation, checkpoints.

mod checkpoint;
mod class_table;
mod counts;
mod early_stopping;
mod evaluation;
mod roc_auc;
mod trainer;
mod training;

pub use checkpoint::{Checkpoint, Progress};
pub use counts::Totals;
pub use early_stopping::BestEpoch;
pub use trainer::{Mark, Step, Trainer};
pub use training::{Regime, Training};
