"""Columns of an ``edge_index``: edges of the graph, a part of them, or with self loops."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from ..graph.destinations import Block, cuts
from .edge_mask import EdgeMask
from .topology import Loops, Topology


class Columns:
    """Edges, and what they were made from. Immutable. Arrays are made when something reads them.

    ``loops`` is None where a mask of values has chosen edges, or where edges are repeated. It is a fact of the program, not of the rank's edges, so
    ranks may branch on it.
    """

    def __init__(
        self,
        topology: Topology,
        count: int,
        make: Callable[[str], Tensor],
        *,
        loops: Optional[Loops] = None,
        loops_at_end: Optional[bool] = None,
    ) -> None:
        self.topology, self.loops = topology, loops
        # False: edges of the graph in its order. True: followed by a loop of every node. None: any order.
        self.loops_at_end = loops_at_end
        self._count, self._make = count, make
        self._arrays: Dict[str, Tensor] = {}
        self._in_order: Optional[Tuple[Optional[Tensor], Tensor]] = None
        self._blocks: Dict[int, List[Block]] = {}
        self._without_loops: Optional[Columns] = None
        self._with_loops: Optional[Columns] = None

    @classmethod
    def whole(cls, topology: Topology) -> "Columns":
        """All edges of the graph that end here."""

        def make(name: str) -> Tensor:
            return torch.arange(topology.num_edges) if name == "origin" else topology.ends(name)

        return cls(topology, topology.num_edges, make, loops=Loops(True, False), loops_at_end=False)

    @property
    def source(self) -> Tensor:
        """The source of each edge among the rows of ``halo``."""
        return self._array("source")

    @property
    def destination(self) -> Tensor:
        """The destination of each edge among the own nodes."""
        return self._array("destination")

    @property
    def origin(self) -> Tensor:
        """The number of each edge in the graph; ``-1 - node`` for an added self loop."""
        return self._array("origin")

    @property
    def changed(self) -> bool:
        """Whether these edges differ from the graph's."""
        return self.loops != Loops(True, False)

    def _array(self, name: str) -> Tensor:
        if name not in self._arrays:
            with torch.inference_mode(False):  # Training may read it later.
                self._arrays[name] = self._make(name)
        return self._arrays[name]

    def __len__(self) -> int:
        return self._count

    def keys(self, which: Any = slice(None)) -> Tensor:
        """Numbers of edges that no partitioning changes, int64."""
        return self.topology.keys_of_edges(self.origin[which])

    def in_degrees(self) -> Tensor:
        """Number of these edges that end at each own node, int64 ``[nodes]``."""
        graph = self.topology.graph
        if self.loops is None or graph is None:
            return torch.bincount(self.destination, minlength=self.topology.num_nodes)
        degrees = graph.in_degrees() + int(self.loops.added)
        return degrees if self.loops.of_graph else degrees - self.topology.own_loops()

    def select(self, mask: "Tensor | EdgeMask") -> "Columns":
        """The columns that a mask chooses."""
        if not isinstance(mask, EdgeMask):
            which = mask
        elif mask.without_loops_of is self and not self.changed:
            if self._without_loops is None:
                self._without_loops = self._selected(mask, len(self) - int(self.topology.own_loops().sum()), Loops(False, False))
            return self._without_loops
        else:
            which = mask.which
        return self._selected(which, int(which.sum()), None)

    def _selected(self, mask: "Tensor | EdgeMask", count: int, loops: Optional[Loops]) -> "Columns":
        def make(name: str) -> Tensor:
            return self._array(name)[mask.which if isinstance(mask, EdgeMask) else mask]

        return Columns(self.topology, count, make, loops=loops, loops_at_end=False if self.loops_at_end is False else None)

    def same_as(self, other: "Columns") -> bool:
        """Whether both are the same edges in the same order."""
        return self is other or (self.topology is other.topology and torch.equal(self.origin, other.origin))

    def is_loops(self, nodes: Tensor) -> bool:
        """Whether numbers of nodes belong to self loops of all own nodes."""
        count = self.topology.num_nodes
        return self.topology.same_nodes and len(nodes) == count and torch.equal(nodes, torch.arange(count))

    def loops_of_all(self) -> "Columns":
        """A self loop of every own node."""
        nodes = self.topology.num_nodes
        return Columns(self.topology, nodes, lambda name: -1 - torch.arange(nodes) if name == "origin" else torch.arange(nodes))

    def and_loops(self) -> "Columns":
        """These edges, followed by a self loop of every own node."""
        if self._with_loops is None:
            loops = Loops(self.loops.of_graph, True) if self.loops is not None and not self.loops.added else None
            ordered = True if self.loops_at_end is False else None
            self._with_loops = Columns._joined([self, self.loops_of_all()], loops, ordered)
        return self._with_loops

    @staticmethod
    def joined(parts: "Sequence[Columns | None]") -> "Columns":
        """The columns of all parts, one after the other; None stands for self loops of all nodes."""
        first = parts[0]
        if len(parts) == 2 and first is not None and parts[1] is None:
            return first.and_loops()
        like = next(part for part in parts if part is not None)
        return Columns._joined([like.loops_of_all() if part is None else part for part in parts], None, None)

    @staticmethod
    def _joined(parts: "Sequence[Columns]", loops: Optional[Loops], loops_at_end: Optional[bool]) -> "Columns":
        def make(name: str) -> Tensor:
            return torch.cat([part._array(name) for part in parts])

        return Columns(parts[0].topology, sum(map(len, parts)), make, loops=loops, loops_at_end=loops_at_end)

    def blocks(self, most: int) -> Tuple[Optional[Tensor], List[Block]]:
        """The order by destinations (None if edges are already in it), and blocks of destinations with all their edges, at most ``most`` if a
        destination does not have more.
        """
        if self._in_order is None:
            with torch.inference_mode(False):
                self._in_order = self._order(), self.in_degrees()
        order, degrees = self._in_order
        if most not in self._blocks:
            self._blocks[most] = cuts(degrees, most, apart=True)
        return order, self._blocks[most]

    def _order(self) -> Optional[Tensor]:
        if self.loops_at_end is None:
            return torch.argsort(self.destination, stable=True)
        nodes = self.topology.num_nodes if self.loops_at_end else 0
        count = len(self) - nodes
        place = torch.full((self.topology.num_edges,), -1)
        place[self.origin[:count]] = torch.arange(count)
        ordered = place[self.topology.by_destination()]
        ordered = ordered[ordered >= 0]
        if nodes == 0:
            return ordered
        # Before an edge come the loops of all smaller nodes; before a loop, the edges of its node and of all smaller ones.
        destination = self.destination[:count][ordered]
        order = torch.empty(len(self), dtype=torch.int64)
        order[torch.arange(count) + destination] = ordered
        loops = torch.arange(nodes)
        ends = torch.bincount(destination, minlength=nodes).cumsum(0)
        order[ends + loops] = count + loops
        return order
