"""Means over the rows of all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..graph.over_ranks import total

if TYPE_CHECKING:
    from .rank import Rank


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
