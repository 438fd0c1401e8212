//! Updates from the gradients of all ranks.

use std::cell::Cell;

use serde::{Deserialize, Serialize};
use tch::Tensor;

use crate::engine::comm::{Hooks, ProcessGroup, ReduceOp, all_reduce_in_slices, gather_grads};
use crate::engine::spill::PartitionDataManager;
use crate::engine::tape::ParameterSet;
use crate::nn::{Optimizer, clip_grad_norm};
use crate::words::choice::choices;
use crate::words::error::{Error, Result};

choices! {
    /// How gradients and losses of the ranks are combined in each step. A rank's gradient is that of the mean loss over its
    /// batch.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum GradientReduce {
        /// Mean, as in PyTorch's `DistributedDataParallel`.
        @default Mean = "mean": "Their mean, as in PyTorch's `DistributedDataParallel`",
        /// Sum, as in SAR's `gather_grads`.
        Sum = "sum": "Their sum, as in SAR's `gather_grads`",
        /// Mean over the nodes or edges of all batches. Each epoch visits each of them once.
        Weighted = "weighted":
            "Their mean, weighted by the sizes of the batches: the gradient of the mean loss over all batches",
    }
}

/// The divisor of a sum, or 1 if it is 0: then the sum is 0, too, because all class weights of a batch are.
pub(super) fn nonzero(divisor: f64) -> f64 {
    if divisor > 0.0 { divisor } else { 1.0 }
}

impl GradientReduce {
    /// Weight of a rank's gradient and loss. `divisor` is that of the mean over its batch.
    pub(super) fn weight(self, divisor: f64) -> f64 {
        match self {
            GradientReduce::Mean | GradientReduce::Sum => 1.0,
            GradientReduce::Weighted => divisor,
        }
    }
}

/// Ranks take turns for updates if the parameters have at least this size in bytes, or those of all ranks together at least
/// [`SLICED`] times this size, because otherwise the states of all ranks' optimizers would be in memory at the same time.
const LARGE: usize = 1 << 20;

/// With at least this many ranks, each rank reduces a slice of the gradients of large parameters.
const SLICED: usize = 8;

/// Hooks of a rank that has no turn when a collective begins. It takes one when the messages of all ranks have arrived, and
/// gives it up in the next collective.
pub(crate) struct TurnHooks<'a> {
    manager: &'a PartitionDataManager,
    /// The same on all ranks.
    takes_turns: bool,
    has_turn: Cell<bool>,
}

impl<'a> TurnHooks<'a> {
    /// Hooks that take turns, or do not: then ranks work side by side.
    pub(crate) fn new(manager: &'a PartitionDataManager, takes_turns: bool) -> Self {
        TurnHooks { manager, takes_turns, has_turn: Cell::new(false) }
    }
}

impl Hooks for TurnHooks<'_> {
    fn precall(&self) -> Result<()> {
        if self.has_turn.replace(false) { self.manager.precall_func() } else { Ok(()) }
    }

    fn idle(&self) -> Result<()> {
        self.manager.give_way()
    }

    fn callback(&self) -> Result<()> {
        if !self.takes_turns {
            return Ok(());
        }
        self.manager.callback_func()?;
        self.has_turn.set(true);
        Ok(())
    }
}

/// Updates of a model's parameters after each batch.
pub(super) struct Updates<'a> {
    group: &'a dyn ProcessGroup,
    hooks: TurnHooks<'a>,
    parameters: &'a ParameterSet,
    reduce: GradientReduce,
    clip_norm: Option<f64>,
}

impl<'a> Updates<'a> {
    /// Updates of these parameters, before which no rank has the turn. With `in_turns`, ranks take turns if the parameters
    /// are large. `clip_norm` limits the norm of the gradients.
    pub(super) fn new(
        group: &'a dyn ProcessGroup,
        manager: &'a PartitionDataManager,
        parameters: &'a ParameterSet,
        reduce: GradientReduce,
        in_turns: bool,
        clip_norm: Option<f64>,
    ) -> Self {
        let flat = parameters.flat();
        let bytes = flat.size()[0] as usize * flat.kind().elt_size_in_bytes();
        let is_large = bytes * group.world_size().max(SLICED) >= SLICED * LARGE;
        let hooks = TurnHooks::new(manager, in_turns && is_large);
        Updates { group, hooks, parameters, reduce, clip_norm }
    }

    /// Combines the gradients of all ranks and makes the same update on every rank; returns the sums of `counts` over
    /// the ranks. The first count is the [weight](GradientReduce::weight) of the rank's gradient.
    pub(super) fn make(
        &self,
        gradient: Tensor,
        counts: &[f64],
        optimizer: &mut Optimizer,
    ) -> Result<Vec<f64>> {
        let gradient = match self.reduce {
            GradientReduce::Sum | GradientReduce::Mean => gradient,
            GradientReduce::Weighted => gradient.f_mul_scalar(counts[0])?,
        };
        let sums = vec![gradient, Tensor::f_from_slice(counts)?];
        let sums = if self.hooks.takes_turns && self.group.world_size() >= SLICED {
            all_reduce_in_slices(self.group, sums, ReduceOp::Sum, &self.hooks)?
        } else {
            gather_grads(self.group, sums, &self.hooks)?
        };
        let [mut gradient, counts] = <[Tensor; 2]>::try_from(sums)
            .map_err(|_| Error::internal("the gathered tensors are incomplete"))?;
        let counts: Vec<f64> = Vec::try_from(counts)?;
        let gradient = match self.reduce {
            GradientReduce::Sum => gradient,
            GradientReduce::Mean => gradient.f_div_scalar_(self.group.world_size() as f64)?,
            GradientReduce::Weighted => gradient.f_div_scalar_(nonzero(counts[0]))?,
        };
        let gradient = match self.clip_norm {
            Some(norm) => clip_grad_norm(&gradient, norm)?,
            None => gradient,
        };
        optimizer.step(self.parameters, gradient)?;
        self.hooks.precall()?;
        Ok(counts)
    }
}
