//! The configuration of a run.

mod check;
mod checksums;
pub(super) mod divergence;
pub(super) mod limits;
mod link_config;
mod memory_budget;
mod mode;
mod old_config;
pub(super) mod on_nan;
mod own_partitions;
pub(super) mod relations;
mod resources;
pub(super) mod run_config;
mod target_types;
mod weights_config;

pub(super) use check::{check, check_initial};
pub(super) use checksums::Checksums;
pub use link_config::{LinkConfig, PairScore};
pub use memory_budget::MemoryBudget;
pub use mode::{Layers, Mode, Pass};
pub use on_nan::OnNan;
pub use own_partitions::OwnPartitions;
pub use resources::Resources;
pub(crate) use run_config::toml_problem;
pub use run_config::{Relations, RunConfig};
pub use target_types::TargetTypes;
