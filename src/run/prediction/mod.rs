//! A prediction, from a run's folder to a file.

mod columns;
mod csv;
mod node_space;
mod parquet;
mod run;
mod table;

pub use run::predict;
