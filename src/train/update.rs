//! One update from the gradients of all ranks.

use serde::{Deserialize, Serialize};
use tch::Tensor;

use crate::choice::{Choice, Named};
use crate::engine::comm::{NoHooks, ProcessGroup, gather_grads};
use crate::engine::tape::ParameterSet;
use crate::error::{Error, Result};
use crate::nn::{Optimizer, clip_grad_norm};

/// How gradients and losses of the ranks are combined in each step. A rank's gradient is that of the mean loss over its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GradientReduce {
    /// Mean, as in PyTorch's `DistributedDataParallel`.
    #[default]
    Mean,
    /// Sum, as in SAR's `gather_grads`.
    Sum,
    /// Mean over the nodes or edges of all batches. Each epoch visits each of them once.
    Weighted,
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

impl Choice for GradientReduce {
    const VALUES: &'static [Named<Self>] = &[
        Named::new(
            GradientReduce::Mean,
            "mean",
            "Their mean, as in PyTorch's `DistributedDataParallel`",
        ),
        Named::new(GradientReduce::Sum, "sum", "Their sum, as in SAR's `gather_grads`"),
        Named::new(
            GradientReduce::Weighted,
            "weighted",
            "Their mean, weighted by the sizes of the batches: the gradient of the mean loss over all batches",
        ),
    ];
}

/// Combines the gradients of all ranks and makes the same update on every rank; returns the sums of `counts` over the
/// ranks. The first count is the [weight](GradientReduce::weight) of the rank's gradient. One collective, in which no rank
/// gives up its turn.
pub(super) fn update(
    group: &dyn ProcessGroup,
    reduce: GradientReduce,
    gradient: Tensor,
    counts: &[f64],
    parameters: &ParameterSet,
    optimizer: &mut Optimizer,
    clip_norm: Option<f64>,
) -> Result<Vec<f64>> {
    let gradient = match reduce {
        GradientReduce::Sum | GradientReduce::Mean => gradient,
        GradientReduce::Weighted => gradient.f_mul_scalar(counts[0])?,
    };
    let sums = vec![gradient, Tensor::f_from_slice(counts)?];
    let sums = gather_grads(group, sums, &NoHooks)?;
    let [mut gradient, counts] = <[Tensor; 2]>::try_from(sums)
        .map_err(|_| Error::internal("the gathered tensors are incomplete".to_owned()))?;
    let counts: Vec<f64> = Vec::try_from(counts)?;
    let gradient = match reduce {
        GradientReduce::Sum => gradient,
        GradientReduce::Mean => gradient.f_div_scalar_(group.world_size() as f64)?,
        GradientReduce::Weighted => gradient.f_div_scalar_(counts[0].max(f64::MIN_POSITIVE))?,
    };
    let gradient = match clip_norm {
        Some(norm) => clip_grad_norm(&gradient, norm)?,
        None => gradient,
    };
    optimizer.step(parameters, gradient)?;
    Ok(counts)
}
