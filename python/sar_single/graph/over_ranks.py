"""Sums, means and batch normalisation over the rows of all ranks, with their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .functions import WithAdjoint
from .tensors import computable

if TYPE_CHECKING:
    from ..worker.rank import Rank


def total(rank: Any, x: Tensor) -> Tensor:
    """The sum of a value over ranks, the same on each. The gradient is the sum of the ranks' gradients. One pause each way."""
    result: Tensor = WithAdjoint.apply(rank.all_reduce, lambda gy: rank.all_reduce(gy.contiguous()), x)
    return result


def same(parts: Sequence[Tensor]) -> bool:
    """Whether several ranks have the same rows, as values per graph are, or the same statistics of them."""
    return len(parts) > 1 and all(torch.equal(part, parts[0]) for part in parts)


class _Share(torch.autograd.Function):
    """A value that all ranks have, whose gradient is the own part's share."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, value: Tensor, share: float) -> Tensor:
        ctx.share = share
        return value.to(own.dtype).reshape(own.shape).clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gy: Tensor) -> Tuple[Tensor, None, None]:
        return gy * ctx.share, None, None


def mean_loss(rank: "Rank", loss: Tensor, count: Any) -> Tensor:
    """The mean of a loss over the rows of all ranks; ``loss`` is the mean over ``count`` own rows."""
    if loss.numel() != 1:
        raise ValueError(f"mean_loss takes a loss of one element, the mean over the rank's rows, but this one has the shape {list(loss.shape)}")
    if isinstance(count, Tensor) and count.numel() > 1 and not _is_mask(rank, count):
        named = "count is a mask, a number of rows or a sum of weights, but these are numbers of nodes or other values"
        raise ValueError(f"mean_loss: {named}: pass len(train), mask.bool(), or the sum of the weights")
    rows = float(count.sum() if isinstance(count, Tensor) else count)
    if not rows >= 0:
        raise ValueError(f"mean_loss: count is {rows:g}, but must be a number of rows")
    # A mean of no rows is NaN.
    own = loss.detach().double().reshape(()) * rows if rows else torch.zeros((), dtype=torch.float64)
    sums = rank.all_reduce(torch.stack([own, torch.tensor(rows, dtype=torch.float64)]))
    everyone = float(sums[1])
    if everyone == 0:
        raise ValueError("mean_loss: no rank has any row")
    return _Share.apply(loss, sums[0] / everyone, rows / everyone)


def _is_mask(rank: "Rank", values: Tensor) -> bool:
    """Whether values are 0 and 1. As signed integers they may be numbers of nodes unless there is one for each node."""
    signed = values.dtype in (torch.int8, torch.int16, torch.int32, torch.int64)
    return not bool(((values != 0) & (values != 1)).any()) and (not signed or rank._is_own(len(values)))


def mean(rank: "Rank", x: Tensor) -> Tensor:
    """The mean of rows ``[rows, *]`` over all ranks: ``[*]``."""
    if x.dim() == 0:
        raise ValueError("mean takes rows, but this is a single value: use rank.mean_loss(value, rows) with the rank's number of rows")
    count = torch.tensor([float(len(x))], dtype=torch.float64)
    sums = total(rank, torch.cat([x.sum(0, dtype=torch.float64).flatten(), count]))
    if float(sums[-1].detach()) == 0:
        raise ValueError("mean: no rank has any row")
    return (sums[:-1] / sums[-1].detach()).reshape(x.shape[1:]).to(x.dtype if x.is_floating_point() else torch.float32)


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
