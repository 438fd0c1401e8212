"""In-edges (out-edges) of all nodes, for drawing neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Protocol, Tuple

import numpy as np
import torch
from torch import Tensor

from .._engine import sample
from ..graph.tensors import place
from .columns import mapped, write
from .partitions import Partitions

if TYPE_CHECKING:
    from .._engine import IndexPart as Part

    Array = np.ndarray[Any, Any]

_COLUMNS = ("begins", "sources", "ids", "weights")


class Weights(Protocol):
    """A number per edge, in proportion to which edges are drawn."""

    @property
    def key(self) -> str:
        """The name of the edge data."""

    def rows(self, ids: Tensor) -> Tensor:
        """Rows by id, ``[len(ids), *]``."""

    def lacks(self, ty: int) -> bool:
        """Whether a type lacks the data. Draws from the edges of this type alone are uniform then."""


class EdgeIndex:
    """In-edges of one edge type, or of all, by destination; or out-edges by source. Each partition's edges are in files, which are mapped."""

    def __init__(self, parts: "List[Dict[str, Any]]") -> None:
        # The engine reads the arrays in place, so they live as long as their addresses.
        self._parts = parts
        self._places: List[Part] = [
            {
                "first": part["first"],
                "begins": _place(part["begins"]),
                "sources": _place(part["sources"]),
                "ids": _place(part["ids"]),
                "weights": _place(part["weights"]) if "weights" in part else None,
            }
            for part in parts
        ]

    def draw(self, nodes: Tensor, fanout: Optional[int], key: int, replace: bool = False) -> Tuple[Tensor, Tensor, Tensor]:
        """Draws up to ``fanout`` edges of each node (all, if it is None or negative). Gives the number per node, the edges' other ends, and their
        ids.
        """
        most = None if fanout is None or fanout < 0 else fanout
        drawn = sample(place(nodes.contiguous()), self._places, most, replace, key)
        counts, sources, edges = (_tensor(column) for column in drawn)
        return counts, sources, edges

    def degrees(self, nodes: Tensor) -> Tensor:
        """Number of edges of each node."""
        firsts = torch.tensor([part["first"] for part in self._parts])
        owners = torch.searchsorted(firsts, nodes, right=True) - 1
        result = torch.zeros(len(nodes), dtype=torch.int64)
        for owner in torch.unique(owners).tolist():
            chosen = torch.nonzero(owners == owner).flatten()
            begins, inside = self._parts[owner]["begins"], (nodes[chosen] - firsts[owner]).numpy()
            result[chosen] = torch.from_numpy(begins[inside + 1] - begins[inside])
        return result


def write_index(graph: Partitions, etype: Optional[int], prob: Optional[Weights], outwards: bool) -> EdgeIndex:
    """Writes the in-edges (out-edges) of the process's parts, and maps all parts': of one edge type, or of all. One collective."""
    name = f"{'out' if outwards else 'in'}-{'all' if etype is None else etype}-{graph.new_name()}"
    firsts: List[int] = []
    for part in range(graph.files.num_parts):
        begin, end = (int(first) for first in graph.nodes.part_firsts[part : part + 2])
        if etype is not None:
            ntype = graph.ntypes.index(graph.etypes[etype].split(":")[0 if outwards else 2])
            begin, end = graph.nodes.part_range(part, ntype)
        firsts.append(begin)
        if part in graph.parts:
            for column, values in _columns(graph, part, (begin, end), etype, prob, outwards).items():
                write(graph.folder / f"{name}-{column}-{part}.npy", values)
    graph.group.barrier()
    columns = _COLUMNS[: 3 if prob is None else 4]

    def stored(column: str, part: int) -> "Array":
        return mapped(graph.folder / f"{name}-{column}-{part}.npy")

    return EdgeIndex([{"first": first, **{column: stored(column, part) for column in columns}} for part, first in enumerate(firsts)])


def part_edges(graph: Partitions, part: int) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """The edges that end in a partition: ids of sources and destinations, types, and ids."""
    count = int(graph.edges.part_firsts[part + 1] - graph.edges.part_firsts[part])
    columns = [torch.empty(count, dtype=torch.int64) for _ in range(4)]
    graph.files.edges(part, *[place(column) for column in columns])
    sources, destinations, types, ids = columns
    return sources, destinations, types, ids


def _columns(
    graph: Partitions, part: int, nodes: Tuple[int, int], etype: Optional[int], prob: Optional[Weights], outwards: bool
) -> Dict[str, Tensor]:
    """The place of each node's first edge, for a range of nodes; the edges' other ends (the engine draws ``sources``), ids and probabilities."""
    begin, end = nodes
    others = range(graph.files.num_parts) if outwards else [part]
    parts = [_edges_at(part_edges(graph, other), nodes, etype, outwards) for other in others]
    near, far, ids = (torch.cat(columns) for columns in zip(*parts))
    order = torch.from_numpy(np.lexsort((ids.numpy(), near.numpy())))
    begins = torch.zeros(end - begin + 1, dtype=torch.int64)
    begins[1:] = torch.bincount(near - begin, minlength=end - begin).cumsum(0)
    columns = {"begins": begins, "sources": far[order], "ids": ids[order]}
    if prob is not None:
        uniform = etype is not None and prob.lacks(etype)
        columns["weights"] = torch.ones(len(near)) if uniform else _probabilities(prob, columns["ids"])
    return columns


def _edges_at(
    edges: Tuple[Tensor, Tensor, Tensor, Tensor], nodes: Tuple[int, int], etype: Optional[int], outwards: bool
) -> Tuple[Tensor, Tensor, Tensor]:
    """The edges of a type that begin (end) at a range of nodes: this end, the other end, and ids."""
    sources, destinations, types, ids = edges
    near, far = (sources, destinations) if outwards else (destinations, sources)
    chosen = torch.ones_like(near, dtype=torch.bool) if etype is None else types == etype
    if outwards:
        chosen &= (near >= nodes[0]) & (near < nodes[1])
    return near[chosen], far[chosen], ids[chosen]


def _probabilities(prob: Weights, ids: Tensor) -> Tensor:
    weights = prob.rows(ids).float()
    if weights.shape[1:].numel() != 1:
        raise ValueError(f"prob {prob.key!r} has the shape {list(weights.shape)}, but edges are drawn by one number each")
    if not bool(torch.isfinite(weights).all()) or bool((weights < 0).any()):
        raise ValueError(f"prob {prob.key!r} has values that are negative or not finite")
    return weights.reshape(len(ids)).contiguous()


def _place(array: "Array") -> "Tuple[int, int]":
    return array.ctypes.data, array.nbytes


def _tensor(column: bytearray) -> Tensor:
    return torch.from_numpy(np.frombuffer(column, dtype=np.int64).copy())
