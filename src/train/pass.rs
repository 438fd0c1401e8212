//! One rank's pass over batches.

use std::rc::Rc;

use tch::Tensor;

use super::batch_model::{BatchForward, BatchModel};
use super::batch_turn::with_next_batch;
use super::step_log::{LoggedSteps, StepLog};
use super::update::{GradientReduce, TurnHooks, Updates};
use crate::engine::comm::{Hooks, ProcessGroup, Ranks};
use crate::engine::spill::PartitionDataManager;
use crate::engine::tape::{ParameterSet, Policy, Tape, Var};
use crate::engine::tensor;
use crate::engine::turns::Phase;
use crate::event::{SampleReport, Scores};
use crate::io::IoTotals;
use crate::load::RowBytes;
use crate::nn::Optimizer;
use crate::platform::ProcessorSeconds;
use crate::sampling::loaders::{Loader, MiniBatch, NeighborTask};
use crate::sampling::stores::GraphSource;
use crate::words::error::Result;

/// Results of a pass over all batches, summed over all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchPass {
    /// Mean loss over the batches, before each step's update; `None` without seeds.
    pub loss: Option<f64>,
    /// The task's metric over the seeds, before each step's update, if it is computed.
    pub score: Option<f64>,
    /// Bytes written and read by all ranks.
    pub io: IoTotals,
    /// Processor time of all ranks.
    pub processor: ProcessorSeconds,
    /// Batches of all ranks, and the rows that they used.
    pub samples: SampleReport,
}

/// A model on one rank's batches of an epoch.
#[derive(Clone, Copy)]
pub(super) struct BatchTrainer<'a> {
    pub(super) manager: &'a Rc<PartitionDataManager>,
    pub(super) group: &'a dyn ProcessGroup,
    pub(super) model: &'a dyn BatchModel,
    pub(super) parameters: &'a Rc<ParameterSet>,
    /// Seed of dropout.
    pub(super) seed: u64,
    pub(super) policy: Policy,
    pub(super) reduce: GradientReduce,
    pub(super) log: Option<StepLog<'a>>,
    /// Counts from 1.
    pub(super) epoch: u32,
}

impl BatchTrainer<'_> {
    /// A pass over the loader's batches, with up to `room` bytes of kept rows. `step` computes a batch's gradient and
    /// counts: the gradient's weight, the weighted loss, 1 for the batch, and others, from which `scores` are computed.
    /// Ranks sum the counts.
    pub(super) fn pass<T: NeighborTask, const N: usize>(
        &self,
        loader: &Loader<T>,
        room: u64,
        optimizer: &mut Optimizer,
        clip_norm: Option<f64>,
        step: impl Fn(&T::Item, usize) -> Result<(Tensor, [f64; N])>,
        scores: impl Fn([f64; N]) -> Scores,
    ) -> Result<BatchPass> {
        let BatchTrainer { manager, group, model, parameters, epoch, .. } = *self;
        manager.lock().status().epoch.set(epoch);
        let used = || {
            let io = manager.store().counters().totals();
            (io, row_bytes(loader, model), ProcessorSeconds::of_this_process())
        };
        let mut before = used();
        if room > 0 {
            loader.keep_rows(room)?;
        }
        let mut all = loader.epoch(epoch);
        let logged = LoggedSteps::of_epoch(self.log, epoch, all.steps());
        let in_turns = all.is_on_demand();
        let updates = Updates::new(group, manager, parameters, self.reduce, in_turns, clip_norm);
        let hooks = TurnHooks::new(manager, in_turns && !model.stored().is_empty());
        let mut of_batches = [0.0; N];
        let mut of_ranks = [0.0; 4 + IoTotals::COUNTS];
        for number in 0.. {
            let done = with_next_batch(manager, &mut all, |batch| {
                Ok((step(batch, number)?, model.post_rows(group)?))
            })?;
            let Some(((gradient, of_batch), posted)) = done else { break };
            manager.set_phase(Phase::GatherGrads);
            model.update_rows(posted, optimizer.lr(), Ranks { group, hooks: &hooks })?;
            hooks.precall()?;
            let now = used();
            let (io, rows) = (now.0 - before.0, now.1 - before.1);
            let ProcessorSeconds { user, system } = now.2 - before.2;
            before = now;
            let of_rank = [rows.needed as f64, rows.read as f64, user, system];
            let counts = [&of_batch[..], &of_rank, &io.to_f64()].concat();
            let counts = updates.make(gradient, &counts, optimizer)?;
            let totals = of_batches.iter_mut().chain(&mut of_ranks);
            totals.zip(&counts).for_each(|(total, count)| *total += count);
            let counts: [f64; N] = std::array::from_fn(|i| counts[i]);
            let loss = counts[1] / counts[0].max(f64::MIN_POSITIVE);
            logged.step(number, loss, scores(counts))?;
        }
        let [needed, rows_read, user, system, io @ ..] = of_ranks;
        Ok(BatchPass {
            loss: (of_batches[0] > 0.0).then(|| of_batches[1] / of_batches[0]),
            score: scores(of_batches).train,
            io: IoTotals::from_f64(io),
            processor: ProcessorSeconds { user, system },
            samples: SampleReport {
                batches: of_batches[2] as u64,
                row_bytes_needed: needed as u64,
                row_bytes_read: rows_read as u64,
            },
        })
    }

    /// This rank's part of a step: the gradient of the batch's mean loss, and its counts. `output` makes the forward
    /// pass, and also returns the learned rows that it used; `loss` returns the gradient of the output, and the counts.
    pub(super) fn step<const N: usize>(
        &self,
        graph: &dyn GraphSource,
        batch: &MiniBatch,
        step: usize,
        output: impl for<'t> FnOnce(&mut Tape<'t>, &'t dyn BatchForward) -> Result<(Var, Vec<Var>)>,
        loss: impl FnOnce(&Tensor) -> Result<(Tensor, [f64; N])>,
    ) -> Result<(Tensor, [f64; N])> {
        let BatchTrainer { manager, model, parameters, .. } = *self;
        let forward = model.take_up(manager, parameters, graph, batch)?;
        let seed = seed_of_step(self.seed, step);
        let mut tape = Tape::training(manager, parameters, self.policy, seed, self.epoch);
        let (output, learned) = output(&mut tape, &*forward)?;
        let (gradient, counts) = loss(&*output.pin()?)?;
        let gradients = tape.backward(output, gradient)?;
        forward.keep_gradients(&learned, &gradients)?;
        Ok((parameters.flat_gradients(&gradients)?, counts))
    }

    /// The part of a rank whose batch is empty.
    pub(super) fn no_step<const N: usize>(&self) -> Result<(Tensor, [f64; N])> {
        let flat = self.parameters.flat();
        Ok((tensor::zeros(flat.size(), flat.kind())?, [0.0; N]))
    }
}

/// Bytes of input rows that this rank's batches have used so far, and bytes that were read for them.
pub(super) fn row_bytes<T: NeighborTask>(loader: &Loader<T>, model: &dyn BatchModel) -> RowBytes {
    loader.sampler().row_bytes() + model.row_bytes()
}

/// The seed of a step of an epoch; that of step 0 is the run's. Random numbers are functions of both halves of the seed and
/// of the epoch, which changes the upper half. Each step changes the lower half in its own way, so that no two steps share numbers.
pub fn seed_of_step(seed: u64, step: usize) -> u64 {
    // An odd factor maps different steps to different lower halves.
    seed ^ (step as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::seed_of_step;

    #[test]
    fn no_two_steps_of_a_run_have_the_same_random_numbers() {
        let keys = (0..64_u32).flat_map(|epoch| {
            (0..64).map(move |step| {
                let seed = seed_of_step(7, step);
                (seed as u32, (seed >> 32) as u32 ^ epoch)
            })
        });
        assert_eq!(keys.collect::<BTreeSet<_>>().len(), 64 * 64);
        assert_eq!(seed_of_step(7, 0), 7);
    }
}
