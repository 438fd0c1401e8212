//! Trainable rows for nodes or edges, on disk.

use std::sync::Arc;

use super::dist_tensor::{DistTensor, DistTensorConfig};
use crate::engine::comm::Ranks;
use crate::graph::PartitionBook;
use crate::words::error::{Error, Result};

/// DGL's `DistEmbedding`: learned float32 rows that may exceed memory. A step reads the rows it needs
/// ([`lookup`](Self::lookup)) and returns their gradients ([`accumulate`](Self::accumulate)); an optimizer
/// ([`SparseAdam`](super::SparseAdam), [`SparseAdagrad`](super::SparseAdagrad)) updates only those rows.
pub struct DistEmbedding {
    weight: DistTensor<f32>,
    /// Ids and gradients recorded since the last step.
    trace: (Vec<u64>, Vec<f32>),
}

impl DistEmbedding {
    /// Creates an embedding whose rows `init(index of the first row, rows)` fills. One rank calls this; the others
    /// [`open`](Self::open) the embedding after a barrier.
    ///
    /// # Errors
    /// As for [`DistTensor::create`].
    pub fn create(
        book: &Arc<PartitionBook>,
        config: &DistTensorConfig<'_>,
        init: impl FnMut(u64, &mut [f32]),
    ) -> Result<Self> {
        Ok(Self::of(DistTensor::create_with(book, config, init)?))
    }

    /// Opens an embedding that another rank, or an earlier run, has created.
    ///
    /// # Errors
    /// As for [`DistTensor::open`].
    pub fn open(book: &Arc<PartitionBook>, config: &DistTensorConfig<'_>) -> Result<Self> {
        Ok(Self::of(DistTensor::open(book, config)?))
    }

    /// Creates the embedding and opens it on all ranks, as [`DistTensor::on_all_ranks`] does: DGL's constructor.
    /// [`start_values`](super::start_values()) returns functions for `init`.
    ///
    /// # Errors
    /// As for [`DistTensor::on_all_ranks`].
    pub fn on_all_ranks(
        book: &Arc<PartitionBook>,
        config: &DistTensorConfig<'_>,
        init: impl FnMut(u64, &mut [f32]),
        ranks: Ranks<'_>,
    ) -> Result<Self> {
        Ok(Self::of(DistTensor::on_all_ranks(book, config, init, ranks)?))
    }

    fn of(weight: DistTensor<f32>) -> Self {
        DistEmbedding { weight, trace: Default::default() }
    }

    /// Name of the embedding.
    pub fn name(&self) -> &str {
        self.weight.name()
    }

    /// Number of rows (DGL's `num_embeddings`).
    pub fn num_embeddings(&self) -> u64 {
        self.weight.shape()[0]
    }

    /// Number of elements per row (DGL's `embedding_dim`).
    pub fn embedding_dim(&self) -> usize {
        self.weight.width()
    }

    /// The rows as a tensor.
    pub fn weight(&self) -> &DistTensor<f32> {
        &self.weight
    }

    /// Reads rows by type-wise ids (in any order, repetitions allowed), `[ids.len(), embedding_dim]`.
    ///
    /// # Errors
    /// If a row does not exist (`Config`), or the file cannot be read (`Io`).
    pub fn lookup(&self, ids: &[u64]) -> Result<Vec<f32>> {
        self.weight.read(ids)
    }

    /// Records the gradients of rows, `[ids.len(), embedding_dim]`, for the optimizer's next step.
    ///
    /// # Errors
    /// If a row does not exist or the number of gradients is wrong.
    pub fn accumulate(&mut self, ids: &[u64], gradients: &[f32]) -> Result<()> {
        if gradients.len() != ids.len() * self.embedding_dim() {
            let dim = self.embedding_dim();
            let problem = format!("{} gradients for {} rows of {dim}", gradients.len(), ids.len());
            return Err(Error::config("gradients", problem));
        }
        if let Some(id) = ids.iter().find(|id| **id >= self.num_embeddings()) {
            let problem = format!("there is no row {id}; ids are below {}", self.num_embeddings());
            return Err(Error::config("ids", problem));
        }
        self.trace.0.extend_from_slice(ids);
        self.trace.1.extend_from_slice(gradients);
        Ok(())
    }

    /// Drops the gradients recorded since the last step.
    pub fn zero_grad(&mut self) {
        self.trace = Default::default();
    }

    pub(super) fn take_trace(&mut self) -> (Vec<u64>, Vec<f32>) {
        std::mem::take(&mut self.trace)
    }
}
