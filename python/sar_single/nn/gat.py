"""Graph attention."""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn

from .ends import Rows, check_in_edges, ends


class GATConv(nn.Module):
    """Graph attention: ``[nodes, in_feats]`` to ``[nodes, num_heads, out_feats]``."""

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
    ) -> None:
        super().__init__()
        self._out_feats, self._heads = out_feats, num_heads
        self._allow_zero_in_degree, self.activation = allow_zero_in_degree, activation
        self.fc = nn.Linear(in_feats, out_feats * num_heads, bias=False)
        self.attn_l = nn.Parameter(torch.empty(1, num_heads, out_feats))
        self.attn_r = nn.Parameter(torch.empty(1, num_heads, out_feats))
        self.feat_drop, self.attn_drop = nn.Dropout(feat_drop), nn.Dropout(attn_drop)
        self.leaky_relu = nn.LeakyReLU(negative_slope)
        linear = residual and in_feats != out_feats * num_heads
        if linear:
            # The layer's bias, as in DGL.
            self.res_fc: Optional[nn.Module] = nn.Linear(in_feats, out_feats * num_heads, bias=bias)
        else:
            self.res_fc = nn.Identity() if residual else None
        if bias and not linear:
            self.bias = nn.Parameter(torch.zeros(out_feats * num_heads))
        else:
            self.register_buffer("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weights again."""
        gain = nn.init.calculate_gain("relu")
        for weight in (self.fc.weight, self.attn_l, self.attn_r):
            nn.init.xavier_normal_(weight, gain=gain)
        if isinstance(self.res_fc, nn.Linear):
            nn.init.xavier_normal_(self.res_fc.weight, gain=gain)
            if self.res_fc.bias is not None:
                nn.init.zeros_(self.res_fc.bias)

    def forward(self, graph: Any, feat: Rows) -> Tensor:
        """The layer, one pause. No tensor has a row per edge."""
        check_in_edges(graph, self._allow_zero_in_degree)
        x, own = ends(graph, feat, self.feat_drop)
        rows = self.fc(x).view(-1, self._heads, self._out_feats)
        scores = (rows * self.attn_l).sum(-1)
        of_own = self.fc(own).view(-1, self._heads, self._out_feats) if isinstance(feat, tuple) else rows[: len(own)]
        destinations = (of_own * self.attn_r).sum(-1)
        dropout = self.attn_drop.p if self.training else 0.0
        slope = self.leaky_relu.negative_slope
        result = graph.attend(rows, scores, destinations, slope=slope, dropout=dropout)
        if self.res_fc is not None:
            result = result + self.res_fc(own).view(len(result), self._heads, self._out_feats)
        if self.bias is not None:
            result = result + self.bias.view(1, self._heads, self._out_feats)
        return result if self.activation is None else self.activation(result)
