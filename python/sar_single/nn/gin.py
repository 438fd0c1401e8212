"""Graph isomorphism network."""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn

from .. import fn
from .ends import Rows, ends, weighted


class GINConv(nn.Module):
    """``apply_func((1 + eps) x + reduced rows of in-neighbours)`` with aggregator ``sum``, ``max`` or ``mean``."""

    def __init__(
        self,
        apply_func: Optional[nn.Module] = None,
        aggregator_type: str = "sum",
        init_eps: float = 0.0,
        learn_eps: bool = False,
        activation: Optional[Callable[[Tensor], Tensor]] = None,
    ) -> None:
        super().__init__()
        if aggregator_type not in ("sum", "max", "mean"):
            raise ValueError(f"unknown aggregator {aggregator_type!r}: use sum, max or mean")
        self.apply_func, self._how, self.activation = apply_func, aggregator_type, activation
        eps = torch.tensor([init_eps], dtype=torch.float32)
        if learn_eps:
            self.eps = nn.Parameter(eps)
        else:
            self.register_buffer("eps", eps)

    def forward(self, graph: Any, feat: Rows, edge_weight: Optional[Tensor] = None) -> Tensor:
        """The layer, one pause. ``edge_weight`` is ``[edges]``."""
        rows, own = ends(graph, feat)
        with graph.local_scope():
            graph.srcdata["h"] = rows
            reduce = {"sum": fn.sum, "max": fn.max, "mean": fn.mean}[self._how]
            graph.update_all(weighted(graph, edge_weight), reduce("m", "neigh"))
            neigh = graph.dstdata["neigh"]
            result = (1 + self.eps) * own + neigh
        if self.apply_func is not None:
            result = self.apply_func(result)
        return result if self.activation is None else self.activation(result)
