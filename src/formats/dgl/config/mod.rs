//! The JSON file of a partition directory, in every form that DGL has written.

mod canonical;
mod field;
mod id_maps;
mod open;
mod part_files;
pub(super) mod partition_config;
mod types;

pub use part_files::PartFiles;
pub use partition_config::PartitionConfig;
