"""Edges that end at a rank's nodes, as PyG's modules need them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional

import torch
from torch import Tensor

from .._engine import Edges as Engine
from ..graph import functions
from ..graph.graph import Graph
from ..graph.keys import BITS, keys_of_nodes
from ..graph.tensors import place
from ..process import current


@dataclass(frozen=True)
class Loops:
    """Self loops in addition to all other edges: the graph's own, and one of every own node after all edges."""

    of_graph: bool
    added: bool


class Topology:
    """All edges that end at own nodes. Sources are numbered as rows of ``halo``: the own nodes, then other ranks'."""

    # Whether edges begin and end at the same nodes, so that a node can be its own neighbour.
    same_nodes = True
    graph: Optional[Graph] = None
    _by_destination: Optional[Tensor] = None
    _own_loops: Optional[Tensor] = None
    _most_loops: Optional[int] = None
    _edge_keys: Optional[Tensor] = None

    #: Each edge's place in the user's files, which decides the order among a node's edges.
    places: Callable[[], Optional[Tensor]]

    def __init__(self, graph: Graph) -> None:
        self.graph, self.places = graph, graph._places
        self.num_sources, self.num_nodes = graph.num_src_nodes(), graph.num_dst_nodes()
        self.num_edges, self.num_halo_rows = graph.num_edges(), graph._engine.num_halo_rows
        self._ends: Dict[str, Tensor] = {}
        self._loop_edges: Dict[bool, Engine] = {}

    def ends(self, name: str) -> Tensor:
        """The ``source`` or the ``destination`` of each edge, int64 ``[edges]``."""
        if name not in self._ends:
            assert self.graph is not None
            with torch.inference_mode(False):
                source, destination, _, _ = self.graph.unkept_edge_arrays()
            self._ends[name] = source if name == "source" else destination
        return self._ends[name]

    def own_loops(self) -> Tensor:
        """Number of self loops of each own node, int64 ``[nodes]``."""
        if self._own_loops is None:
            source, destination, *_ = self.graph.unkept_edge_arrays() if self.graph is not None else (self.ends("source"), self.ends("destination"))
            self._own_loops = torch.bincount(destination[source == destination], minlength=self.num_nodes)
        return self._own_loops

    def halo(self, x: Tensor) -> Tensor:
        """Rows of all sources of edges, of any real dtype. One pause."""
        assert self.graph is not None
        return functions.halo(self.graph._engine, x)

    def halo_adjoint(self, rows: Tensor) -> Tensor:
        """Sums of all ranks' source rows, by the own node that they belong to. One pause."""
        assert self.graph is not None
        return functions.halo_adjoint(self.graph._engine, rows)

    def with_loops(self, loops: Optional[Loops]) -> Optional[List[Engine]]:
        """The edges of the graph and ``loops`` for the engine; None if the engine would have to leave edges out. One collective the first time."""
        if loops is None or self.graph is None:
            return None
        if not loops.of_graph and self._loops_of_a_node() > int(loops.added):
            return None
        edges = [self.graph._engine]
        if loops.added:
            if loops.of_graph not in self._loop_edges:
                # A loop of the graph replaces the added one.
                nodes = torch.arange(self.num_nodes)
                nodes = nodes if loops.of_graph else nodes[self.own_loops() == 0]
                self._loop_edges[loops.of_graph] = Engine.of_block(self.num_nodes, self.num_nodes, place(nodes), place(nodes))
            edges.append(self._loop_edges[loops.of_graph])
        return edges

    def _loops_of_a_node(self) -> int:
        """The largest number of self loops of any rank's node."""
        if self._most_loops is None:
            rank: Any = current.current()
            own = self.own_loops()
            self._most_loops = int(rank.all_reduce(int(own.max()) if len(own) else 0, op="max"))
        return self._most_loops

    def keys_of_edges(self, origin: Tensor) -> Tensor:
        """Keys of edges by their numbers here, or ``-1 - node`` for a self loop: the edges' places in the user's files."""
        if self._edge_keys is None:
            rank: Any = current.current()
            places = self.places()
            self._edge_keys = torch.arange(self.num_edges) + (rank.index << BITS) if places is None else places
        added = origin < 0
        keys = -1 - self.keys_of_destinations()[(-1 - origin).clamp(min=0)] if bool(added.any()) else origin
        return keys if self.num_edges == 0 else torch.where(added, keys, self._edge_keys[origin.clamp(min=0)])

    def keys_of_destinations(self) -> Tensor:
        """Keys of the own nodes at which edges end, int64 ``[nodes]``."""
        rank: Any = current.current()
        return keys_of_nodes(rank)

    def by_destination(self) -> Tensor:
        """Edges ordered by destination, and per node in the order of the user's files, int64 ``[edges]``."""
        if self._by_destination is None:
            places = self.places()
            first = torch.arange(self.num_edges) if places is None else torch.argsort(places)
            self._by_destination = first[torch.argsort(self.ends("destination")[first], stable=True)]
        return self._by_destination


def sum_to_sources(topology: Topology, numbers: Tensor, values: Tensor) -> Tensor:
    """Sums of edge values over the edges that begin at each own node, ``[sources, *]``. One pause."""
    exact = values.dtype in (torch.float32, torch.float64)
    wide = values if exact else values.double()
    rows = wide.new_zeros((topology.num_halo_rows, *wide.shape[1:])).index_add(0, numbers, wide)
    return topology.halo_adjoint(rows).to(values.dtype)
