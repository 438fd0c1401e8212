//! Graphs from users' files: edge lists, tables, masks.
//!
//! An [`ImportSource`] is read into a [`RawGraph`]: edges in a temporary file, tables where they are.
//!
//! Everything that takes a file opens it as `readers::FileRows`. A file is looked at once: `readers::formats` finds its format, whose
//! `open` answers an `Ask` (the purpose of the rows, and the user's flags) with an `Opened`: the columns with their names and
//! forms, what the file says of the graph, and a `Reader`, which fills `CellBlock`s of cells. `FileRows` goes through them row by row and
//! gives a `CellValue` for each column that was selected. What a word of text means, and which words stand for nothing, is in
//! `readers::values`; which names are usual for sources, destinations and ids in `readers::names`.
//!
//! A format is a file in `readers` with a `FORMAT`, its line in `readers/mod.rs`, and its name in the table of
//! `readers/formats.rs`. It is read wherever files are.

mod drawn;
mod drawn_splits;
mod edge_columns;
mod edge_destination;
mod edge_files;
mod edge_remarks;
mod files;
mod graph;
mod id_spaces;
mod ids;
mod import_graph;
mod readers;
mod sources;
mod spool;
mod spooled_edges;
mod tables;

pub use files::{
    BadRowRule, BadRows, ColumnOf, DataFile, DrawnSplit, EdgeFile, FillMissing, GraphFiles,
    ListedLabels, NodeIds, NodeTableFile, NodeTables, Scale, SplitOrder, SplitShares,
};
pub use graph::{EdgeType, NodeType, RawEdges, RawGraph};
pub use ids::NodeNames;
pub(crate) use ids::{NODE_NAMES, names_file};
pub use import_graph::import;
#[cfg(feature = "torch")]
pub(crate) use readers::{Ask, FileRows, Wants, parse_id, shown};
pub use readers::{Comment, TextRules};
pub use sources::{ImportSource, import_partitions};
#[cfg(feature = "torch")]
pub(crate) use tables::{CLASS_NAMES, class_names_beside, class_names_file, class_names_of};
pub use tables::{ClassNames, Table, read_assignment};
pub(crate) use tables::{FEATURE_SCALE, read_class_names, write_class_names, write_feature_scale};
#[cfg(feature = "torch")]
pub use tables::{OriginalIdsFile, read_original_ids};
