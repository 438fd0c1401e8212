"""Messages that the engine sums without a row per edge: the source's row, or its product with a factor per edge and head."""

from __future__ import annotations

import operator
from typing import Any, List, Optional, Tuple

import torch
from torch import Tensor, fx

from ..graph import functions
from ..graph.attention import attend
from .arguments import Arguments
from .columns import Columns
from .edge_values import AttentionWeights, EdgeProduct, Factors
from .linear import linear_of_input
from .stand_in import read
from .traced import traced

# Changes of shape that a factor may undergo: a dimension per head, followed by dimensions of size 1.
_SHAPES = ("view", "reshape", "unsqueeze")


def fused(module: Any, arguments: Arguments, message: List[str]) -> Optional[Tensor]:
    """The aggregated messages; None if they are of another kind."""
    from torch_geometric.nn import MessagePassing, aggr

    mean = {aggr.SumAggregation: False, aggr.MeanAggregation: True}.get(type(module.aggr_module))
    if mean is None or type(module).aggregate is not MessagePassing.aggregate or arguments.columns.topology.graph is None or arguments.dims:
        return None
    node = traced(module, module.message, message, arguments)
    found = None if node is None else _parts(node, arguments)
    if found is None:
        return None
    x, factor, shape = found
    if not x.is_floating_point() or factor is not None and not _fits(shape, x):
        return None
    if isinstance(factor, AttentionWeights) and not mean:
        attended = _attended(arguments.columns, x, factor)
        if attended is not None:
            return attended
    counts = arguments.columns.in_degrees().clamp(min=1) if mean else None
    exact = factor is None or torch.promote_types(x.dtype, factor.dtype) == x.dtype
    linear = linear_of_input(module, x) if exact and all(size == 1 for size in shape[1:]) else None
    if linear is not None:
        return linear.of(_sum(arguments.columns, linear.x, factor, shape, counts))
    return _sum(arguments.columns, x, factor, shape, counts)


def _parts(node: fx.Node, arguments: Arguments) -> Optional[Tuple[Tensor, Optional[Tensor], List[int]]]:
    """The node values whose rows are the message, the factor of each edge, and the shape in which it multiplies."""
    if node.op == "placeholder":
        return (arguments.sources[str(node.target)], None, []) if node.target in arguments.sources else None
    product = node.op == "call_function" and node.target in (operator.mul, torch.mul) or node.op == "call_method" and node.target == "mul"
    if not product or node.kwargs or len(node.args) != 2 or not all(isinstance(part, fx.Node) for part in node.args):
        return None
    rows: Any
    factor: Any
    rows, factor = node.args
    if rows.op != "placeholder" or rows.target not in arguments.sources:
        rows, factor = factor, rows
    if rows.op != "placeholder" or rows.target not in arguments.sources:
        return None
    found = _factor(factor, arguments)
    return None if found is None else (arguments.sources[rows.target], *found)


def _factor(node: fx.Node, arguments: Arguments) -> Optional[Tuple[Tensor, List[int]]]:
    """The edge value that a node of the graph reshapes, and its shape afterwards."""
    if node.op == "placeholder" and node.target in arguments.edges:
        value = arguments.edges[str(node.target)]
        return (value, list(value.shape)) if value.is_floating_point() else None
    if node.op == "call_method" and node.target in _SHAPES and isinstance(node.args[0], fx.Node) and not node.kwargs:
        inner = _factor(node.args[0], arguments)
        if inner is not None:
            value, before = inner
            after = list(getattr(torch.empty(before, device="meta"), str(node.target))(*node.args[1:]).shape)
            if after[0] == before[0]:
                return value, after
    return None


def _fits(shape: List[int], x: Tensor) -> bool:
    """Whether a factor has the dimensions of a message: first its heads, then some of size 1."""
    if len(shape) != x.dim():
        return False
    sizes = list(zip(shape[1:], x.shape[1:]))
    while sizes and sizes[-1][0] == 1:
        sizes.pop()
    return all(f == n for f, n in sizes)


def _sum(columns: Columns, x: Tensor, factor: Optional[Tensor], shape: List[int], counts: Optional[Tensor]) -> Tensor:
    """Sums of products over in-edges, divided by ``counts``."""
    topology = columns.topology
    assert topology.graph is not None
    # A product in another precision is rounded before it is multiplied.
    known = isinstance(factor, EdgeProduct) and factor.dtype == x.dtype
    factors = factor.factors if known else Factors(own=None if factor is None else read(factor))  # type: ignore[union-attr]
    sources = None if factors.source is None else factors.source[: topology.num_sources]
    if columns.loops is not None and factors.own is None:
        own_rows = None
        if columns.changed:
            # A node's own row is in the sum as often as the graph has loops of the node.
            own_rows = int(columns.loops.added) - (torch.zeros(topology.num_nodes) if columns.loops.of_graph else topology.own_loops())
        return functions.neighbour_sum(topology.graph._engine, x, None, functions.Around(sources, own_rows, counts, factors.destination))
    spread = [-1, *[1] * (x.dim() - 1)]
    if factors.own is not None:
        x = x.to(torch.promote_types(x.dtype, factors.own.dtype))
    if sources is not None:
        x = x * sources.view(spread)
    own = x.new_ones(len(columns)) if factors.own is None else factors.own
    total = _weighted(columns, x, own.reshape(shape if factor is not None else [len(columns), *spread[1:]]))
    if counts is not None:
        total = total / counts.to(total.dtype).view(spread)
    return total if factors.destination is None else total * factors.destination.view(spread)


def _weighted(columns: Columns, x: Tensor, factor: Tensor) -> Tensor:
    topology = columns.topology
    assert topology.graph is not None
    if not columns.changed:
        return functions.neighbour_sum(topology.graph._engine, x, factor)
    added = columns.origin < 0
    known = factor.new_zeros((topology.num_edges, *factor.shape[1:]))
    known = known.index_add(0, columns.origin[~added], factor[~added])
    total = functions.neighbour_sum(topology.graph._engine, x, known)
    # Sources of added loops are own nodes.
    return total.index_add(0, columns.destination[added], factor[added] * x[columns.source[added]])


def _attended(columns: Columns, x: Tensor, weights: AttentionWeights) -> Optional[Tensor]:
    """Sums of rows ``[sources, heads, width]`` weighted by attention, without computing the weights."""
    scores, topology = weights.scores, columns.topology
    graph = topology.graph
    if weights._known is not None or weights.columns is not columns or graph is None or x.dim() != 3 or x.shape[:2] != scores.source.shape[:2]:
        return None
    if scores.vector is not None and scores.source is not x:
        return None
    edges = topology.with_loops(columns.loops)
    if edges is None:
        return None
    destination = scores.destination if scores.destination is not None else x.new_zeros((topology.num_nodes, x.shape[1]))
    source = scores.source if scores.vector is None else None
    return attend(edges, x, source, destination, scores.vector, scores.slope, 0.0)
