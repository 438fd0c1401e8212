//! A set of trained values, and its part of checkpoints.

use tch::Tensor;

use super::checkpoint::{Checkpoint, Part};
use super::stored_rows::StoredRows;
use crate::engine::comm::Ranks;
use crate::engine::spill::{PartitionDataManager, PointerTensor};
use crate::engine::tape::ParameterSet;
use crate::engine::tensor;
use crate::io::Dtype;
use crate::nn::{LearnedRows, NodeEmbedding, Optimizer, OptimizerState, SharedArray};
use crate::words::error::Result;

/// The model's parameters, or the learned rows of a node type.
pub(super) struct TrainedSet<'a> {
    /// Prefix of the set's names in checkpoints.
    prefix: String,
    values: Values<'a>,
}

enum Values<'a> {
    /// Parameters: those of the model, which are equal on all ranks, or those that hold `rows` of a rank's own nodes.
    Held { parameters: &'a ParameterSet, rows: Option<&'a NodeEmbedding> },
    /// Rows of a rank's own nodes on disk; a separate optimizer keeps its state next to them.
    Stored(&'a StoredRows),
}

/// All trained values: the model's parameters, then learned rows, those on disk last.
pub(super) fn trained_sets<'a>(
    parameters: &'a ParameterSet,
    learned: Vec<&'a NodeEmbedding>,
    stored: Vec<&'a StoredRows>,
) -> Vec<TrainedSet<'a>> {
    let values = Values::Held { parameters, rows: None };
    let model = TrainedSet { prefix: String::new(), values };
    let learned = learned.into_iter().map(|rows| {
        let values = Values::Held { parameters: rows.parameters(), rows: Some(rows) };
        TrainedSet { prefix: prefix(rows), values }
    });
    let stored = stored
        .into_iter()
        .map(|rows| TrainedSet { prefix: prefix(rows), values: Values::Stored(rows) });
    std::iter::once(model).chain(learned).chain(stored).collect()
}

/// Prefix of the names of learned rows in a checkpoint.
fn prefix(rows: &dyn LearnedRows) -> String {
    rows.key().trim_end_matches("weight").to_owned()
}

impl<'a> TrainedSet<'a> {
    /// Sends this rank's rows to other machines, if the rows are on disk and there are other machines. One collective,
    /// and another one must follow.
    pub(super) fn send(&self, ranks: Ranks<'_>) -> Result<()> {
        match self.values {
            Values::Stored(rows) => rows.send(ranks),
            Values::Held { .. } => Ok(()),
        }
    }

    /// The values that an [`Optimizer`] updates; `None` if the set has its own optimizer.
    pub(super) fn parameters(&self) -> Option<&'a ParameterSet> {
        match self.values {
            Values::Held { parameters, .. } => Some(parameters),
            Values::Stored(_) => None,
        }
    }

    pub(super) fn copy(&self) -> Result<Tensor> {
        match self.values {
            Values::Stored(rows) => rows.rows(),
            Values::Held { parameters, .. } => tensor::copy(&*parameters.flat().pin()?),
        }
    }

    /// Whether all values of this rank are finite.
    pub(super) fn is_finite(&self) -> Result<bool> {
        let bad = match self.values {
            Values::Stored(rows) => tensor::first_not_finite(&rows.rows()?),
            Values::Held { parameters, .. } => tensor::first_not_finite(&*parameters.flat().pin()?),
        };
        Ok(bad.is_none())
    }

    /// Replaces the values by a copy that [`copy`](Self::copy) returned.
    pub(super) fn set(&self, values: Tensor) -> Result<()> {
        match self.values {
            Values::Stored(rows) => rows.set_rows(&values),
            Values::Held { parameters, .. } => parameters.set_flat(values),
        }
    }

    /// Arrays of a checkpoint: values, state of their optimizer, and best values.
    pub(super) fn arrays(
        &self,
        optimizer: Option<&Optimizer>,
        best: Option<PointerTensor>,
    ) -> Vec<SharedArray<'a>> {
        let OptimizerState { first, second, .. } =
            optimizer.map(Optimizer::state).unwrap_or_default();
        let kept = |name: &str, value: Option<PointerTensor>| {
            let value = value?;
            let size = value.size().to_vec();
            Some(self.array(name, &size, move || Ok(value.pin()?.shallow_clone())))
        };
        let mut arrays = Vec::new();
        match self.values {
            Values::Stored(rows) => {
                let size = [rows.nodes().own as i64, rows.width()];
                arrays.push(self.array("parameters", &size, move || rows.rows()));
                for (name, state) in rows.states() {
                    let size = [size[0], state.width()];
                    arrays.push(self.array(name, &size, move || state.rows()));
                }
            }
            Values::Held { .. } => {
                arrays.extend(kept("parameters", self.parameters().map(ParameterSet::flat)));
                arrays.extend(kept("optimizer.first", first));
                arrays.extend(kept("optimizer.second", second));
            }
        }
        arrays.extend(kept("best.parameters", best));
        arrays
    }

    fn array(
        &self,
        name: &str,
        size: &[i64],
        value: impl Fn() -> Result<Tensor> + 'a,
    ) -> SharedArray<'a> {
        let part = self.part(size);
        SharedArray {
            name: format!("{}{name}", self.prefix),
            dtype: Dtype::F32,
            shape: part.map_or_else(
                || size.iter().map(|side| *side as u64).collect(),
                |part| part.shape().to_vec(),
            ),
            first_byte: part.map(Part::first_byte),
            value: Box::new(value),
        }
    }

    /// The part of a matrix with all ranks' rows that an array of this size is; `None` if the set has no parts.
    fn part(&self, size: &[i64]) -> Option<Part> {
        let rows: &dyn LearnedRows = match self.values {
            Values::Held { rows: None, .. } => return None,
            Values::Held { rows: Some(rows), .. } => rows,
            Values::Stored(rows) => rows,
        };
        let width = if let [_, width] = size { *width } else { rows.width() };
        Some(Part { nodes: rows.nodes(), width })
    }

    /// Restores the values and the state of their optimizer.
    pub(super) fn set_state(
        &self,
        checkpoint: &Checkpoint,
        optimizer: Option<&mut Optimizer>,
        manager: &PartitionDataManager,
    ) -> Result<()> {
        let size = self.size();
        let take = |name: &str, size: &[i64]| self.take(checkpoint, name, size);
        self.set(take("parameters", &size)?)?;
        if let Some(optimizer) = optimizer {
            let step = checkpoint.progress.optimizer_steps;
            let moment = |has: bool, name: &str, label: &str| -> Result<Option<PointerTensor>> {
                let value = (has && step > 0).then(|| take(name, &size)).transpose()?;
                Ok(value.map(|value| manager.track(label, value)))
            };
            let config = optimizer.config();
            let first = moment(config.has_first(), "optimizer.first", "first-moment")?;
            let second = moment(config.has_second(), "optimizer.second", "second-moment")?;
            optimizer.set_state(OptimizerState { step, first, second });
        }
        if let Values::Stored(rows) = self.values {
            for (name, state) in rows.states() {
                state.set_rows(&take(name, &[size[0], state.width()])?)?;
            }
        }
        Ok(())
    }

    /// The best values in a checkpoint.
    pub(super) fn best(
        &self,
        checkpoint: &Checkpoint,
        manager: &PartitionDataManager,
    ) -> Result<PointerTensor> {
        let best = self.take(checkpoint, "best.parameters", &self.size())?;
        Ok(manager.track("best-weights", best))
    }

    /// Size of the values of this rank.
    fn size(&self) -> Vec<i64> {
        match self.values {
            Values::Stored(rows) => vec![rows.nodes().own as i64, rows.width()],
            Values::Held { parameters, .. } => parameters.flat().size().to_vec(),
        }
    }

    fn take(&self, checkpoint: &Checkpoint, name: &str, size: &[i64]) -> Result<Tensor> {
        checkpoint.tensor(&format!("{}{name}", self.prefix), size, self.part(size))
    }
}
