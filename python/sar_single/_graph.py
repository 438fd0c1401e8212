"""A rank's graph, with the interface of a DGL graph that ``dgl.nn`` modules use."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from . import _functions as functions
from ._engine import Edges as Engine
from ._tensors import place

Messages = Dict[str, Tensor]

# Edges that a message function gets at a time.
_BLOCK = 1 << 16


class EdgeBatch:
    """Some edges, as a message function sees them: values of their sources, of their destinations and their own."""

    def __init__(self, src: Messages, dst: Messages, data: Messages) -> None:
        self.src, self.dst, self.data = src, dst, data


class _Frame(Dict[str, Tensor]):
    """Values by name, one row per node or edge."""

    def __init__(self, rows: int, what: str) -> None:
        super().__init__()
        self._rows, self._what = rows, what

    def __setitem__(self, key: str, value: Tensor) -> None:
        if len(value) != self._rows:
            raise ValueError(f"{key!r} has {len(value)} rows, but this rank has {self._rows} {self._what}")
        super().__setitem__(key, value)

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, value in dict(*args, **kwargs).items():
            self[key] = value


class _Lazy(Dict[str, Tensor]):
    """Values that are made when they are asked for."""

    def __init__(self, make: Callable[[str], Tensor], known: Any) -> None:
        super().__init__()
        self._make, self._known = make, known

    def __missing__(self, key: str) -> Tensor:
        self[key] = value = self._make(key)
        return value

    def __contains__(self, key: object) -> bool:
        return key in self._known


class Graph:
    """The in-edges of a rank's own nodes. Nodes are the own ones; sources may belong to any rank.

    An operation over edges is a pause: all ranks have to make the same sequence of them.
    """

    is_block = False
    is_homogeneous = True
    ntypes = ["_N"]
    etypes = ["_E"]
    canonical_etypes = [("_N", "_E", "_N")]
    device = torch.device("cpu")
    idtype = torch.int64

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._ends: Optional[Tuple[Tensor, Tensor, Tensor, Tensor]] = None
        self._degrees: Dict[str, Tensor] = {}
        # Values of nodes as sources and as destinations: the same ones, as both are the own nodes.
        self.srcdata = self.dstdata = _Frame(engine.num_nodes, "nodes")
        self.edata = _Frame(engine.num_edges, "edges")

    @property
    def ndata(self) -> _Frame:
        """Values of the own nodes."""
        return self.srcdata

    def num_nodes(self, ntype: Optional[str] = None) -> int:
        """How many nodes this rank has."""
        return self._engine.num_sources

    def num_src_nodes(self, ntype: Optional[str] = None) -> int:
        """How many nodes here edges begin at."""
        return self._engine.num_sources

    def num_dst_nodes(self, ntype: Optional[str] = None) -> int:
        """How many nodes edges end at."""
        return self._engine.num_nodes

    number_of_nodes, number_of_src_nodes, number_of_dst_nodes = num_nodes, num_src_nodes, num_dst_nodes

    def num_edges(self, etype: Optional[str] = None) -> int:
        """How many edges end at this rank's nodes."""
        return self._engine.num_edges

    number_of_edges = num_edges

    def edge_arrays(self) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        """Of each edge: its source among the rows of ``halo``, its destination, its type, and its row among edge features."""
        if self._ends is None:
            arrays = [torch.empty(self.num_edges(), dtype=torch.int64) for _ in range(4)]
            self._engine.edges(*[place(array) for array in arrays])
            self._ends = (arrays[0], arrays[1], arrays[2], arrays[3])
        return self._ends

    def in_degrees(self, v: Any = "__ALL__") -> Tensor:
        """In-edges of each own node, int64 ``[nodes]``."""
        if "in" not in self._degrees:
            self._degrees["in"] = torch.bincount(self.edge_arrays()[1], minlength=self.num_dst_nodes())
        return _some(self._degrees["in"], v)

    def out_degrees(self, u: Any = "__ALL__") -> Tensor:
        """Edges of all ranks that begin at each own node, int64 ``[nodes]``."""
        if "out" not in self._degrees:
            self._degrees["out"] = torch.empty(self.num_src_nodes(), dtype=torch.int64)
            self._engine.out_degrees(place(self._degrees["out"]))
        return _some(self._degrees["out"], u)

    @contextmanager
    def local_scope(self) -> Iterator[None]:
        """Values set inside are gone after it."""
        frames = self.srcdata, self.dstdata, self.edata
        kept = [dict(frame) for frame in frames]
        try:
            yield
        finally:
            for frame, values in zip(frames, kept):
                frame.clear()
                frame.update(values)

    def local_var(self) -> "Graph":
        """The same graph with values of its own."""
        graph = copy.copy(self)
        graph.srcdata = _copy(self.srcdata)
        graph.dstdata = graph.srcdata if self.dstdata is self.srcdata else _copy(self.dstdata)
        graph.edata = _copy(self.edata)
        return graph

    def reverse(self) -> "Reversed":
        """The graph with its edges turned round, for sums of edge values."""
        return Reversed(self)

    def halo(self, x: Tensor) -> Tensor:
        """Rows of all sources of edges: the own ones, then those of the other ranks. One pause."""
        return functions.halo(self._engine, x)

    def update_all(self, message: Any, reduce: Any, apply_node_func: Optional[Callable[..., Messages]] = None) -> None:
        """Sends messages along all in-edges and reduces them into ``dstdata``."""
        field, how = reduce.out_field, _reducer(reduce)
        if callable(message) and not hasattr(message, "name"):
            self.dstdata[field] = self._reduce_python(message, reduce.msg_field, how)
        else:
            self.dstdata[field] = self._reduce_builtin(message, how)
        if apply_node_func is not None:
            raise NotImplementedError("update_all with apply_node_func: call the function on dstdata afterwards")

    def apply_edges(self, function: Any) -> None:
        """Computes values of edges from those of their ends."""
        if callable(function) and not hasattr(function, "name"):
            source, destination, _, _ = self.edge_arrays()
            rows = _Lazy(lambda key: self.halo(self.srcdata[key])[source], self.srcdata)
            values = _Lazy(lambda key: self.dstdata[key][destination], self.dstdata)
            self.edata.update(function(EdgeBatch(rows, values, self.edata)))
            return
        self.edata[function.out_field] = self._edge_values(function)

    def attend(
        self,
        messages: Tensor,
        scores: Optional[Tensor],
        destinations: Tensor,
        *,
        vector: Optional[Tensor] = None,
        slope: float = 0.2,
        dropout: float = 0.0,
    ) -> Tensor:
        """Sums of ``messages`` ``[nodes, heads, width]`` over in-edges u -> v, weighted by a softmax of
        ``leaky_relu(scores[u] + destinations[v])``, both ``[nodes, heads]``: GAT.

        With a ``vector`` ``[heads, width]``, scores are its inner product with ``leaky_relu(messages[u] + destinations[v])``: GATv2. Nothing
        has a row per edge. ``dropout`` leaves edges out after the softmax. One pause.
        """
        return functions.attend(self._engine, messages, scores, destinations, vector, slope, dropout)

    def propagate(
        self,
        function: Callable[[Tensor, Tensor], Tensor],
        x_src: Tensor,
        x_dst: Tensor,
        reduce: str = "sum",
    ) -> Tensor:
        """Sums ``function(rows of sources, rows of destinations)`` over in-edges, in blocks of edges that the backward pass
        computes again. One pause.
        """
        fields = {"x": x_src}, {"x": x_dst}
        return self._in_blocks(lambda edges: function(edges.src["x"], edges.dst["x"]), fields, {}, reduce)

    def _edge_values(self, function: Any) -> Tensor:
        name = function.name
        if name in ("copy_e", "copy_u"):
            field = function.in_field
            if name == "copy_e":
                return self.edata[field]
            return self.halo(self.srcdata[field])[self.edge_arrays()[0]]
        left, op, right = name.split("_")
        values = [self._end(left, function.lhs_field), self._end(right, function.rhs_field)]
        return _OPERATIONS[op](values[0], values[1])

    def _end(self, target: str, field: str) -> Tensor:
        if target == "e":
            return self.edata[field]
        source, destination, _, _ = self.edge_arrays()
        return self.halo(self.srcdata[field])[source] if target == "u" else self.dstdata[field][destination]

    def _reduce_builtin(self, message: Any, how: str) -> Tensor:
        name = message.name
        factors = None
        if name == "u_mul_e":
            x, factors = self.srcdata[message.lhs_field], self.edata[message.rhs_field]
        elif name == "copy_u":
            x = self.srcdata[message.in_field]
        else:
            return self._reduce_edges(self._edge_values(message), how)
        if how in ("max", "min"):
            if factors is None:
                return functions.neighbour_select(self._engine, x, how == "max")
            raise NotImplementedError(f"{how} of {name}: use copy_u, or weight the rows first")
        counts = self._counts() if how == "mean" else None
        return functions.neighbour_sum(self._engine, x, factors, counts)

    def _reduce_edges(self, values: Tensor, how: str) -> Tensor:
        """Reduces values of edges. No pause: all in-edges are here."""
        if how in ("max", "min"):
            raise NotImplementedError(f"{how} of edge values")
        zeros = values.new_zeros((self.num_dst_nodes(), *values.shape[1:]))
        return self._mean_if(how, zeros.index_add(0, self.edge_arrays()[1], values))

    def _mean_if(self, how: str, total: Tensor) -> Tensor:
        if how != "mean":
            return total
        return total / self._counts().to(total.dtype).reshape(-1, *[1] * (total.dim() - 1))

    def _counts(self) -> Tensor:
        """By how many in-edges the mean divides, int64 ``[nodes]``."""
        return self.in_degrees().clamp(min=1)

    def _reduce_python(self, message: Callable[[EdgeBatch], Messages], field: str, how: str) -> Tensor:
        fields = dict(self.srcdata), dict(self.dstdata)
        return self._in_blocks(lambda edges: message(edges)[field], fields, dict(self.edata), how)

    def _in_blocks(
        self,
        message: Callable[[EdgeBatch], Tensor],
        fields: Tuple[Messages, Messages],
        edata: Messages,
        how: str,
    ) -> Tensor:
        if how in ("max", "min"):
            raise NotImplementedError(f"{how} of messages that a Python function computes")
        source, destination, _, _ = self.edge_arrays()
        rows = {key: self.halo(fields[0][key]) for key in sorted(fields[0])}
        total: Optional[Tensor] = None
        for start in range(0, max(self.num_edges(), 1), _BLOCK):
            block = slice(start, min(start + _BLOCK, self.num_edges()))

            def messages(block: slice = block) -> Tensor:
                src = {key: value[source[block]] for key, value in rows.items()}
                dst = {key: value[destination[block]] for key, value in fields[1].items()}
                return message(EdgeBatch(src, dst, {key: value[block] for key, value in edata.items()}))

            values = checkpoint(messages, use_reentrant=False)
            if total is None:
                total = values.new_zeros((self.num_dst_nodes(), *values.shape[1:]))
            total = total.index_add(0, destination[block], values)
        assert total is not None
        return self._mean_if(how, total)


class Block(Graph):
    """A sampled block: edges from ``num_src_nodes`` nodes to the first ``num_dst_nodes`` of them. No operation is a pause."""

    is_block = True

    def __init__(self, sources: Tensor, num_dst_nodes: int, source: Tensor, destination: Tensor, edges: Tensor) -> None:
        super().__init__(Engine.of_block(len(sources), num_dst_nodes, place(source), place(destination)))
        self.srcdata = _Frame(len(sources), "sources")
        self.dstdata = _Frame(num_dst_nodes, "destinations")
        self.srcdata["_ID"], self.dstdata["_ID"] = sources, sources[:num_dst_nodes]
        self.edata["_ID"] = edges[self.edge_arrays()[3]]


class Reversed:
    """A graph with its edges turned round. It sums values of edges over out-edges, which is what ``EdgeWeightNorm`` asks for."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.edata = _Frame(graph.num_edges(), "edges")
        self.ndata = self.srcdata = self.dstdata = _Frame(graph.num_src_nodes(), "nodes")

    def update_all(self, message: Any, reduce: Any) -> None:
        """Sums values of edges. One pause."""
        if message.name != "copy_e" or _reducer(reduce) != "sum":
            raise NotImplementedError("a reversed graph sums values of edges (copy_e, sum) and nothing else")
        graph, values = self._graph, self.edata[message.in_field]
        rows = values.new_zeros((graph._engine.num_halo_rows, *values.shape[1:]))
        rows = rows.index_add(0, graph.edge_arrays()[0], values)
        self.ndata[reduce.out_field] = functions.halo_adjoint(graph._engine, rows)


def edge_softmax(graph: Graph, scores: Tensor, eids: Any = "__ALL__", norm_by: str = "dst") -> Tensor:
    """Softmax of edge values ``[edges, *]`` over the in-edges of each node. No pause."""
    if norm_by != "dst":
        raise NotImplementedError("edge_softmax over out-edges")
    return functions.softmax(graph._engine, scores)


_OPERATIONS: Dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "dot": lambda a, b: (a * b).sum(-1, keepdim=True),
}


def _reducer(reduce: Any) -> str:
    name = getattr(reduce, "name", None)
    if name not in ("sum", "mean", "max", "min"):
        raise NotImplementedError("reducers are sum, mean, max and min of sar_single.fn or dgl.function")
    return str(name)


def _some(values: Tensor, which: Any) -> Tensor:
    return values if isinstance(which, str) else values[which]


def _copy(frame: _Frame) -> _Frame:
    same = _Frame(frame._rows, frame._what)
    same.update(frame)
    return same
