"""Graph attention with dynamic scores."""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn

from .ends import Rows, check_in_edges, ends


class GATv2Conv(nn.Module):
    """Dynamic graph attention: ``[nodes, in_feats]`` to ``[nodes, num_heads, out_feats]``."""

    def __init__(
        self,
        in_feats: int,
        out_feats: int,
        num_heads: int,
        feat_drop: float = 0.0,
        attn_drop: float = 0.0,
        negative_slope: float = 0.2,
        residual: bool = False,
        activation: Optional[Callable[[Tensor], Tensor]] = None,
        allow_zero_in_degree: bool = False,
        bias: bool = True,
        share_weights: bool = False,
    ) -> None:
        super().__init__()
        self._out_feats, self._heads = out_feats, num_heads
        self._allow_zero_in_degree, self.activation = allow_zero_in_degree, activation
        self.share_weights, self.bias = share_weights, bias
        columns = out_feats * num_heads
        self.fc_src = nn.Linear(in_feats, columns, bias=bias)
        self.fc_dst = self.fc_src if share_weights else nn.Linear(in_feats, columns, bias=bias)
        self.attn = nn.Parameter(torch.empty(1, num_heads, out_feats))
        self.feat_drop, self.attn_drop = nn.Dropout(feat_drop), nn.Dropout(attn_drop)
        self.leaky_relu = nn.LeakyReLU(negative_slope)
        if residual and in_feats != columns:
            self.res_fc: Optional[nn.Module] = nn.Linear(in_feats, columns, bias=bias)
        else:
            self.res_fc = nn.Identity() if residual else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weights again."""
        gain = nn.init.calculate_gain("relu")
        for layer in (self.fc_src, self.fc_dst, self.res_fc):
            if isinstance(layer, nn.Linear):
                nn.init.xavier_normal_(layer.weight, gain=gain)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
        nn.init.xavier_normal_(self.attn, gain=gain)

    def forward(self, graph: Any, feat: Rows) -> Tensor:
        """The layer, one pause. No tensor has a row per edge."""
        check_in_edges(graph, self._allow_zero_in_degree)
        x, own = ends(graph, feat, self.feat_drop)
        rows = self.fc_src(x).view(-1, self._heads, self._out_feats)
        destinations = self.fc_dst(own).view(-1, self._heads, self._out_feats)
        dropout = self.attn_drop.p if self.training else 0.0
        slope = self.leaky_relu.negative_slope
        result = graph.attend(rows, None, destinations, vector=self.attn[0], slope=slope, dropout=dropout)
        if self.res_fc is not None:
            result = result + self.res_fc(own).view(-1, self._heads, self._out_feats)
        return result if self.activation is None else self.activation(result)
