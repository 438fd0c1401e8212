//! The flags for tables of nodes.

use std::path::PathBuf;

use super::column_of::ColumnOf;
use crate::words::choice::choices;

choices! {
    /// The replacement for a missing value.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FillMissing {
        /// The mean of the column; for strings the share of each
        Mean = "mean",
        /// 0; for strings, 0 for each
        Zero = "0",
    }
}

choices! {
    /// How numbers of tables become features.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Scale {
        /// Subtract the mean of the column, and divide by its standard deviation
        @default Standard = "standard",
        /// As they are
        None = "none",
    }
}

/// A table of nodes with a column of ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTableFile {
    /// Type of the nodes.
    pub ty: String,
    /// Path of the file.
    pub path: PathBuf,
}

/// Tables of nodes with columns of ids, labels and features.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeTables {
    /// The tables, at most one per node type.
    pub files: Vec<NodeTableFile>,
    /// Columns with the ids of nodes.
    pub ids: Vec<ColumnOf<String>>,
    /// Columns with labels.
    pub labels: Vec<ColumnOf<String>>,
    /// Columns that are left out.
    pub drops: Vec<ColumnOf<String>>,
    /// Columns whose values become nodes of a separate type without features, whose rows are therefore learned.
    pub embeds: Vec<ColumnOf<String>>,
    /// Columns whose values name a node's mask: train, val or test.
    pub splits: Vec<ColumnOf<String>>,
    /// Columns whose values order the nodes of a split. They are not features.
    pub orders: Vec<ColumnOf<String>>,
    /// Replacement of missing values; if `None`, a missing value is an error.
    pub fill_missing: Option<FillMissing>,
    /// How numbers become features.
    pub scale: Scale,
}
