//! One rank of full-graph training.

use std::rc::Rc;
use std::time::Instant;

use tch::Tensor;

use super::counts::{Counts, Totals};
use super::forward::Forward;
use crate::engine::comm::{ProcessGroup, gather_grads};
use crate::engine::spill::{Masks, PartitionDataManager, PointerTensor};
use crate::engine::tape::{Constants, ParameterSet, Policy, Tape, Var};
use crate::engine::turns::Phase;
use crate::event::{Scores, SpanKind, span};
use crate::io::IoTotals;
use crate::nn::{Loss, sum_of_squares};
use crate::platform::ProcessorSeconds;
use crate::words::error::{Error, Result};

/// A model with this rank's part of the data.
pub struct Trainer<'a> {
    /// This rank's data.
    pub manager: &'a Rc<PartitionDataManager>,
    /// The process group of all ranks.
    pub group: &'a dyn ProcessGroup,
    /// The model with its inputs.
    pub forward: &'a dyn Forward,
    /// Labels, one row per output of the model.
    pub labels: PointerTensor,
    /// The training, validation and test labels among them.
    pub masks: Masks,
    /// The model's parameters.
    pub parameters: &'a Rc<ParameterSet>,
    /// The loss of the task.
    pub loss: Loss,
    /// Divisor of the loss of all ranks' training nodes; see [`Loss::divisor`].
    pub divisor: f64,
    /// Number of columns of the model's output.
    pub outputs: i64,
    /// Number of nodes of each mask, over all ranks.
    pub totals: Totals,
    /// Whether the area under the ROC curve is also computed for more than two classes.
    pub roc_auc: bool,
    /// Seed of dropout.
    pub seed: u64,
    /// The policy for values inside segments.
    pub policy: Policy,
    /// Results that passes over these graphs reuse; initially empty.
    pub constants: Constants,
}

/// Results of a forward and a backward pass, summed over all ranks.
pub struct Step {
    /// Mean loss over the training nodes.
    pub loss: f64,
    /// Gradients, laid out as [`ParameterSet::flat`].
    pub gradient: Tensor,
    /// This rank's gradients of learned rows, in the order of [`Forward::learned`].
    pub learned: Vec<PointerTensor>,
    /// Sum over all ranks of the squares of learned rows' gradients.
    pub learned_squares: f64,
    /// Scores of the forward pass.
    pub scores: Scores,
    /// Bytes written and read by all ranks since the mark.
    pub io: IoTotals,
    /// Processor time of all ranks since the mark.
    pub processor: ProcessorSeconds,
    /// End of the interval of `io` and `processor`.
    pub(super) counted: Mark,
}

/// A point in time of a rank's run, from which epochs are measured.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    time: Instant,
    turns: u64,
    io: IoTotals,
    processor: ProcessorSeconds,
}

impl Mark {
    /// A mark at the current time.
    pub(super) fn now(manager: &PartitionDataManager) -> Self {
        Mark {
            // The end of a collective is the same time on all ranks, unlike their turns.
            time: manager.last_collective().unwrap_or_else(Instant::now),
            turns: manager.lock().turns(),
            io: manager.store().counters().totals(),
            processor: ProcessorSeconds::of_this_process(),
        }
    }

    /// This mark, with bytes and processor time counted from `other` on.
    pub(super) fn counted(self, other: &Mark) -> Self {
        Mark { io: other.io, processor: other.processor, ..self }
    }

    /// This mark, with turns counted from `later` on.
    pub(super) fn turned(self, later: Mark) -> Self {
        Mark { turns: later.turns, ..self }
    }

    pub(super) fn seconds_since(&self, begin: &Mark) -> f64 {
        (self.time - begin.time).as_secs_f64()
    }

    pub(super) fn turns_since(&self, begin: &Mark) -> u64 {
        self.turns - begin.turns
    }
}

impl Trainer<'_> {
    /// A mark at the current time.
    pub fn mark(&self) -> Mark {
        Mark::now(self.manager)
    }

    /// Forward and backward pass of epoch `epoch` (from 1), with gradients and counts summed over the ranks, without an
    /// update. `on_logits` receives the logits of own nodes, `[num_inner_nodes, classes]`.
    ///
    /// # Errors
    /// If `on_logits`, an operation or a collective fails.
    pub fn step(
        &self,
        epoch: u32,
        since: &Mark,
        on_logits: &mut dyn FnMut(&Tensor) -> Result<()>,
    ) -> Result<Step> {
        self.manager.lock().status().epoch.set(epoch);
        let tape = Tape::training(self.manager, self.parameters, self.policy, self.seed, epoch);
        let mut tape = tape.remembering(&self.constants);
        let (logits, inputs) = self.forward.forward(&mut tape)?;
        let (counts, gradient) = {
            let _span = span(SpanKind::Operation, "loss");
            let values = logits.pin()?;
            on_logits(&values)?;
            self.count(&values)?
        };
        let gradients = tape.backward(logits, gradient)?;
        self.manager.set_phase(Phase::GatherGrads);
        let mut squares = 0.0;
        let learned = self.forward.learned().into_iter().zip(inputs).map(|(rows, input)| {
            let gradient = rows.flat_gradient(&input, &gradients)?;
            squares += sum_of_squares(&gradient)?;
            Ok(self.manager.track("gradient", gradient))
        });
        let learned = learned.collect::<Result<_>>()?;
        let flat = self.parameters.flat_gradients(&gradients)?;
        drop(gradients);
        let counted = self.mark();
        let io = (counted.io - since.io).to_f64();
        let ProcessorSeconds { user, system } = counted.processor - since.processor;
        let numbers = [&io[..], &[squares, user, system]].concat();
        let numbers = Tensor::f_from_slice(&numbers)?;
        let sums = vec![flat, counts.to_tensor()?, numbers];
        let sums = gather_grads(self.group, sums, &**self.manager)?;
        let [gradient, counts, numbers] = <[Tensor; 3]>::try_from(sums)
            .map_err(|_| Error::internal("the gathered tensors are incomplete"))?;
        let counts = Counts::from_tensor(&counts)?;
        let (loss, scores) = counts.over(self.loss.task(), self.totals, self.outputs);
        let numbers: Vec<f64> = Vec::try_from(numbers)?;
        let (io, numbers) = numbers.split_at(IoTotals::COUNTS);
        let io = IoTotals::from_f64(std::array::from_fn(|i| io[i]));
        let (learned_squares, user, system) = (numbers[0], numbers[1], numbers[2]);
        let processor = ProcessorSeconds { user, system };
        Ok(Step { loss, gradient, learned, learned_squares, scores, io, processor, counted })
    }

    /// The logits of own nodes, without a backward pass.
    pub(super) fn logits(&self) -> Result<Var> {
        let tape = Tape::evaluation(self.manager, self.parameters);
        let (logits, _) = self.forward.forward(&mut tape.remembering(&self.constants))?;
        Ok(logits)
    }

    /// This rank's counts, and the gradient of the loss.
    pub(super) fn count(&self, logits: &Tensor) -> Result<(Counts, Tensor)> {
        let (labels, masks) = (self.labels.pin()?, &self.masks);
        let (loss, gradient) =
            self.loss.forward(logits, &labels, &*masks.train.pin()?, self.divisor)?;
        Ok((Counts::new(loss, self.loss.task(), logits, &labels, masks)?, gradient))
    }
}
