"""Attention over in-edges: scores, softmax and weighted sum in one pass over the edges, without a row per edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Sequence, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .._engine import Attention
from .._engine import Edges as Engine
from .functions import check_rows
from .keys import drawn
from .tensors import computable, place


@dataclass
class _Options:
    edges: Sequence[Engine]
    heads: int
    slope: float
    dropout: float
    seed: int

    def of(self, messages: Tensor, scores: Tensor, destinations: Tensor, vector: Optional[Tensor]) -> Attention:
        """The engine's view of tensors, which must outlive its calls."""
        of_vector = None if vector is None else place(vector)
        return Attention(self.heads, self.slope, place(messages), place(scores), place(destinations), of_vector, self.seed, self.dropout)


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, options: _Options, messages: Tensor, scores: Tensor, destinations: Tensor, vector: Optional[Tensor]
    ) -> Tensor:
        given = messages.contiguous(), scores.contiguous(), destinations.contiguous()
        vector = None if vector is None else vector.contiguous()
        heads, nodes = options.heads, len(destinations)
        largest = messages.new_full((nodes, heads), float("-inf"))
        total = messages.new_zeros((nodes, heads))
        y = messages.new_zeros((nodes, messages.shape[1]))
        ctx.kept = []
        how = options.of(*given, vector)
        for engine in options.edges:
            kept = engine.share_and_keep([place(part) for part in given[: 2 if vector is None else 1]])
            engine.attend(messages.element_size(), how, kept, place(largest), place(total), place(y))
            ctx.kept.append(kept)
        y.view(nodes, heads, y.shape[1] // heads).div_(total.masked_fill(total == 0, 1).unsqueeze(-1))
        ctx.options = options
        ctx.save_for_backward(*given, vector, y, largest, total.log_())
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gy: Tensor) -> Tuple[Optional[Tensor], ...]:
        messages, scores, destinations, vector, y, largest, log_sum = ctx.saved_tensors
        nodes, columns = y.shape
        gy = gy.contiguous()
        heads = ctx.options.heads
        delta = (gy * y).view(nodes, heads, columns // heads).sum(-1)
        wide = destinations.shape[1] if vector is None else 2 * columns
        gmessages, gscores = torch.zeros_like(messages), torch.zeros_like(scores)
        gdestinations = messages.new_zeros((nodes, wide))
        of = [place(part) for part in (largest, log_sum, delta, gy)]
        gradients = [place(part) for part in (gmessages, gscores, gdestinations)]
        how = ctx.options.of(messages, scores, destinations, vector)
        for engine, kept in zip(ctx.options.edges, ctx.kept):
            engine.send_attention_gradients(gy.element_size(), how, kept, of, gradients)
            engine.add_attention_gradients(gy.element_size(), place(gmessages), place(gscores))
        gvector = None if vector is None else gdestinations[:, columns:].sum(0)
        return None, gmessages, gscores, gdestinations[:, : destinations.shape[1]], gvector


def attend(
    edges: Sequence[Engine],
    messages: Tensor,
    scores: Optional[Tensor],
    destinations: Tensor,
    vector: Optional[Tensor],
    slope: float,
    dropout: float,
) -> Tensor:
    """Sums of ``messages`` ``[sources, heads, width]`` over in-edges, weighted by a softmax of scores.

    GAT: ``leaky_relu(scores[u] + destinations[v])`` with ``[*, heads]``. GATv2: the inner product of ``vector`` ``[heads, width]`` and
    ``leaky_relu(messages[u] + destinations[v])`` with ``[*, heads, width]``. A node's edges may be in several of ``edges``. One pause.
    """
    for engine in edges:
        check_rows("messages", messages, engine.num_sources)
        check_rows("destinations", destinations, engine.num_nodes)
        if scores is not None:
            check_rows("scores", scores, engine.num_sources)
    wide = computable(messages)
    heads = messages.shape[1]
    seed = drawn() if dropout > 0 else 0
    own = wide.new_empty((len(wide), 0)) if scores is None else scores.to(wide.dtype)
    flat = None if vector is None else vector.to(wide.dtype).flatten()
    options = _Options(edges, heads, slope, dropout, seed)
    rows = _Attend.apply(options, wide.flatten(1), own, destinations.to(wide.dtype).flatten(1), flat)
    return rows.view(-1, heads, messages.shape[2]).to(messages.dtype)
