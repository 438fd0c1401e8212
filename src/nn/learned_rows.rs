//! What learned rows have in common, wherever they lie.

use tch::Tensor;

use crate::error::Result;
use crate::graph::TypeNodes;

/// A learned row for every node of a type; each rank keeps those of its own nodes.
pub trait LearnedRows {
    /// The state-dict key, `embeds.<node type>.weight`.
    fn key(&self) -> &str;

    /// The nodes.
    fn nodes(&self) -> TypeNodes;

    /// Elements per row.
    fn width(&self) -> i64;

    /// The rows of own nodes, `[own nodes, width]`. They may share memory with what keeps them: drop them before the next
    /// collective.
    fn rows(&self) -> Result<Tensor>;

    /// Replaces the rows of own nodes.
    fn set_rows(&self, rows: &Tensor) -> Result<()>;

    /// Rows and columns over all ranks.
    fn shape(&self) -> [u64; 2] {
        [self.nodes().total, self.width() as u64]
    }

    /// Where this rank's rows begin in an array of the rows of all ranks, in float32.
    fn first_byte(&self) -> u64 {
        self.nodes().first * self.width() as u64 * size_of::<f32>() as u64
    }
}
