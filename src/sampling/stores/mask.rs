//! Tensors of truth values.

use std::sync::Arc;

use super::dist_tensor::{DistTensor, DistTensorConfig};
use crate::error::{Error, Result};

/// Truth values are bytes, 0 or not, as in the masks of DGL's partitions.
impl DistTensor<u8> {
    /// A tensor that is 1 where this one or `other` is not 0, and 0 elsewhere: `a | b` of DGL's `DistTensor`s. One rank calls
    /// this, as for [`create`](Self::create); only folder, name and persistence of `config` are used.
    ///
    /// # Errors
    /// If the tensors differ in the owners of their rows or in width, or as for [`create`](Self::create).
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

    /// Whether each value is not 0, for a tensor with one per row: for [`node_split`](super::node_split) and
    /// [`edge_split`](super::edge_split). Takes a byte of memory per row.
    ///
    /// # Errors
    /// If rows have another number of values than one, or the file cannot be read.
    pub fn to_mask(&self) -> Result<Vec<bool>> {
        if self.width() != 1 {
            let problem = format!("{} has {} values per row", self.name(), self.width());
            return Err(Error::config("mask", problem).with_hint("a mask has one"));
        }
        let mut mask = Vec::with_capacity(self.len() as usize);
        for rows in self.chunks(0..self.len()) {
            let values = self.read(&rows.collect::<Vec<_>>())?;
            mask.extend(values.into_iter().map(|value| value != 0));
        }
        Ok(mask)
    }
}
