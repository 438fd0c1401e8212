//! A prediction, from a run's folder to a file.

mod array;
mod cells;
mod checks;
mod columns;
mod csv;
mod extended_graph;
mod link_answers;
mod name_index;
mod node_space;
mod numbering;
mod parquet;
mod predicted_graph;
mod question;
mod ranked_table;
mod run;
mod table;
mod table_file;
mod words;

pub use run::predict;
