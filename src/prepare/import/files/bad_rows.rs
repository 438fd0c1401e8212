//! The treatment of bad rows of files of edges.

use std::path::PathBuf;

use crate::choice::{Choice, Named};

/// The treatment of bad rows, after all files have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRows {
    /// An error, if there are any bad rows
    Error,
    /// Left out; the others make the graph
    Skip,
}

impl Choice for BadRows {
    const VALUES: &'static [Named<Self>] = &[
        Named::new(BadRows::Error, "error", "An error, if there are any bad rows"),
        Named::new(BadRows::Skip, "skip", "Left out; the others make the graph"),
    ];
}

/// The treatment of bad rows, and the file that lists them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRowRule {
    /// The treatment.
    pub rows: BadRows,
    /// The file that lists bad rows.
    pub list: PathBuf,
}
