"""Edges whose sources are asked for from their owners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .._functions import check_rows
from .topology import Topology

if TYPE_CHECKING:
    from .._rank import Rank


class AskedTopology(Topology):
    """Edges whose sources are the own nodes, then those that other ranks send, rank by rank."""

    _rank: "Rank"
    # The rows that each rank asks for, and how many each sends.
    _requests: List[Tensor]
    _arriving: List[int]

    def halo(self, x: Tensor) -> Tensor:
        """Rows of all sources of edges. One pause."""
        check_rows("a value of nodes", x, self.num_sources)
        result: Tensor = _Halo.apply(self, x)
        return result

    def halo_adjoint(self, rows: Tensor) -> Tensor:
        """Sums of rows of all ranks' sources, by the own node that they belong to. One pause."""
        result: Tensor = _Adjoint.apply(self, rows)
        return result

    def gathered(self, x: Tensor) -> Tensor:
        """``halo`` without a gradient."""
        return torch.cat([x, *self._rank.all_to_all([x[rows] for rows in self._requests])])

    def scattered(self, rows: Tensor) -> Tensor:
        """``halo_adjoint`` without a gradient."""
        own, rest = rows[: self.num_sources].clone(), rows[self.num_sources :]
        arrived = self._rank.all_to_all(list(torch.split(rest, self._arriving)))
        for numbers, part in zip(self._requests, arrived):
            own.index_add_(0, numbers, part)
        return own


class _Halo(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, topology: AskedTopology, x: Tensor) -> Tensor:
        ctx.topology = topology
        return topology.gathered(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grows: Tensor) -> Tuple[None, Tensor]:
        return None, ctx.topology.scattered(grows)


class _Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, topology: AskedTopology, rows: Tensor) -> Tensor:
        ctx.topology = topology
        return topology.scattered(rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gx: Tensor) -> Tuple[None, Tensor]:
        return None, ctx.topology.gathered(gx)
