//! Training of node classification, on full graphs and on sampled neighbourhoods.

mod counts;
mod sampled;
mod sampling_config;
mod trainer;

pub use counts::{Accuracies, Totals};
pub use sampled::{FEATURES, LABELS, Reduce, SampledEpoch, SampledTrainer, block_graphs};
pub use sampling_config::SamplingConfig;
pub use trainer::{Mark, Step, Trainer};
