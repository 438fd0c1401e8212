"""Rows of a tensor for many blocks of messages."""

from __future__ import annotations

from typing import Any, Optional, Tuple, Union

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Which = Union[slice, Tensor]


class Rows:
    """A tensor of which each block takes some rows. All blocks add their gradients to one tensor; with indexing, each block would make its own."""

    def __init__(self, tensor: Tensor) -> None:
        self._sum = _Sum() if tensor.requires_grad and torch.is_grad_enabled() else None
        self.tensor = tensor if self._sum is None else _Whole.apply(tensor, self._sum)

    def __getitem__(self, which: Which) -> Tensor:
        return _rows(self.tensor, which) if self._sum is None else _Taken.apply(self.tensor, which, self._sum)


class _Sum:
    """The sum of the gradients of all blocks so far."""

    def __init__(self) -> None:
        self._total: Optional[Tensor] = None

    def add(self, which: Which, gradient: Tensor, rows: int) -> None:
        if self._total is None:
            self._total = gradient.new_zeros((rows, *gradient.shape[1:]))
        if isinstance(which, slice):
            self._total[which] += gradient
        else:
            self._total.index_add_(0, which, gradient)

    def take(self) -> Optional[Tensor]:
        total, self._total = self._total, None
        return total


class _Whole(torch.autograd.Function):
    """The tensor itself. Its backward pass runs after those of all blocks, and returns their sum."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, total: _Sum) -> Tensor:
        ctx.set_materialize_grads(False)
        ctx.total = total
        return tensor.view_as(tensor)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Optional[Tensor]) -> Tuple[Optional[Tensor], None]:
        total = ctx.total.take()
        if total is None or gradient is None:
            return gradient if total is None else total, None
        return total.add_(gradient), None


class _Taken(torch.autograd.Function):
    """Rows of the tensor. The backward pass adds to the sum instead of returning a gradient."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, which: Which, total: _Sum) -> Tensor:
        ctx.total, ctx.rows = total, len(tensor)
        ctx.which = which if isinstance(which, slice) else None
        if not isinstance(which, slice):
            # In a checkpoint, the backward pass computes them again.
            ctx.save_for_backward(which)
        return _rows(tensor, which)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tuple[None, None, None]:
        which = ctx.which if ctx.which is not None else ctx.saved_tensors[0]
        ctx.total.add(which, gradient, ctx.rows)
        return None, None, None


def _rows(tensor: Tensor, which: Which) -> Tensor:
    return tensor[which] if isinstance(which, slice) else tensor.index_select(0, which)
