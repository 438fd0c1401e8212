//! Optimizers, schedules of the learning rate, gradient clipping.

pub(super) mod clip;
pub(super) mod optimizer;
pub(super) mod schedule;
