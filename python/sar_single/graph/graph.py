"""A rank's graph, with the interface of a DGL graph that ``dgl.nn`` modules use."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from typing import Any, Callable, ClassVar, Dict, Iterator, Optional, Tuple

import torch
from torch import Tensor

from .. import fn
from .._absent import OF_GRAPHS
from .._engine import Edges as Engine
from . import functions
from .attention import attend
from .counts import Counts
from .frames import Frame, Lazy, copied
from .messages import EdgeBatch, Messages, NodeBatch, is_python, operate, reduced, reducer
from .tensors import place


class Graph:
    """The in-edges of a rank's own nodes. Its nodes are the own ones; sources may belong to any rank.

    An operation over edges is a pause: all ranks must make the same sequence of them.
    """

    is_block = False
    is_homogeneous = True
    ntypes = ["_N"]
    etypes = ["_E"]
    canonical_etypes = [("_N", "_E", "_N")]
    device = torch.device("cpu")
    idtype = torch.int64
    # The graph's name in errors, and their remedy for an attribute that it lacks.
    _called: ClassVar[str] = "rank.graph"
    _remedy: ClassVar[str] = (
        "it has the in-edges of a rank's nodes and what modules of dgl.nn compute on them; change the graph before sar.partition"
    )

    def __init__(
        self, engine: Engine, num_total_nodes: Optional[int] = None, places: Callable[[], Optional[Tensor]] = lambda: None
    ) -> None:
        # ``places``: each edge's place in the user's files, which orders a node's messages.
        self._engine, self._places = engine, places
        self._order: Optional[Tensor] = None
        self._num_total_nodes = engine.num_nodes if num_total_nodes is None else num_total_nodes
        self._ends: Optional[Tuple[Tensor, Tensor, Tensor, Tensor]] = None
        # The graph's numbers of the engine's edges, unless they are the same.
        self._engine_order: Optional[Tensor] = None
        self._degrees: Dict[str, Tensor] = {}
        # Values of nodes as sources and as destinations, which are the same: both are the own nodes.
        self.srcdata = self.dstdata = Frame(engine.num_nodes, "nodes")
        self.edata = Frame(engine.num_edges, "edges")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self._called} has no {name}: {OF_GRAPHS.get(name, self._remedy)}")

    def to(self, device: Any, **_: Any) -> "Graph":
        """The graph itself, for programs that name a device, which here is the CPU."""
        if str(device) != "cpu":
            raise ValueError(f"device is {device}, but graphs of workers are on the CPU")
        return self

    @property
    def ndata(self) -> Frame:
        """Values of the own nodes."""
        return self.srcdata

    def num_nodes(self, ntype: Optional[str] = None) -> int:
        """Number of the rank's nodes."""
        self._check_type(ntype)
        return self._engine.num_sources

    def num_src_nodes(self, ntype: Optional[str] = None) -> int:
        """Number of own nodes, as sources of edges."""
        self._check_type(ntype)
        return self._engine.num_sources

    def num_dst_nodes(self, ntype: Optional[str] = None) -> int:
        """Number of own nodes, as destinations of edges."""
        self._check_type(ntype)
        return self._engine.num_nodes

    number_of_nodes, number_of_src_nodes, number_of_dst_nodes = num_nodes, num_src_nodes, num_dst_nodes

    def num_edges(self, etype: Any = None) -> int:
        """Number of edges that end at the rank's nodes."""
        self._check_type(etype)
        return self._engine.num_edges

    number_of_edges = num_edges
    batch_size = 1

    def batch_num_nodes(self, ntype: Optional[str] = None) -> Counts:
        """The nodes of the only graph of a batch: as a length this rank's, as a divisor all ranks'."""
        return Counts.of(self.num_dst_nodes(ntype), self._num_total_nodes)

    def _check_type(self, name: Any) -> None:
        """Refuses types of the partitions, which are numbers here."""
        if name not in (None, *self.ntypes, *self.etypes, *self.canonical_etypes):
            raise ValueError(f'{self._called} has no type {name!r}: types of the partitions are numbers, the values "_TYPE" of nodes and edges; leave the type out')

    def edge_arrays(self) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        """The edges' sources (rows of ``halo``), destinations, types, and rows of edge features."""
        if self._ends is None:
            with torch.inference_mode(False):  # Training may read them later.
                self._ends = self.unkept_edge_arrays()
        return self._ends

    def unkept_edge_arrays(self) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
        """``edge_arrays`` for a single use: the graph does not keep their 32 bytes per edge."""
        if self._ends is not None:
            return self._ends
        arrays = [torch.empty(self.num_edges(), dtype=torch.int64) for _ in range(4)]
        self._engine.edges(*[place(array) for array in arrays])
        return arrays[0], arrays[1], arrays[2], arrays[3]

    @torch.inference_mode(False)
    def in_degrees(self, v: Any = "__ALL__") -> Tensor:
        """Number of in-edges of each own node, int64 ``[nodes]``."""
        if "in" not in self._degrees:
            self._degrees["in"] = torch.bincount(self.unkept_edge_arrays()[1], minlength=self.num_dst_nodes())
        return _some(self._degrees["in"], v)

    @torch.inference_mode(False)
    def out_degrees(self, u: Any = "__ALL__") -> Tensor:
        """Number of edges, on all ranks, that begin at each own node, int64 ``[nodes]``."""
        if "out" not in self._degrees:
            self._degrees["out"] = torch.empty(self.num_src_nodes(), dtype=torch.int64)
            self._engine.out_degrees(place(self._degrees["out"]))
        return _some(self._degrees["out"], u)

    @torch.inference_mode(False)
    def by_destination(self) -> Tensor:
        """Edges ordered by destination, and per node in the order of the user's files, int64 ``[edges]``."""
        if self._order is None:
            places = self._places()
            first = torch.arange(self.num_edges()) if places is None else torch.argsort(places)
            self._order = first[torch.argsort(self.edge_arrays()[1][first], stable=True)]
        return self._order

    @contextmanager
    def local_scope(self) -> Iterator[None]:
        """A scope at whose end the values set inside are discarded."""
        frames = self.srcdata, self.dstdata, self.edata
        kept = [dict(frame) for frame in frames]
        try:
            yield
        finally:
            for frame, values in zip(frames, kept):
                frame.clear()
                frame.update(values)

    def local_var(self) -> "Graph":
        """The same graph with its own values."""
        graph = copy.copy(self)
        graph.srcdata = copied(self.srcdata)
        graph.dstdata = graph.srcdata if self.dstdata is self.srcdata else copied(self.dstdata)
        graph.edata = copied(self.edata)
        return graph

    def reverse(self) -> "Reversed":
        """The graph with reversed edges, for sums of edge values."""
        return Reversed(self)

    def halo(self, x: Tensor) -> Tensor:
        """Rows of all sources of edges: first the own nodes', then other ranks'. One pause."""
        return functions.halo(self._engine, x)

    def update_all(self, message: Any, reduce: Any, apply_node_func: Optional[Callable[..., Messages]] = None) -> None:
        """Sends messages along all in-edges and reduces them into ``dstdata``.

        Both arguments come from ``sar_single.fn`` or ``dgl.function``, or are Python functions, which get edges and nodes in blocks.
        """
        if is_python(message) or is_python(reduce):
            self.dstdata.update(reduced(self, message, reduce))
        else:
            self.dstdata[reduce.out_field] = self._reduce_builtin(message, reduce)
        if apply_node_func is not None:
            self.dstdata.update(apply_node_func(NodeBatch(self.dstdata, {}, self.num_dst_nodes())))

    def apply_edges(self, function: Any) -> None:
        """Computes values of edges from the values of their ends."""
        if is_python(function):
            source, destination, _, _ = self.edge_arrays()
            rows = Lazy(lambda key: self.halo(self.srcdata[key])[source], self.srcdata)
            values = Lazy(lambda key: self.dstdata[key][destination], self.dstdata)
            self.edata.update(function(EdgeBatch(rows, values, self.edata, self.num_edges())))
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
        """Sums of ``messages`` ``[nodes, heads, width]`` over in-edges u -> v, weighted by a softmax of ``leaky_relu(scores[u] + destinations[v])``,
        both ``[nodes, heads]``: GAT.

        With a ``vector`` ``[heads, width]``, scores are its inner product with ``leaky_relu(messages[u] + destinations[v])``: GATv2. No tensor has a
        row per edge. ``dropout`` leaves edges out after the softmax. One pause.
        """
        return attend([self._engine], messages, scores, destinations, vector, slope, dropout)

    def propagate(
        self,
        function: Callable[[Tensor, Tensor], Tensor],
        x_src: Tensor,
        x_dst: Tensor,
        reduce: str = "sum",
    ) -> Tensor:
        """Sums ``function(rows of sources, rows of destinations)`` over in-edges, in blocks of edges that the backward pass recomputes. One pause."""
        graph = self.local_var()
        graph.srcdata, graph.dstdata, graph.edata = (Frame(len(x), "nodes") for x in (x_src, x_dst, self.edge_arrays()[0]))
        graph.srcdata["x"], graph.dstdata["x"] = x_src, x_dst
        named = fn.Reduce(reduce, "m", "y")
        return reduced(graph, lambda edges: {"m": function(edges.src["x"], edges.dst["x"])}, named)["y"]

    def _edge_values(self, function: Any) -> Tensor:
        name = function.name
        if name in ("copy_e", "copy_u"):
            field = function.in_field
            if name == "copy_e":
                return self.edata[field]
            return self.halo(self.srcdata[field])[self.edge_arrays()[0]]
        left, op, right = name.split("_")
        values = [self._end(left, function.lhs_field), self._end(right, function.rhs_field)]
        return operate(op, values[0], values[1])

    def _end(self, target: str, field: str) -> Tensor:
        if target == "e":
            return self.edata[field]
        source, destination, _, _ = self.edge_arrays()
        return self.halo(self.srcdata[field])[source] if target == "u" else self.dstdata[field][destination]

    def _reduce_builtin(self, message: Any, reduce: Any) -> Tensor:
        name, how = message.name, reducer(reduce)
        around = functions.Around(counts=self.in_degrees().clamp(min=1) if how == "mean" else None)
        if name == "copy_u" and how in ("max", "min"):
            return functions.neighbour_select(self._engine, self.srcdata[message.in_field], how == "max")
        if name == "copy_u":
            return functions.neighbour_sum(self._engine, self.srcdata[message.in_field], None, around)
        if name == "u_mul_e" and how in ("sum", "mean"):
            x, factors = self.srcdata[message.lhs_field], self.edata[message.rhs_field]
            if functions.fits(factors, x):
                factors = factors if self._engine_order is None else factors[self._engine_order]
                return functions.neighbour_sum(self._engine, x, factors, around)
        return reduced(self, message, reduce)[reduce.out_field]


class Block(Graph):
    """A sampled block: edges from ``num_src_nodes`` nodes to the first ``num_dst_nodes`` of them, in the given order. Operations are not pauses."""

    is_block = True
    _called = "a block"
    _remedy = 'it has edges of one type, with edata["_TYPE"] if the partitions have several, and what modules of dgl.nn compute on them'

    def __init__(self, sources: Tensor, num_dst_nodes: int, source: Tensor, destination: Tensor, edges: Tensor) -> None:
        super().__init__(Engine.of_block(len(sources), num_dst_nodes, place(source), place(destination)))
        # Training may read them after a batch was made in inference mode.
        with torch.inference_mode(False):
            _, _, types, row = self.unkept_edge_arrays()
            self._ends = source.clone(), destination.clone(), types, torch.arange(len(row))
            self._engine_order = None if torch.equal(row, self._ends[3]) else row
        self.srcdata = Frame(len(sources), "sources")
        self.dstdata = Frame(num_dst_nodes, "destinations")
        self.srcdata["_ID"], self.dstdata["_ID"] = sources, sources[:num_dst_nodes]
        self.edata["_ID"] = edges

    def edges(self, form: str = "uv", order: str = "eid") -> Any:
        """Numbers of sources and destinations; with ``form="all"`` also those of the edges, with ``"eid"`` these alone. They are in the order of edges."""
        if order != "eid":
            raise ValueError(f"order is {order!r}, but edges are in the order of their numbers, 'eid'")
        source, destination, _, number = self.edge_arrays()
        return in_form(form, source, destination, number)

    all_edges = edges


class Reversed:
    """A graph with reversed edges: sums over it are sums over out-edges, as ``EdgeWeightNorm`` takes them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.edata = Frame(graph.num_edges(), "edges")
        self.ndata = self.srcdata = self.dstdata = Frame(graph.num_src_nodes(), "nodes")

    def update_all(self, message: Any, reduce: Any) -> None:
        """Sums values of edges. One pause."""
        if message.name != "copy_e" or reducer(reduce) != "sum":
            raise NotImplementedError("a reversed graph sums values of edges (copy_e, sum) and nothing else")
        graph, values = self._graph, self.edata[message.in_field]
        rows = values.new_zeros((graph._engine.num_halo_rows, *values.shape[1:]))
        rows = rows.index_add(0, graph.edge_arrays()[0], values)
        self.ndata[reduce.out_field] = functions.halo_adjoint(graph._engine, rows)


def edge_softmax(graph: Graph, scores: Tensor, eids: Any = "__ALL__", norm_by: str = "dst") -> Tensor:
    """Softmax of edge values ``[edges, *]`` over the in-edges of each node. No pause."""
    if norm_by != "dst":
        raise NotImplementedError("edge_softmax over out-edges")
    return functions.softmax(graph._engine, scores, graph._engine_order)


def in_form(form: str, source: Tensor, destination: Tensor, ids: Tensor) -> Any:
    """Ends and ids of edges, as DGL's ``edges`` gives them."""
    forms = {"uv": (source, destination), "all": (source, destination, ids), "eid": ids}
    if form not in forms:
        raise ValueError(f"unknown form {form!r}: use uv, all or eid")
    return forms[form]


def _some(values: Tensor, which: Any) -> Tensor:
    return values if isinstance(which, str) else values[which]
