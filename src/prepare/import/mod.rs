//! Graphs from users' files: edge lists, tables, masks.
//!
//! A [`ImportSource`] is read into a [`RawGraph`]: edges in a temporary file, tables where they are.

mod assignment;
mod cells;
mod chunked;
mod class_names;
mod column_file;
mod column_of;
mod column_scan;
mod edge_files;
mod encoding;
mod files;
mod format;
mod graph;
mod id_space;
mod id_spaces;
mod import_graph;
mod metis_graph;
mod named_rows;
mod node_names;
mod node_tables;
mod numbers;
mod numpy;
mod ogb;
mod ogb_relations;
mod parquet;
mod parquet_pages;
mod parquet_rows;
mod partitions;
mod raw_edges;
mod records;
mod reverse;
mod scanned_table;
mod source;
mod splits;
mod stdin;
mod table;
mod table_ids;
mod tables;
mod text;

pub use assignment::read_assignment;
pub(crate) use class_names::{CLASS_NAMES, read_class_names, write_class_names};
pub use column_of::ColumnOf;
pub use files::{DataFile, EdgeFile, GraphFiles, NodeIds};
pub use graph::{EdgeType, NodeType, RawGraph};
pub use import_graph::import;
pub use node_names::NodeNames;
pub(crate) use node_names::{NODE_NAMES, names_file};
pub use node_tables::{FillMissing, NodeTableFile, NodeTables};
pub use partitions::import_partitions;
pub use raw_edges::RawEdges;
#[cfg(feature = "torch")]
pub(crate) use records::Records;
pub use source::ImportSource;
pub use table::Table;
#[cfg(feature = "torch")]
pub(crate) use text::{Lines, parse_id, shown, unquoted};
