"""Edges whose sources are requested from their owners."""

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
    # Rows that each rank requests, and the number that each sends.
    _requests: List[Tensor]
    _arriving: List[int]

    def halo(self, x: Tensor) -> Tensor:
        """Rows of all sources of edges. One pause."""
        check_rows("a value of nodes", x, self.num_sources)
        result: Tensor = _Exchange.apply(self, x, True)
        return result

    def halo_adjoint(self, rows: Tensor) -> Tensor:
        """Sums of all ranks' source rows, by the own node that they belong to. One pause."""
        result: Tensor = _Exchange.apply(self, rows, False)
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


class _Exchange(torch.autograd.Function):
    """Rows of own nodes where they are sources, or sums of rows of sources; the gradient goes the other way."""

    @staticmethod
    def forward(ctx: Any, topology: AskedTopology, x: Tensor, to_sources: bool) -> Tensor:
        ctx.topology, ctx.to_sources = topology, to_sources
        return topology.gathered(x) if to_sources else topology.scattered(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gy: Tensor) -> Tuple[None, Tensor, None]:
        return None, ctx.topology.scattered(gy) if ctx.to_sources else ctx.topology.gathered(gy), None
