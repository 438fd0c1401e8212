//! Tables of nodes and edges: the roles of their columns, and the arrays made from them.

mod array_writer;
mod arrays;
mod assignment;
mod class_names;
mod column_scan;
mod encoding;
mod feature_encoding;
mod feature_scale;
mod listed_labels;
mod lists;
mod moments;
mod node_columns;
mod one_hot;
#[cfg(feature = "torch")]
mod original_ids;
mod remarks;
mod row_numbers;
mod scanned_table;
mod several_splits;
mod splits;
mod table;

pub(crate) use array_writer::{ConvertedArray, NUMBERS, edge_value, needs_double};
pub(crate) use array_writer::{bytes_of, storable};
pub(crate) use arrays::open_array;
pub use assignment::read_assignment;
pub use class_names::ClassNames;
#[cfg(feature = "torch")]
pub(crate) use class_names::{CLASS_NAMES, class_names_beside, class_names_file, class_names_of};
pub(crate) use class_names::{all_class_names, read_class_names, write_class_names};
pub(crate) use feature_encoding::{FEATURE_ENCODING, TableEncoding, table_encodings};
pub(crate) use feature_scale::FEATURE_SCALE;
pub(crate) use listed_labels::listed_labels;
pub(crate) use node_columns::EmbeddedColumn;
pub(crate) use one_hot::class_numbers;
#[cfg(feature = "torch")]
pub use original_ids::{OriginalIdsFile, read_original_ids};
pub(crate) use remarks::remarks;
pub(crate) use scanned_table::{ScannedTable, TableScan};
pub(crate) use several_splits::{NodeCount, SeveralSplits};
pub(crate) use splits::{check_mask, mask_name, read_split};
pub use table::Table;
