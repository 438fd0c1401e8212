"""Edges whose sources are requested from their owners."""

from __future__ import annotations

from typing import Callable, List

import torch
from torch import Tensor

from ..graph.functions import WithAdjoint, check_rows
from ..graph.tensors import computable
from ..stored.partitions import Group
from .topology import Topology


class AskedTopology(Topology):
    """Edges whose sources are the own nodes, then those that other ranks send, rank by rank."""

    _rank: Group
    # Rows that each rank requests, and the number that each sends.
    _requests: List[Tensor]
    _arriving: List[int]

    def halo(self, x: Tensor) -> Tensor:
        """Rows of all sources of edges. One pause."""
        check_rows("a value of nodes", x, self.num_sources)
        return self._exchanged(self.gathered, self.scattered, x)

    def halo_adjoint(self, rows: Tensor) -> Tensor:
        """Sums of all ranks' source rows, by the own node that they belong to. One pause."""
        return self._exchanged(self.scattered, self.gathered, rows)

    def _exchanged(self, there: Callable[[Tensor], Tensor], back: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
        """Rows on the way to or from the sources. Ranks' rows are not added up in a short type."""
        result: Tensor = WithAdjoint.apply(there, back, computable(rows) if rows.is_floating_point() else rows)
        return result.to(rows.dtype)

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
