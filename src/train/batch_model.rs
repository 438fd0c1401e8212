//! The interface of models on sampled batches.

use std::rc::Rc;

use super::stored_rows::StoredRows;
use crate::engine::comm::{Posted, ProcessGroup, Ranks};
use crate::engine::spill::PartitionDataManager;
use crate::engine::tape::{Gradients, ParameterSet, Tape, Var};
use crate::load::RowBytes;
use crate::nn::LearnedRows;
use crate::sampling::loaders::MiniBatch;
use crate::sampling::stores::GraphSource;
use crate::words::error::Result;

/// A model that a [`SampledTrainer`](super::SampledTrainer) trains.
pub trait BatchModel {
    /// Prepares a batch; its features get the parameters' type.
    ///
    /// # Errors
    /// If a row cannot be read, or an operation fails.
    fn take_up<'b>(
        &'b self,
        manager: &Rc<PartitionDataManager>,
        parameters: &ParameterSet,
        graph: &dyn GraphSource,
        batch: &MiniBatch,
    ) -> Result<Box<dyn BatchForward + 'b>>;

    /// Sends the [kept](BatchForward::keep_gradients) gradients of learned rows to the rows' owners. Every rank calls this
    /// in each step, in the turn of its batch.
    ///
    /// # Errors
    /// If a message cannot be written (`Io`, `OutOfDisk`).
    fn post_rows(&self, _group: &dyn ProcessGroup) -> Result<Vec<Posted>> {
        Ok(Vec::new())
    }

    /// Updates learned rows with the gradients that all ranks have [posted](Self::post_rows). Every rank calls this in each
    /// step, without a turn. The hooks may take one, and the caller gives it up. Another collective must follow before the
    /// rows are read.
    ///
    /// # Errors
    /// If rows cannot be read or written, or the collective fails.
    fn update_rows(&self, _posted: Vec<Posted>, _lr: f64, _ranks: Ranks<'_>) -> Result<()> {
        Ok(())
    }

    /// Bytes of rows that the model's batches have used so far, beyond those of a sampler, and bytes that were read for
    /// them.
    fn row_bytes(&self) -> RowBytes {
        RowBytes::default()
    }

    /// Learned rows on disk, which [`update_rows`](BatchModel::update_rows) updates.
    fn stored(&self) -> Vec<&StoredRows> {
        Vec::new()
    }

    /// The same rows, as weights of the model.
    fn learned_rows(&self) -> Vec<&dyn LearnedRows> {
        self.stored().into_iter().map(|rows| rows as &dyn LearnedRows).collect()
    }
}

/// The forward pass over a batch.
pub trait BatchForward {
    /// Computes the model's output, `[seeds, outputs]`; also returns the learned rows that it used.
    ///
    /// # Errors
    /// If an operation fails.
    fn forward<'t>(&'t self, tape: &mut Tape<'t>) -> Result<(Var, Vec<Var>)>;

    /// Keeps the gradients of these learned rows for [`BatchModel::post_rows`].
    ///
    /// # Errors
    /// If a gradient cannot be read back (`Io`, `Corrupt`).
    fn keep_gradients(&self, _learned: &[Var], _gradients: &Gradients) -> Result<()> {
        Ok(())
    }
}
