"""Operations along edges with their gradients. Each that needs rows of other ranks is one pause, forwards and backwards."""

from __future__ import annotations

from typing import Any, Optional, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ._engine import Rank as Engine
from ._tensors import computable, place


class _Sum(torch.autograd.Function):
    """Sums over in-edges; with ``factors`` ``[edges, heads]``, of products with ``x`` ``[nodes, heads, ...]``."""

    @staticmethod
    def forward(ctx: Any, engine: Engine, x: Tensor, factors: Optional[Tensor]) -> Tensor:
        x = x.contiguous()
        heads = 1 if factors is None else factors.shape[1]
        factors = None if factors is None else factors.contiguous()
        engine.share_rows(place(x))
        y = torch.zeros_like(x)
        weights = None if factors is None else place(factors)
        engine.sum(x.element_size(), place(x), weights, heads, place(y))
        ctx.engine, ctx.heads = engine, heads
        needs_x = factors is not None and ctx.needs_input_grad[2]
        ctx.save_for_backward(factors, x if needs_x else None)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gy: Tensor) -> Tuple[None, Optional[Tensor], Optional[Tensor]]:
        factors, x = ctx.saved_tensors
        engine, heads, gy = ctx.engine, ctx.heads, gy.contiguous()
        size, weights = gy.element_size(), None if factors is None else place(factors)
        engine.send_gradients(size, place(gy), weights, heads, None if x is None else place(x))
        gx = gfactors = None
        if ctx.needs_input_grad[1]:
            gx = torch.zeros_like(gy)
            engine.sum_gradients(size, place(gy), weights, heads, place(gx))
        if x is not None:
            gfactors = torch.zeros_like(factors)
            engine.factor_gradients(size, heads, place(x), place(gy), place(gfactors))
        return None, gx, gfactors


class _Select(torch.autograd.Function):
    """The largest or smallest value of each column over in-edges."""

    @staticmethod
    def forward(ctx: Any, engine: Engine, x: Tensor, largest: bool) -> Tensor:
        x = x.contiguous()
        engine.share_rows(place(x))
        value = torch.empty_like(x)
        argument = torch.empty(x.shape, dtype=torch.int32)
        engine.select(x.element_size(), largest, place(x), place(value), place(argument))
        ctx.engine = engine
        ctx.save_for_backward(argument)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gy: Tensor) -> Tuple[None, Tensor, None]:
        (argument,) = ctx.saved_tensors
        engine, gy = ctx.engine, gy.contiguous()
        engine.send_select_gradients(gy.element_size(), place(gy), place(argument))
        gx = torch.zeros_like(gy)
        engine.select_gradients(gy.element_size(), place(gy), place(argument), place(gx))
        return None, gx, None


def _gather(engine: Engine, x: Tensor) -> Tensor:
    x = x.contiguous()
    engine.share_rows(place(x))
    rows = torch.empty((engine.num_halo_rows, *x.shape[1:]), dtype=x.dtype)
    engine.halo_rows(place(x), place(rows))
    return rows


def _scatter(engine: Engine, rows: Tensor) -> Tensor:
    rows = rows.contiguous()
    engine.send_halo_gradients(place(rows))
    x = torch.empty((engine.num_nodes, *rows.shape[1:]), dtype=rows.dtype)
    engine.halo_gradients(rows.element_size(), place(rows), place(x))
    return x


class _Halo(torch.autograd.Function):
    """Rows of all sources of edges: the own nodes, then those of other ranks."""

    @staticmethod
    def forward(ctx: Any, engine: Engine, x: Tensor) -> Tensor:
        ctx.engine = engine
        return _gather(engine, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grows: Tensor) -> Tuple[None, Tensor]:
        return None, _scatter(ctx.engine, grows)


class _HaloAdjoint(torch.autograd.Function):
    """Sums rows of all sources into the nodes they belong to."""

    @staticmethod
    def forward(ctx: Any, engine: Engine, rows: Tensor) -> Tensor:
        ctx.engine = engine
        return _scatter(engine, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gx: Tensor) -> Tuple[None, Tensor]:
        return None, _gather(ctx.engine, gx)


class _EdgeSoftmax(torch.autograd.Function):
    """Softmax of ``[edges, heads]`` over the in-edges of each node."""

    @staticmethod
    def forward(ctx: Any, engine: Engine, scores: Tensor) -> Tensor:
        scores = scores.contiguous()
        y = torch.empty_like(scores)
        engine.edge_softmax(scores.element_size(), scores.shape[1], place(scores), place(y))
        ctx.engine = engine
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gy: Tensor) -> Tuple[None, Tensor]:
        (y,) = ctx.saved_tensors
        gy = gy.contiguous()
        gscores = torch.empty_like(y)
        size, heads = y.element_size(), y.shape[1]
        ctx.engine.edge_softmax_gradients(size, heads, place(y), place(gy), place(gscores))
        return None, gscores


def neighbour_sum(engine: Engine, x: Tensor, factors: Optional[Tensor] = None) -> Tensor:
    """Sums of the sources' rows over in-edges. ``factors`` ``[edges, *]`` broadcasts against ``x`` ``[nodes, *]``."""
    wide = computable(x)
    if factors is None:
        return _Sum.apply(engine, wide, None).to(x.dtype)
    heads, per_head = _heads(factors.shape[1:], x.shape[1:])
    if heads is None:
        raise ValueError(f"edge values of shape {tuple(factors.shape)} do not fit node values of shape {tuple(x.shape)}")
    shaped = wide.reshape(x.shape[0], heads * per_head)
    flat = factors.to(wide.dtype).reshape(factors.shape[0], heads)
    return _Sum.apply(engine, shaped, flat).reshape(x.shape).to(x.dtype)


def _heads(edge: Tuple[int, ...], node: Tuple[int, ...]) -> Tuple[Optional[int], int]:
    """How many factors an edge has, and how many columns share one; None where they are not laid out so."""
    edge = (1,) * (len(node) - len(edge)) + tuple(edge) if len(edge) < len(node) else tuple(edge)
    while len(edge) > len(node) and edge[-1] == 1:
        edge = edge[:-1]
    if len(edge) != len(node):
        return None, 0
    heads, per_head, shared = 1, 1, False
    for e, n in zip(edge, node):
        if e == n and not (shared and n != 1):
            heads *= e
        elif e == 1:
            per_head, shared = per_head * n, True
        else:
            return None, 0
    return heads, per_head


def neighbour_select(engine: Engine, x: Tensor, largest: bool) -> Tensor:
    """The largest (smallest) value of each column over in-edges, 0 without any."""
    return _Select.apply(engine, computable(x), largest).to(x.dtype)


def halo(engine: Engine, x: Tensor) -> Tensor:
    """Rows of all sources of edges, which ``Graph.edge_sources`` counts."""
    return _Halo.apply(engine, x)


def halo_adjoint(engine: Engine, rows: Tensor) -> Tensor:
    """Sums of such rows over all ranks, by the nodes they belong to."""
    return _HaloAdjoint.apply(engine, rows)


def softmax(engine: Engine, scores: Tensor) -> Tensor:
    """Softmax of edge values ``[edges, *]`` over the in-edges of each node."""
    wide = computable(scores)
    heads = wide.reshape(wide.shape[0], wide[:1].numel() if wide.shape[0] else 1)
    return _EdgeSoftmax.apply(engine, heads).reshape(scores.shape).to(scores.dtype)
