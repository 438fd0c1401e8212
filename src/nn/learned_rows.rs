//! The interface of learned rows, in memory or on disk.

use tch::Tensor;

use crate::graph::TypeNodes;
use crate::words::error::Result;

/// Learned rows of a node type, one per node; each rank keeps the rows of its own nodes.
pub trait LearnedRows {
    /// The state-dict key, `embeds.<node type>.weight`.
    fn key(&self) -> &str;

    /// The nodes of the type.
    fn nodes(&self) -> TypeNodes;

    /// Number of elements per row.
    fn width(&self) -> i64;

    /// The rows of own nodes, `[own nodes, width]`. They may share memory with their store: drop them before the next
    /// collective.
    ///
    /// # Errors
    /// If the rows cannot be read (`Io`, `Corrupt`).
    fn rows(&self) -> Result<Tensor>;

    /// Replaces the rows of own nodes.
    ///
    /// # Errors
    /// If the rows have another shape, or cannot be written (`Io`, `OutOfDisk`).
    fn set_rows(&self, rows: &Tensor) -> Result<()>;

    /// `[rows, columns]` over all ranks.
    fn shape(&self) -> [u64; 2] {
        [self.nodes().total, self.width() as u64]
    }

    /// Offset of this rank's rows, in bytes, in an array of the rows of all ranks in float32.
    fn first_byte(&self) -> u64 {
        self.nodes().first * self.width() as u64 * size_of::<f32>() as u64
    }
}
