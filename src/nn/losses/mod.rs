//! Tasks, losses and scores.

pub(super) mod class_weights;
mod cross_entropy;
pub(super) mod link;
pub(super) mod link_score;
pub(super) mod loss;
pub(super) mod score;
pub(super) mod task;
