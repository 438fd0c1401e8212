//! The layout of rows in messages.

use tch::Kind;

use crate::io::Dtype;

/// The rows in one part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLayout {
    /// Number of columns.
    pub width: usize,
    /// Element type in which the rows are used.
    pub kind: Kind,
    /// A narrower type that represents all values exactly, in which single-precision rows are sent, if all ranks know
    /// one.
    pub exact: Option<Dtype>,
}

impl RowLayout {
    /// Layout of rows with arbitrary values.
    pub fn new(width: usize, kind: Kind) -> Self {
        RowLayout { width, kind, exact: None }
    }
}
