//! The command line: one file per command.

mod arguments;
mod choice;
mod clean;
mod completions;
mod effect;
mod export;
mod fields;
mod first_page;
mod free_folder;
mod front_door;
mod future_run;
mod generate;
mod given;
mod guesses;
mod inspect;
mod manual;
mod node_tables;
mod num_parts;
mod output;
mod partition;
mod partition_report;
mod partition_tables;
#[cfg(feature = "torch")]
mod runs;
mod signals;
mod statistics_table;
mod table;
mod text_rules;
mod tips;
mod voice;
#[cfg(not(feature = "torch"))]
#[warn(dead_code, unused_imports)]
mod without_torch;

#[cfg(feature = "torch")]
pub use arguments::configuration;
pub use arguments::{definition, run, run_from};
#[cfg(feature = "torch")]
pub use runs::{configuration_flags::flags, setting::Flag};
