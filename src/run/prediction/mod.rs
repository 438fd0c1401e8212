//! A prediction, from a run's folder to a file.

mod columns;
mod csv;
mod link_answers;
mod link_table;
mod name_index;
mod node_space;
mod parquet;
mod question;
mod run;
mod table;

pub use run::predict;
