"""Sums and batch normalisation over the rows of all ranks, with their gradients."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .functions import WithAdjoint
from .tensors import computable


def total(rank: Any, x: Tensor) -> Tensor:
    """The sum of a value over ranks, the same on each. The gradient is the sum of the ranks' gradients. One pause each way."""
    result: Tensor = WithAdjoint.apply(rank.all_reduce, lambda gy: rank.all_reduce(gy.contiguous()), x)
    return result


def same(parts: Sequence[Tensor]) -> bool:
    """Whether several ranks have the same rows, as values per graph are, or the same statistics of them."""
    return len(parts) > 1 and all(torch.equal(part, parts[0]) for part in parts)


class _Normalised(torch.autograd.Function):
    """Rows minus the mean, divided by the standard deviation, both over all ranks' rows."""

    @staticmethod
    def forward(ctx: Any, rank: Any, x: Tensor, eps: float) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        own = torch.stack(torch.var_mean(x, 0, correction=0)) if len(x) else x.new_zeros((2, x.shape[1]))
        count = torch.full((1, x.shape[1]), float(len(x)), dtype=torch.float64)
        parts = rank.all_gather(torch.cat([count, own.double()]))
        counts, variances, means = torch.stack(parts).unbind(1)
        number = counts.sum(0)
        mean = (counts * means).sum(0) / number
        variance = (counts * (variances + (means - mean) ** 2)).sum(0) / number
        scale = (variance + eps).rsqrt().to(x.dtype)
        y = (x - mean.to(x.dtype)) * scale
        ctx.rank, ctx.number = rank, number
        ctx.save_for_backward(y, scale)
        # Rows that every rank has count once. Their gradient is the sum of the ranks' gradients, each of which has its share.
        once = counts[0] if same(parts) else number
        ctx.mark_non_differentiable(mean, variance, once)
        return y, mean, variance, once

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gy: Tensor, *_: Any) -> Tuple[None, Tensor, None]:
        y, scale = ctx.saved_tensors
        sums = ctx.rank.all_reduce(torch.stack([gy.sum(0), (gy * y).sum(0)]).double()) / ctx.number
        of_mean, of_variance = sums.to(y.dtype)
        return None, scale * (gy - of_mean - y * of_variance), None


def batch_norm(
    rank: Any,
    x: Tensor,
    running_mean: Optional[Tensor] = None,
    running_var: Optional[Tensor] = None,
    weight: Optional[Tensor] = None,
    bias: Optional[Tensor] = None,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """``torch.nn.functional.batch_norm`` of ``[rows, channels, ...]`` with the statistics of all ranks' rows. One pause each way."""
    rows = computable(x).movedim(1, -1).reshape(-1, x.shape[1])
    y, mean, variance, number = _Normalised.apply(rank, rows, eps)
    if bool((number <= 1).any()):
        raise ValueError(f"batch normalisation needs more than one row on all ranks together, but there are {int(number.max())}")
    with torch.no_grad():
        if running_mean is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
        if running_var is not None:
            running_var.lerp_((variance * number / (number - 1)).to(running_var.dtype), momentum)
    if weight is not None:
        y = y * weight
    if bias is not None:
        y = y + bias
    shape = [x.shape[0], *x.shape[2:], x.shape[1]]
    return y.reshape(shape).movedim(-1, 1).to(x.dtype if x.is_floating_point() else y.dtype)
