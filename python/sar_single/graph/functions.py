"""Operations along edges with their gradients. An operation that needs rows of other ranks is one pause, forwards and backwards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Optional, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .._engine import Edges as Engine
from .tensors import computable, place


@dataclass(frozen=True)
class Around:
    """Numbers ``[nodes]`` that go into a sum over in-edges, without gradients of their own: factors of the sources, how often a node's own row is
    added, divisors of the sums, and their factors.
    """

    sources: Optional[Tensor] = None
    own_rows: Optional[Tensor] = None
    counts: Optional[Tensor] = None
    destinations: Optional[Tensor] = None

    def like(self, x: Tensor) -> "Around":
        """The same as columns of the type and the dimensions of ``x``."""

        def column(value: Optional[Tensor]) -> Optional[Tensor]:
            return None if value is None else value.to(x.dtype).view(-1, *[1] * (x.dim() - 1))

        return Around(*map(column, (self.sources, self.own_rows, self.counts, self.destinations)))


class _Sum(torch.autograd.Function):
    """Sums over in-edges; with ``factors`` ``[edges, heads]``, sums of products with ``x`` ``[nodes, heads, ...]``."""

    @staticmethod
    def forward(ctx: Any, engine: Engine, x: Tensor, factors: Optional[Tensor], around: Around) -> Tensor:
        x = (x if around.sources is None else x * around.sources).contiguous()
        heads = 1 if factors is None else factors.shape[1]
        factors = None if factors is None else factors.contiguous()
        engine.share_rows(place(x))
        y = x.new_zeros((engine.num_nodes, *x.shape[1:]))
        weights = None if factors is None else place(factors)
        engine.sum(x.element_size(), place(x), weights, heads, place(y))
        if around.own_rows is not None:
            y.addcmul_(x, around.own_rows)
        if around.counts is not None:
            y.div_(around.counts)
        if around.destinations is not None:
            y.mul_(around.destinations)
        ctx.engine, ctx.heads, ctx.around = engine, heads, around
        needs_x = factors is not None and ctx.needs_input_grad[2]
        ctx.save_for_backward(factors, x if needs_x else None)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gy: Tensor) -> Tuple[None, Optional[Tensor], Optional[Tensor], None]:
        factors, x = ctx.saved_tensors
        engine, heads, around = ctx.engine, ctx.heads, ctx.around
        if around.destinations is not None:
            gy = gy * around.destinations
        if around.counts is not None:
            gy = gy / around.counts
        gy = gy.contiguous()
        size, weights = gy.element_size(), None if factors is None else place(factors)
        engine.send_gradients(size, place(gy), weights, heads, None if x is None else place(x))
        gx = gfactors = None
        if ctx.needs_input_grad[1]:
            gx = gy.new_zeros((engine.num_sources, *gy.shape[1:]))
            engine.sum_gradients(size, place(gy), weights, heads, place(gx))
            if around.own_rows is not None:
                gx.addcmul_(gy, around.own_rows)
            if around.sources is not None:
                gx.mul_(around.sources)
        if x is not None:
            gfactors = torch.zeros_like(factors)
            engine.factor_gradients(size, heads, place(x), place(gy), place(gfactors))
        return None, gx, gfactors, None


class _Select(torch.autograd.Function):
    """Largest or smallest value of each column over in-edges."""

    @staticmethod
    def forward(ctx: Any, engine: Engine, x: Tensor, largest: bool) -> Tensor:
        x = x.contiguous()
        engine.share_rows(place(x))
        value = x.new_empty((engine.num_nodes, *x.shape[1:]))
        argument = torch.empty(value.shape, dtype=torch.int32)
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
        gx = gy.new_zeros((engine.num_sources, *gy.shape[1:]))
        engine.select_gradients(gy.element_size(), place(gy), place(argument), place(gx))
        return None, gx, None


def check_rows(what: str, x: Tensor, rows: int) -> None:
    """Refuses a value with the wrong number of rows."""
    if len(x) != rows:
        raise ValueError(f"{what} has {len(x)} rows, but this rank needs {rows}")


def _gather(engine: Engine, x: Tensor) -> Tensor:
    """Rows of all sources of edges, first the own nodes', then other ranks'."""
    x = x.contiguous()
    engine.share_rows(place(x))
    rows = torch.empty((engine.num_halo_rows, *x.shape[1:]), dtype=x.dtype)
    engine.halo_rows(place(x), place(rows))
    return rows


def _scatter(engine: Engine, rows: Tensor) -> Tensor:
    """Sums of such rows by node."""
    rows = rows.contiguous()
    engine.send_halo_gradients(place(rows))
    x = torch.empty((engine.num_sources, *rows.shape[1:]), dtype=rows.dtype)
    engine.halo_gradients(rows.element_size(), place(rows), place(x))
    return x


class WithAdjoint(torch.autograd.Function):
    """A linear function ``there`` of a value. ``back`` is its adjoint, which the gradient goes through."""

    @staticmethod
    def forward(ctx: Any, there: Callable[[Tensor], Tensor], back: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        ctx.back = back
        return there(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gy: Tensor) -> Tuple[None, None, Tensor]:
        return None, None, ctx.back(gy)


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


def neighbour_sum(engine: Engine, x: Tensor, factors: Optional[Tensor] = None, around: Around = Around()) -> Tensor:
    """Sums of the sources' rows over in-edges. ``factors`` ``[edges, *]`` broadcasts against ``x`` ``[nodes, *]``."""
    wide = computable(x)
    if factors is None:
        return _Sum.apply(engine, wide, None, around.like(wide)).to(x.dtype)
    heads, per_head = _heads(factors.shape[1:], x.shape[1:])
    if heads is None:
        raise ValueError(f"edge values of shape {tuple(factors.shape)} do not fit node values of shape {tuple(x.shape)}")
    shaped = wide.reshape(x.shape[0], heads * per_head)
    flat = factors.to(wide.dtype).reshape(factors.shape[0], heads)
    return _Sum.apply(engine, shaped, flat, around.like(shaped)).reshape(engine.num_nodes, *x.shape[1:]).to(x.dtype)


def _heads(edge: Tuple[int, ...], node: Tuple[int, ...]) -> Tuple[Optional[int], int]:
    """Number of factors per edge, and number of columns that share a factor; None if the kernels do not support the layout."""
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


def fits(factors: Tensor, x: Tensor) -> bool:
    """Whether ``neighbour_sum`` takes these factors of edges."""
    return _heads(factors.shape[1:], x.shape[1:])[0] is not None


def neighbour_select(engine: Engine, x: Tensor, largest: bool) -> Tensor:
    """The largest (smallest) value of each column over in-edges, 0 without any."""
    return _Select.apply(engine, computable(x), largest).to(x.dtype)


def halo(engine: Engine, x: Tensor) -> Tensor:
    """Rows of all sources of edges."""
    check_rows("a value of nodes", x, engine.num_sources)
    wide = computable(x) if x.is_floating_point() or x.is_complex() else x
    return WithAdjoint.apply(partial(_gather, engine), partial(_scatter, engine), wide).to(x.dtype)


def halo_adjoint(engine: Engine, rows: Tensor) -> Tensor:
    """Sums, over all ranks, of the rows of sources; one row per own node."""
    return WithAdjoint.apply(partial(_scatter, engine), partial(_gather, engine), computable(rows)).to(rows.dtype)


def softmax(engine: Engine, scores: Tensor, order: Optional[Tensor] = None) -> Tensor:
    """Softmax of edge values ``[edges, *]`` over the in-edges of each node. ``order`` has the rows of the engine's edges, unless it is theirs."""
    check_rows("a value of edges", scores, engine.num_edges)
    if order is not None:
        return softmax(engine, scores[order])[torch.argsort(order)]
    wide = computable(scores)
    heads = wide.reshape(wide.shape[0], wide[:1].numel() if wide.shape[0] else 1)
    return _EdgeSoftmax.apply(engine, heads).reshape(scores.shape).to(scores.dtype)
