//! One rank of a full-batch training.

use std::rc::Rc;
use std::time::Instant;

use tch::Tensor;

use super::counts::{Accuracies, Counts, Totals};
use crate::comm::{ProcessGroup, ReduceOp, all_reduce, gather_grads};
use crate::error::{Error, Result};
use crate::event::{EpochReport, Evaluation};
use crate::io::IoTotals;
use crate::ipc::Phase;
use crate::nn::{Model, Optimizer, cross_entropy};
use crate::spill::{PartitionDataManager, PointerTensor};
use crate::tape::{Graph, ParameterSet, Policy, Tape, Var};

/// A model with this rank's part of the data. Labels and masks are those of the manager.
pub struct Trainer<'a> {
    /// This rank's data.
    pub manager: &'a Rc<PartitionDataManager>,
    /// The other ranks.
    pub group: &'a dyn ProcessGroup,
    /// Input features, one row per source of the first layer's graph.
    pub features: PointerTensor,
    /// One graph per layer.
    pub graphs: Vec<&'a dyn Graph>,
    /// The model.
    pub model: &'a dyn Model,
    /// Its parameters.
    pub parameters: &'a Rc<ParameterSet>,
    /// Nodes of each mask, over all ranks.
    pub totals: Totals,
    /// Seed of dropout.
    pub seed: u64,
    /// What happens to the inside of segments.
    pub policy: Policy,
}

/// What a forward and backward pass over all ranks gives.
pub struct Step {
    /// Mean over the training nodes.
    pub loss: f64,
    /// Gradients laid out as [`ParameterSet::flat`].
    pub gradient: Tensor,
    /// Of the forward pass.
    pub accuracies: Accuracies,
    /// Bytes written and read by all ranks since the mark.
    io: IoTotals,
}

/// A moment in the life of a rank, to tell what happened since.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    time: Instant,
    turns: u64,
    io: IoTotals,
}

impl Trainer<'_> {
    /// Now.
    pub fn mark(&self) -> Mark {
        Mark {
            // The end of a collective is the same moment on all ranks; their turns come one after the other.
            time: self.manager.last_collective().unwrap_or_else(Instant::now),
            turns: self.manager.lock().turns(),
            io: self.manager.store().counters().totals(),
        }
    }

    /// Forward and backward pass of epoch `epoch` (from 1), with gradients and counts summed over the ranks; no update.
    /// `on_logits` gets the logits of own nodes, `[num_inner_nodes, classes]`.
    pub fn step(
        &self,
        epoch: u32,
        since: &Mark,
        on_logits: &mut dyn FnMut(&Tensor) -> Result<()>,
    ) -> Result<Step> {
        self.manager.lock().status().set_epoch(epoch);
        let tape = Tape::training(self.manager, self.parameters, self.policy, (self.seed, epoch));
        let (tape, logits) = self.forward(tape)?;
        let (counts, gradient) = {
            let values = logits.pin()?;
            on_logits(&values)?;
            self.loss(&values)?
        };
        let gradients = tape.backward(logits, gradient)?;
        self.manager.set_phase(Phase::GatherGrads);
        let flat = self.parameters.flat_gradients(&gradients)?;
        drop(gradients);
        let io = self.mark().io;
        let written = [io.written - since.io.written, io.read - since.io.read];
        let written = Tensor::f_from_slice(&written.map(|bytes| bytes as i64))?;
        let sums = vec![flat, counts.to_tensor()?, written];
        let sums = gather_grads(self.group, sums, &**self.manager)?;
        let [gradient, counts, written] = <[Tensor; 3]>::try_from(sums)
            .map_err(|_| Error::Internal("gathering lost a tensor".to_owned()))?;
        let (loss, accuracies) = Counts::from_tensor(&counts)?.over(self.totals);
        let written: Vec<i64> = Vec::try_from(written)?;
        let io = IoTotals { written: written[0] as u64, read: written[1] as u64 };
        Ok(Step { loss, gradient, accuracies, io })
    }

    /// One epoch: a [`step`](Trainer::step) and the optimizer's update. `mark` is where it begins and moves to its end.
    pub fn epoch(
        &self,
        epoch: u32,
        optimizer: &mut Optimizer,
        mark: &mut Mark,
    ) -> Result<EpochReport> {
        let step = self.step(epoch, mark, &mut |_| Ok(()))?;
        optimizer.step(self.parameters, step.gradient)?;
        let begin = std::mem::replace(mark, self.mark());
        Ok(EpochReport {
            epoch,
            loss: step.loss,
            train_acc: step.accuracies.train,
            val_acc: step.accuracies.val,
            test_acc: step.accuracies.test,
            epoch_s: (mark.time - begin.time).as_secs_f64(),
            lock_turns: mark.turns - begin.turns,
            bytes_written: step.io.written,
            bytes_read: step.io.read,
        })
    }

    /// A forward pass without dropout; loss and accuracies over all ranks.
    pub fn evaluate(&self) -> Result<Evaluation> {
        let counts = {
            let (_, logits) = self.forward(Tape::evaluation(self.manager, self.parameters))?;
            let values = logits.pin()?;
            self.loss(&values)?.0
        };
        let sums =
            all_reduce(self.group, vec![counts.to_tensor()?], ReduceOp::Sum, &**self.manager)?;
        let (loss, Accuracies { train, val, test }) =
            Counts::from_tensor(&sums[0])?.over(self.totals);
        Ok(Evaluation { loss, train_acc: train, val_acc: val, test_acc: test })
    }

    fn forward<'t>(&'t self, mut tape: Tape<'t>) -> Result<(Tape<'t>, Var)> {
        let features = tape.input(&self.features);
        let logits = self.model.forward(&mut tape, &self.graphs, features)?;
        Ok((tape, logits))
    }

    /// This rank's counts, and the gradient of the loss.
    fn loss(&self, logits: &Tensor) -> Result<(Counts, Tensor)> {
        let labels = self.manager.labels.get().ok_or_else(|| missing("labels"))?.pin()?;
        let masks = self.manager.masks.get().ok_or_else(|| missing("masks"))?;
        let (loss, gradient) =
            cross_entropy(logits, &labels, &*masks.train.pin()?, self.totals.train)?;
        Ok((Counts::new(loss, logits, &labels, masks)?, gradient))
    }
}

fn missing(what: &str) -> Error {
    Error::Internal(format!("the trainer has no {what}"))
}
