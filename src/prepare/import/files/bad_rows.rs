//! The treatment of bad rows of files of edges and of node tables.

use std::path::PathBuf;

use crate::words::choice::choices;

choices! {
    /// The treatment of bad rows, after all files have been read.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum BadRows {
        /// An error, if there are any bad rows
        Error = "error",
        /// Left out; the others make the graph
        Skip = "skip",
    }
}

/// Treatment of bad rows, and the file that lists them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRowRule {
    /// The treatment.
    pub rows: BadRows,
    /// The file that lists bad rows.
    pub list: PathBuf,
}
