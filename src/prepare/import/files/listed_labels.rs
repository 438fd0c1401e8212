//! Labels of the nodes that a file lists.

use std::path::PathBuf;

/// A list of nodes of a type, and a file with a label for each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedLabels {
    /// Type of the nodes.
    pub ty: String,
    /// The file that lists them.
    pub nodes: PathBuf,
    /// The file of labels.
    pub labels: PathBuf,
}
