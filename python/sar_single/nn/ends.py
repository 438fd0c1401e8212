"""Rows of edges' sources and destinations, which layers start from."""

from __future__ import annotations

from typing import Any, Callable, Optional, Tuple, Union

from torch import Tensor

from .. import fn

#: The rows of all sources, the destinations first; or a pair (rows of sources, rows of destinations).
Rows = Union[Tensor, Tuple[Tensor, Tensor]]


def ends(graph: Any, feat: Rows, dropped: Callable[[Tensor], Tensor] = lambda rows: rows) -> Tuple[Tensor, Tensor]:
    """The rows of sources and destinations, as from DGL's ``expand_as_pair``, after a dropout."""
    if isinstance(feat, tuple):
        return dropped(feat[0]), dropped(feat[1])
    rows = dropped(feat)
    return rows, rows[: graph.num_dst_nodes()]


def check_in_edges(graph: Any, allowed: bool) -> None:
    """Refuses nodes without in-edges, unless they are allowed."""
    if not allowed and bool((graph.in_degrees() == 0).any()):
        raise ValueError("a node without in-edges would receive no messages: add self loops, or set allow_zero_in_degree=True")


def weighted(graph: Any, edge_weight: Optional[Tensor]) -> fn.Message:
    """The message ``m`` of rows ``h``, times the weights of edges if there are any."""
    if edge_weight is None:
        return fn.copy_u("h", "m")
    graph.edata["w"] = edge_weight
    return fn.u_mul_e("h", "w", "m")
