"""Batch normalisation over the nodes of all partitions."""

from __future__ import annotations

from typing import Any, Tuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class _SumOverRanks(torch.autograd.Function):
    """The sum of a value over ranks; so is its gradient."""

    @staticmethod
    def forward(ctx: Any, rank: Any, x: Tensor) -> Tensor:
        ctx.rank = rank
        return rank.all_reduce(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gy: Tensor) -> Tuple[None, Tensor]:
        return None, ctx.rank.all_reduce(gy)


class BatchNorm(nn.BatchNorm1d):
    """``torch.nn.BatchNorm1d`` with the statistics of all ranks' rows, ``[nodes, num_features]``. One pause each way."""

    def forward(self, rank: Any, x: Tensor) -> Tensor:  # type: ignore[override]
        """Normalises ``x``; every rank takes part, also one without nodes."""
        if not self.training:
            return super().forward(x)
        sums = torch.cat([x.sum(0), (x * x).sum(0), x.new_tensor([len(x)])])
        total = _SumOverRanks.apply(rank, sums)
        count = total[-1].detach()
        width = x.shape[1]
        mean = total[:width] / count
        variance = (total[width : 2 * width] / count - mean * mean).clamp(min=0)
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            with torch.no_grad():
                self.num_batches_tracked.add_(1)
                rate = self.momentum if self.momentum is not None else 1.0 / float(self.num_batches_tracked)
                self.running_mean.lerp_(mean.to(self.running_mean.dtype), rate)
                self.running_var.lerp_((variance * count / (count - 1)).to(self.running_var.dtype), rate)
        result = (x - mean) / torch.sqrt(variance + self.eps)
        return result * self.weight + self.bias if self.affine else result
