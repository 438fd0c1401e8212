//! The command line: one file per command.

#[cfg(feature = "torch")]
mod added;
mod arguments;
mod choice;
mod clean;
mod completions;
#[cfg(feature = "torch")]
mod config_file;
#[cfg(feature = "torch")]
mod configuration_flags;
#[cfg(feature = "torch")]
mod correct_and_smooth;
#[cfg(feature = "torch")]
mod disk_endurance;
mod effect;
#[cfg(feature = "torch")]
mod end_of_run;
#[cfg(feature = "torch")]
mod evaluation;
#[cfg(feature = "torch")]
mod evaluation_flags;
mod export;
mod fields;
mod first_page;
mod free_folder;
mod front_door;
#[cfg(feature = "torch")]
mod future_config;
mod future_run;
mod generate;
mod given;
mod guesses;
mod inspect;
#[cfg(feature = "torch")]
mod link;
mod manual;
#[cfg(feature = "torch")]
mod model;
#[cfg(feature = "torch")]
mod model_kind;
mod node_tables;
mod num_parts;
mod output;
mod partition;
mod partition_report;
mod partition_tables;
#[cfg(feature = "torch")]
mod paths;
#[cfg(feature = "torch")]
mod pause;
#[cfg(feature = "torch")]
mod plan;
#[cfg(feature = "torch")]
mod predict;
#[cfg(feature = "torch")]
mod report;
#[cfg(feature = "torch")]
mod resume;
#[cfg(feature = "torch")]
mod sampling;
#[cfg(feature = "torch")]
mod schedule;
#[cfg(feature = "torch")]
mod setting;
#[cfg(feature = "torch")]
mod settings;
mod signals;
mod statistics_table;
#[cfg(feature = "torch")]
mod status;
mod table;
mod text_rules;
mod tips;
#[cfg(feature = "torch")]
mod train;
#[cfg(feature = "torch")]
mod train_files;
mod voice;
#[cfg(not(feature = "torch"))]
mod without_torch;

#[cfg(feature = "torch")]
pub use arguments::configuration;
pub use arguments::{definition, run, run_from};
#[cfg(feature = "torch")]
pub use configuration_flags::flags;
#[cfg(feature = "torch")]
pub use setting::Flag;
