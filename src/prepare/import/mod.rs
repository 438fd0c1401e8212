//! Graphs from users' files: edge lists, tables, masks.
//!
//! An [`ImportSource`] is read into a [`RawGraph`]: edges in a temporary file, tables where they are.
//!
//! Everything that takes a file opens it as `readers::FileRows`. A file is examined once: `readers::formats` finds its
//! format, whose `open` answers an `Ask` (the purpose of the rows, and the user's flags) with an `Opened`: the columns
//! with names and forms, facts about the graph, and a `Reader` that fills `CellBlock`s of cells. `FileRows` iterates
//! over their rows and returns a `CellValue` for each selected column. `readers::values` defines the meaning of words
//! in text, including words for missing values; `readers::names` lists usual names of sources, destinations and ids.
//!
//! A format is a file in `readers` with a `FORMAT`, a line in `readers/mod.rs`, and a name in the table of
//! `readers/formats.rs`. All flags that take a file then read it.

mod added;
mod drawn;
mod edges;
mod files;
mod graph;
mod ids;
mod import_graph;
mod readers;
mod sources;
mod spool;
mod tables;

pub(crate) use added::{AllNodes, KnownNodes, NewEdges, NewNodes, read_new_edges};
pub use files::{
    BadRowRule, BadRows, ColumnOf, DataFile, DrawnSplit, EdgeFile, FillMissing, GraphFiles,
    ListedLabels, NodeIds, NodeTableFile, NodeTables, Scale, SplitOrder, SplitShares,
};
pub(crate) use files::{NODE, edge};
pub(crate) use graph::RawEdgeWriter;
pub use graph::{EdgeType, NodeType, RawEdges, RawGraph};
pub use ids::NodeNames;
pub(crate) use ids::{NODE_NAMES, NamesMemory, names_file};
pub use import_graph::import;
pub(crate) use readers::{Ask, CellValue, FileRows, Wants, nearest, parse_id, shown};
pub use readers::{Comment, EdgeShape, TextRules};
pub(crate) use sources::OpenedPartitions;
pub use sources::{ImportSource, import_partitions};
pub(crate) use tables::{CLASS_NAMES, class_names_beside, class_names_file, class_names_of};
pub use tables::{ClassNames, OriginalIdsFile, Table, read_assignment, read_original_ids};
pub(crate) use tables::{ConvertedArray, TableEncoding, table_encodings};
pub(crate) use tables::{FEATURE_ENCODING, FEATURE_SCALE, read_class_names, write_class_names};
