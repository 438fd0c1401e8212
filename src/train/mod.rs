//! Full-batch training of node classification.

mod counts;
mod trainer;

pub use counts::{Accuracies, Totals};
pub use trainer::{Mark, Step, Trainer};
