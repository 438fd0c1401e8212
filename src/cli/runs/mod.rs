//! Commands and flags of runs.

pub(super) mod added;
mod budget;
pub(super) mod config_file;
pub(super) mod configuration_flags;
pub(super) mod correct_and_smooth;
pub(super) mod disk_endurance;
pub(super) mod end_of_run;
pub(super) mod evaluation;
pub(super) mod evaluation_flags;
pub(super) mod future_config;
pub(super) mod link;
pub(super) mod model;
pub(super) mod model_kind;
pub(super) mod paths;
pub(super) mod pause;
pub(super) mod plan;
pub(super) mod predict;
pub(super) mod report;
pub(super) mod resume;
pub(super) mod run_flags;
pub(super) mod sampling;
pub(super) mod schedule;
pub(super) mod setting;
pub(super) mod settings;
pub(super) mod status;
pub(super) mod train;
pub(super) mod train_files;
