"""Messages along edges, reduced in blocks of destinations that the backward pass recomputes.

All in-edges of a node are on its owner, so a range of destinations has all of its edges, and any function of them is exact.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Callable, Dict, List, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from .destinations import cuts, edges_of_block
from .rows import Rows
from .scope import of_messages
from .unfit import INSIDE_BLOCK, Unfit, note

Messages = Dict[str, Tensor]

_OPERATIONS: Dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "dot": lambda a, b: (a * b).sum(-1, keepdim=True),
}


class EdgeBatch:
    """Edges as a message function sees them: values of their sources and destinations, and their own."""

    def __init__(self, src: Messages, dst: Messages, data: Messages, count: int) -> None:
        self.src, self.dst, self.data, self._count = src, dst, data, count

    def batch_size(self) -> int:
        """Number of edges."""
        return self._count

    def __len__(self) -> int:
        return self._count


class NodeBatch:
    """Nodes with equally many in-edges, as a reducer sees them: their values, and their messages ``[nodes, edges, *]``."""

    def __init__(self, data: Messages, mailbox: Messages, count: int) -> None:
        self.data, self.mailbox, self._count = data, mailbox, count

    def batch_size(self) -> int:
        """Number of nodes."""
        return self._count

    def __len__(self) -> int:
        return self._count


def operate(name: str, left: Tensor, right: Tensor) -> Tensor:
    """``add``, ``sub``, ``mul``, ``div`` or ``dot`` of two edge values. Dimensions that one value lacks come after the first, as in DGL."""
    most = max(left.dim(), right.dim())
    left, right = (value.reshape(len(value), *[1] * (most - value.dim()), *value.shape[1:]) for value in (left, right))
    return _OPERATIONS[name](left, right)


def is_python(function: Any) -> bool:
    """Whether a message or a reducer is a Python function, rather than one of ``fn`` or ``dgl.function``."""
    return callable(function) and not hasattr(function, "name")


def reduced(graph: Any, message: Any, reduce: Any) -> Messages:
    """The messages of all in-edges, reduced to a row per destination. One pause per value of the sources."""
    rows = {name: graph.halo(graph.srcdata[name]) for name in _needed(message, "u", graph.srcdata)}
    try:
        return _in_blocks(graph, rows, message, reduce, whole=False)
    except Unfit as problem:
        note(message if is_python(message) else reduce, str(problem))
        return _in_blocks(graph, rows, message, reduce, whole=True)


def _in_blocks(graph: Any, rows: Messages, message: Any, reduce: Any, *, whole: bool) -> Messages:
    order = graph.by_destination()
    source, destination = (ends[order] for ends in graph.edge_arrays()[:2])
    node_data = {name: graph.dstdata[name] for name in (graph.dstdata if is_python(reduce) else _needed(message, "v", graph.dstdata))}
    edge_data = {name: graph.edata[name] for name in _needed(message, "e", graph.edata)}
    fields: List[str] = []
    outputs: List[Tuple[Tensor, ...]] = []
    most = None if whole else edges_of_block([*rows.values(), *node_data.values(), *edge_data.values()])
    of_sources, of_nodes, of_edges = ({name: Rows(value) for name, value in values.items()} for values in (rows, node_data, edge_data))
    blocks = cuts(graph.in_degrees(), most, apart=False)
    # Whether a block without edges gets one, because a reducer, and some operations, fail without. Sums over all edges must not include it.
    filled = not whole
    for begin, end, first, last in blocks:

        def block(begin: int = begin, end: int = end, first: int = first, last: int = last) -> Any:
            which = slice(begin, end)
            index = destination[which] - first
            src = {name: value[source[which]] for name, value in of_sources.items()}
            dst = {name: value[first:last] for name, value in of_nodes.items()}
            data = {name: value[order[which]] for name, value in of_edges.items()}
            added = int(filled and begin == end)
            if added:
                src, dst, data = _with_an_edge(src), _with_an_edge(dst), _with_an_edge(data)
                index = torch.zeros(1, dtype=torch.int64)
            edges = EdgeBatch(src, {name: value[index] for name, value in dst.items()}, data, len(index))
            count = last - first + added
            try:  # What leaves a checkpoint as an exception leaves its hooks behind in old versions of torch.
                with of_messages(), nullcontext() if whole else INSIDE_BLOCK.of(True):
                    result = _reduce(_message(message, edges), dst, index, count, reduce)
            except Exception as problem:
                return problem
            fields[:] = sorted(result)
            return tuple(result[name][added:] for name in fields)

        output = checkpoint(block, use_reentrant=False) if torch.is_grad_enabled() and len(blocks) > 1 else block()
        if isinstance(output, Exception):
            raise output
        outputs.append(output)
    return {name: torch.cat([output[i] for output in outputs]) for i, name in enumerate(fields)}


def _with_an_edge(values: Messages) -> Messages:
    """A row in front that depends on the others, so that the backward pass reaches the same collectives as on other ranks."""
    return {name: torch.cat([value.new_ones((1, *value.shape[1:])) + value[:0].sum(0, keepdim=True).to(value.dtype), value]) for name, value in values.items()}


def _message(message: Any, edges: EdgeBatch) -> Messages:
    if is_python(message):
        return dict(message(edges))
    ends = {"u": edges.src, "v": edges.dst, "e": edges.data}
    if message.name.startswith("copy_"):
        return {message.out_field: ends[message.name[-1]][message.in_field]}
    left, operation, right = message.name.split("_")
    return {message.out_field: operate(operation, ends[left][message.lhs_field], ends[right][message.rhs_field])}


def _needed(message: Any, end: str, values: Messages) -> List[str]:
    """Names of the values that a message takes from sources (``u``), destinations (``v``) or edges (``e``); a function may take any."""
    if is_python(message):
        return sorted(values)
    if message.name.startswith("copy_"):
        return [message.in_field] if message.name[-1] == end else []
    left, _, right = message.name.split("_")
    return sorted({field for letter, field in ((left, message.lhs_field), (right, message.rhs_field)) if letter == end})


def _reduce(messages: Messages, data: Messages, index: Tensor, count: int, reduce: Any) -> Messages:
    if is_python(reduce):
        return _by_degree(messages, data, index, count, reduce)
    values = messages[reduce.msg_field]
    how = reducer(reduce)
    if how in ("sum", "mean"):
        total = values.new_zeros((count, *values.shape[1:])).index_add(0, index, values)
        degrees = torch.bincount(index, minlength=count).clamp(min=1).to(total.dtype)
        return {reduce.out_field: total / degrees.view(-1, *[1] * (total.dim() - 1)) if how == "mean" else total}
    return {reduce.out_field: _Extreme.apply(values, index, count, how == "max")}


class _Extreme(torch.autograd.Function):
    """The largest or smallest message per node and column, 0 without any. The first of equal messages gets the gradient, as in DGL."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Tensor, count: int, largest: bool) -> Tensor:
        spread = index.view(-1, *[1] * (values.dim() - 1)).expand_as(values)
        zeros = values.new_zeros((count, *values.shape[1:]))
        result = zeros.scatter_reduce(0, spread, values, "amax" if largest else "amin", include_self=False)
        numbers = torch.arange(len(index)).view(-1, *[1] * (values.dim() - 1)).expand_as(values)
        numbers = torch.where(values == result[index], numbers, len(index))
        first = torch.full(result.shape, len(index)).scatter_reduce(0, spread, numbers, "amin")
        ctx.save_for_backward(first)
        ctx.rows = len(index)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gy: Tensor) -> Tuple[Tensor, None, None, None]:
        (first,) = ctx.saved_tensors
        # Nodes without messages give their gradients to a row after the last.
        return gy.new_zeros((ctx.rows + 1, *gy.shape[1:])).scatter_add(0, first, gy)[:-1], None, None, None


def _by_degree(messages: Messages, data: Messages, index: Tensor, count: int, reduce: Any) -> Messages:
    """Calls a reducer with all nodes of each degree; nodes without in-edges get zeros. Edges are in the order of destinations."""
    degrees = torch.bincount(index, minlength=count)
    begins = degrees.cumsum(0) - degrees
    nodes: List[Tensor] = []
    results: List[Messages] = []
    for degree in torch.unique(degrees[degrees > 0]).tolist() or [1]:
        chosen = torch.nonzero(degrees == degree).flatten()
        places = (begins[chosen].unsqueeze(1) + torch.arange(degree)).flatten()
        mailbox = {name: value[places].view(len(chosen), degree, *value.shape[1:]) for name, value in messages.items()}
        results.append(reduce(NodeBatch({name: value[chosen] for name, value in data.items()}, mailbox, len(chosen))))
        nodes.append(chosen)
    order = torch.cat(nodes)
    joined = {name: torch.cat([result[name] for result in results]) for name in results[0]}
    return {name: value.new_zeros((count, *value.shape[1:])).index_copy(0, order, value) for name, value in joined.items()}


def reducer(reduce: Any) -> str:
    """The name of a reducer that is not a Python function."""
    name = getattr(reduce, "name", None)
    if name not in ("sum", "mean", "max", "min"):
        raise NotImplementedError("reducers are functions, or sum, mean, max and min of sar_single.fn or dgl.function")
    return str(name)
