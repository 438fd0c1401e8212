"""Graph convolution."""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn

from .. import fn
from .ends import Rows, check_in_edges, ends, weighted


class GraphConv(nn.Module):
    """Graph convolution with ``norm`` ``both``, ``right``, ``left`` or ``none``: ``[nodes, in_feats]`` to ``[nodes, out_feats]``."""

    def __init__(
        self,
        in_feats: int,
        out_feats: int,
        norm: str = "both",
        weight: bool = True,
        bias: bool = True,
        activation: Optional[Callable[[Tensor], Tensor]] = None,
        allow_zero_in_degree: bool = False,
    ) -> None:
        super().__init__()
        if norm not in ("none", "both", "right", "left"):
            raise ValueError(f"unknown norm {norm!r}: use both, right, left or none")
        self._in_feats, self._out_feats, self._norm = in_feats, out_feats, norm
        self._allow_zero_in_degree, self._activation = allow_zero_in_degree, activation
        if weight:
            self.weight = nn.Parameter(torch.empty(in_feats, out_feats))
        else:
            self.register_parameter("weight", None)
        if bias:
            self.bias = nn.Parameter(torch.zeros(out_feats))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weights again."""
        if self.weight is not None:
            nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(
        self,
        graph: Any,
        feat: Rows,
        weight: Optional[Tensor] = None,
        edge_weight: Optional[Tensor] = None,
    ) -> Tensor:
        """The layer, one pause. ``edge_weight`` is ``[edges]``."""
        check_in_edges(graph, self._allow_zero_in_degree)
        weight = self.weight if weight is None else weight
        rows, _ = ends(graph, feat)
        with graph.local_scope():
            if self._norm in ("left", "both"):
                degrees = graph.out_degrees().to(rows).clamp(min=1)
                factor = degrees.pow(-0.5) if self._norm == "both" else 1.0 / degrees
                rows = rows * factor.unsqueeze(-1)
            before = weight is not None and self._in_feats > self._out_feats
            graph.srcdata["h"] = torch.matmul(rows, weight) if before else rows
            graph.update_all(weighted(graph, edge_weight), fn.sum("m", "h"))
            result = graph.dstdata["h"]
            if weight is not None and not before:
                result = torch.matmul(result, weight)
            if self._norm in ("right", "both"):
                degrees = graph.in_degrees().to(rows).clamp(min=1)
                factor = degrees.pow(-0.5) if self._norm == "both" else 1.0 / degrees
                result = result * factor.unsqueeze(-1)
        if self.bias is not None:
            result = result + self.bias
        return result if self._activation is None else self._activation(result)
