//! Masks: truth values of nodes or edges.

use std::sync::Arc;

use super::dist_tensor::{DistElement, DistTensor, DistTensorConfig};
use crate::load::NodeColumn;
use crate::words::error::{Error, Result};

/// A selection of nodes or edges, for [`node_split`](super::node_split) and [`edge_split`](super::edge_split), which
/// read it in pieces.
pub trait SplitMask {
    /// Number of values, one per node or edge of the split type; `None` for a column that is indexed by homogeneous
    /// ids.
    fn num_values(&self) -> Option<u64>;

    /// Whether each of these nodes or edges is selected.
    ///
    /// # Errors
    /// If there is more than one value per id, or a file cannot be read.
    fn chooses(&self, ids: &[u64]) -> Result<Vec<bool>>;
}

impl SplitMask for [bool] {
    fn num_values(&self) -> Option<u64> {
        Some(self.len() as u64)
    }

    fn chooses(&self, ids: &[u64]) -> Result<Vec<bool>> {
        Ok(ids.iter().map(|id| self[*id as usize]).collect())
    }
}

impl<T: DistElement> SplitMask for DistTensor<T> {
    fn num_values(&self) -> Option<u64> {
        Some(self.len())
    }

    fn chooses(&self, ids: &[u64]) -> Result<Vec<bool>> {
        check_width(self.name(), self.width())?;
        Ok(self.read(ids)?.into_iter().map(|value| value != T::default()).collect())
    }
}

/// Nodes of types without the column are not selected.
impl SplitMask for NodeColumn {
    fn num_values(&self) -> Option<u64> {
        None
    }

    fn chooses(&self, ids: &[u64]) -> Result<Vec<bool>> {
        check_width("the column", self.width())?;
        let mut values = vec![0; ids.len()];
        self.read_i64(ids, &mut values)?;
        Ok(values.into_iter().map(|value| value != 0).collect())
    }
}

fn check_width(name: &str, width: usize) -> Result<()> {
    if width == 1 {
        return Ok(());
    }
    Err(Error::config("mask", format!("{name} has {width} values per row"))
        .with_hint("a mask has one"))
}

/// Truth values are bytes, 0 or not, as in the masks of DGL's partitions.
impl DistTensor<u8> {
    /// Creates a tensor that is 1 where this one or `other` is not 0, and 0 elsewhere: `a | b` of DGL's `DistTensor`s.
    /// One rank calls this, as for [`create`](Self::create); only folder, name and persistence of `config` are used.
    ///
    /// # Errors
    /// If the tensors differ in width or in the owners of their rows, or as for [`create`](Self::create).
    pub fn or(&self, other: &Self, config: &DistTensorConfig<'_>) -> Result<Self> {
        let same_book = Arc::ptr_eq(self.book(), other.book()) || self.book() == other.book();
        if (self.shape(), self.policy()) != (other.shape(), other.policy()) || !same_book {
            let problem = format!(
                "{} of {:?} and {} of {:?} differ in shape",
                self.name(),
                self.shape(),
                other.name(),
                other.shape()
            );
            return Err(Error::config("or", problem)
                .with_hint("combine tensors of the same nodes or edges"));
        }
        let row_shape: Vec<usize> = self.shape()[1..].iter().map(|size| *size as usize).collect();
        let policy = self.policy();
        let config = DistTensorConfig { row_shape: &row_shape, policy, ..config.clone() };
        let joined = Self::create(self.book(), &config)?;
        for rows in self.chunks(0..self.len()) {
            let ids: Vec<u64> = rows.clone().collect();
            let values = self.read(&ids)?.into_iter().zip(other.read(&ids)?);
            let values: Vec<u8> = values.map(|(a, b)| u8::from(a | b != 0)).collect();
            joined.write_range(rows.start, &values)?;
        }
        Ok(joined)
    }
}
