"""Relational graph convolution."""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn

from .. import fn


class _TypedLinear(nn.Module):
    """A weight per edge type, or ``num_bases`` weights that each type mixes."""

    def __init__(self, in_feat: int, out_feat: int, num_rels: int, num_bases: Optional[int]) -> None:
        super().__init__()
        if num_bases is None:
            self.W = nn.Parameter(torch.empty(num_rels, in_feat, out_feat))
            self.coeff: Optional[nn.Parameter] = None
        else:
            self.W = nn.Parameter(torch.empty(num_bases, in_feat, out_feat))
            self.coeff = nn.Parameter(torch.empty(num_rels, num_bases))
        with torch.no_grad():
            bound = in_feat**-0.5
            nn.init.uniform_(self.W, -bound, bound)
            if self.coeff is not None:
                nn.init.xavier_uniform_(self.coeff, gain=nn.init.calculate_gain("relu"))

    def weights(self) -> Tensor:
        """``[types, in_feat, out_feat]``."""
        return self.W if self.coeff is None else torch.einsum("rb,bio->rio", self.coeff, self.W)


class RelGraphConv(nn.Module):
    """Relational graph convolution, plain or with ``regularizer="basis"``: ``[nodes, in_feat]`` to ``[nodes, out_feat]``."""

    def __init__(
        self,
        in_feat: int,
        out_feat: int,
        num_rels: int,
        regularizer: Optional[str] = None,
        num_bases: Optional[int] = None,
        bias: bool = True,
        activation: Optional[Callable[[Tensor], Tensor]] = None,
        self_loop: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if regularizer not in (None, "basis"):
            raise ValueError(f"unknown regularizer {regularizer!r}: use basis or None")
        bases = None if regularizer is None else (num_rels if num_bases is None else num_bases)
        self.linear_r = _TypedLinear(in_feat, out_feat, num_rels, bases)
        self.bias, self.self_loop, self.activation = bias, self_loop, activation
        gain = nn.init.calculate_gain("relu")
        if bias:
            self.h_bias = nn.Parameter(torch.zeros(out_feat))
        if self_loop:
            self.loop_weight = nn.Parameter(torch.empty(in_feat, out_feat))
            nn.init.xavier_uniform_(self.loop_weight, gain=gain)
        self.dropout = nn.Dropout(dropout)

    def forward(self, graph: Any, feat: Tensor, etypes: Tensor, norm: Optional[Tensor] = None) -> Tensor:
        """The layer, one pause. ``etypes`` is int64 ``[edges]``, ``norm`` ``[edges, 1]``."""
        weights = self.linear_r.weights()

        def message(edges: Any) -> Any:
            rows, types = edges.src["h"], edges.data["etype"]
            result = rows.new_zeros(len(rows), weights.shape[2])
            for etype in range(len(weights)):
                (chosen,) = torch.nonzero(types == etype, as_tuple=True)
                result = result.index_copy(0, chosen, rows[chosen] @ weights[etype])
            return {"m": result * edges.data["norm"] if "norm" in edges.data else result}

        with graph.local_scope():
            graph.srcdata["h"] = feat
            graph.edata["etype"] = etypes
            if norm is not None:
                graph.edata["norm"] = norm
            graph.update_all(message, fn.sum("m", "h"))
            result = graph.dstdata["h"]
            if self.bias:
                result = result + self.h_bias
            if self.self_loop:
                result = result + feat[: graph.num_dst_nodes()] @ self.loop_weight
        if self.activation is not None:
            result = self.activation(result)
        return self.dropout(result)
