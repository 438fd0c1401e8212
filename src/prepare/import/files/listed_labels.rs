//! Labels of nodes that a file lists.

use std::path::PathBuf;

/// A list of nodes of one type, and a file with a label for each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedLabels {
    /// Type of the nodes.
    pub ty: String,
    /// The file that lists the nodes.
    pub nodes: PathBuf,
    /// The file with their labels.
    pub labels: PathBuf,
}
