"""Queries of a graph, as functions."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from torch import Tensor

from ..sampling.frontier import Frontier
from ..sampling.frontier import sample_neighbors as _sample_neighbors
from .graph import DistGraph


def sample_neighbors(
    g: Any, nodes: Any, fanout: Any, edge_dir: str = "in", prob: Optional[str] = None, replace: bool = False, use_graphbolt: bool = False
) -> Frontier:
    """Draws up to ``fanout`` in-edges (with ``edge_dir="out"`` out-edges) of each node, which may belong to any partition; -1 takes all. No
    collective, except for the first draw of out-edges and the first by an assigned ``prob``.
    """
    return _sample_neighbors(g, nodes, fanout, edge_dir, _weights(g, prob), replace)


def sample_etype_neighbors(
    g: Any, nodes: Any, fanout: Any, edge_dir: str = "in", prob: Optional[str] = None, replace: bool = False, **_: Any
) -> Frontier:
    """Draws up to ``fanout`` in-edges of each node and edge type: a number for all types, or a list or dict with a number for each."""
    types = list(g.canonical_etypes)
    if not isinstance(fanout, (dict, int)) and len(fanout) != len(types):
        raise ValueError(f"fanout has {len(fanout)} numbers, but the graph has {len(types)} edge types")
    per_type = dict(fanout) if isinstance(fanout, dict) else dict(zip(types, [fanout] * len(types) if isinstance(fanout, int) else fanout))
    return _sample_neighbors(g, nodes, per_type, edge_dir, _weights(g, prob), replace)


def in_subgraph(g: Any, nodes: Any) -> Frontier:
    """All in-edges of the given nodes."""
    return _sample_neighbors(g, nodes, -1)


def find_edges(g: DistGraph, edge_ids: Any) -> Tuple[Tensor, Tensor]:
    """Sources and destinations of edges."""
    return g.find_edges(edge_ids)


def in_degrees(g: DistGraph, v: Any) -> Tensor:
    """Number of in-edges of the given nodes."""
    return g.in_degrees(v)


def out_degrees(g: DistGraph, u: Any) -> Tensor:
    """Number of out-edges of the given nodes."""
    return g.out_degrees(u)


def _weights(g: Any, prob: Any) -> Any:
    return g._weights(prob) if isinstance(g, DistGraph) else prob
