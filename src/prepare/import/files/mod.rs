//! The files of a graph, and the user's flags for them.

mod bad_rows;
mod checks;
mod column_of;
mod drawn_split;
mod edge_columns;
mod graph_files;
mod listed_labels;
mod node_tables;
mod types;

pub use bad_rows::{BadRowRule, BadRows};
pub use column_of::ColumnOf;
pub use drawn_split::{DrawnSplit, SplitOrder, SplitShares};
pub(in crate::prepare::import) use edge_columns::EdgeFileColumns;
pub use graph_files::{DataFile, EdgeFile, GraphFiles, NodeIds};
pub(crate) use graph_files::{NODE, edge};
pub use listed_labels::ListedLabels;
pub use node_tables::{FillMissing, NodeTableFile, NodeTables, Scale};
pub(crate) use types::unknown_etype;
