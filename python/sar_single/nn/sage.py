"""GraphSAGE."""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn

from .. import fn
from .ends import Rows, ends, weighted


class SAGEConv(nn.Module):
    """GraphSAGE with aggregator ``mean``, ``gcn`` or ``pool``: ``[nodes, in_feats]`` to ``[nodes, out_feats]``."""

    def __init__(
        self,
        in_feats: int,
        out_feats: int,
        aggregator_type: str,
        feat_drop: float = 0.0,
        bias: bool = True,
        norm: Optional[Callable[[Tensor], Tensor]] = None,
        activation: Optional[Callable[[Tensor], Tensor]] = None,
    ) -> None:
        super().__init__()
        if aggregator_type not in ("mean", "gcn", "pool"):
            raise ValueError(f"unknown aggregator {aggregator_type!r}: use mean, gcn or pool")
        self._in_feats, self._out_feats, self._how = in_feats, out_feats, aggregator_type
        self.feat_drop = nn.Dropout(feat_drop)
        self.norm, self.activation = norm, activation
        if aggregator_type == "pool":
            self.fc_pool = nn.Linear(in_feats, in_feats)
        self.fc_neigh = nn.Linear(in_feats, out_feats, bias=False)
        if aggregator_type != "gcn":
            self.fc_self = nn.Linear(in_feats, out_feats, bias=bias)
        elif bias:
            self.bias = nn.Parameter(torch.zeros(out_feats))
        else:
            self.register_buffer("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weights again."""
        gain = nn.init.calculate_gain("relu")
        for layer in (getattr(self, name, None) for name in ("fc_pool", "fc_self", "fc_neigh")):
            if layer is not None:
                nn.init.xavier_uniform_(layer.weight, gain=gain)

    def forward(self, graph: Any, feat: Rows, edge_weight: Optional[Tensor] = None) -> Tensor:
        """The layer, one pause. ``edge_weight`` is ``[edges]``."""
        rows, own = ends(graph, feat, self.feat_drop)
        with graph.local_scope():
            before = self._how != "pool" and self._in_feats > self._out_feats
            if self._how == "pool":
                graph.srcdata["h"] = torch.relu(self.fc_pool(rows))
            else:
                graph.srcdata["h"] = self.fc_neigh(rows) if before else rows
            reduce = {"mean": fn.mean, "gcn": fn.sum, "pool": fn.max}[self._how]
            graph.update_all(weighted(graph, edge_weight), reduce("m", "neigh"))
            neigh = graph.dstdata["neigh"]
            if self._how == "gcn":
                degrees = graph.in_degrees().to(rows)
                if before:
                    own = self.fc_neigh(own) if isinstance(feat, tuple) else graph.srcdata["h"][: len(own)]
                neigh = (neigh + own) / (degrees.unsqueeze(-1) + 1)
            if not before:
                neigh = self.fc_neigh(neigh)
        if self._how == "gcn":
            result = neigh if self.bias is None else neigh + self.bias
        else:
            result = self.fc_self(own) + neigh
        if self.activation is not None:
            result = self.activation(result)
        return result if self.norm is None else self.norm(result)
