"""Rows of the sources of edges and of their destinations, from which layers compute."""

from __future__ import annotations

from typing import Any, Callable, Tuple, Union

from torch import Tensor

#: The rows of all sources, the destinations first; or a pair of those of the sources and those of the destinations.
Rows = Union[Tensor, Tuple[Tensor, Tensor]]


def ends(graph: Any, feat: Rows, dropped: Callable[[Tensor], Tensor] = lambda rows: rows) -> Tuple[Tensor, Tensor]:
    """The rows of sources and destinations, as DGL's ``expand_as_pair`` gives them, after a dropout."""
    if isinstance(feat, tuple):
        return dropped(feat[0]), dropped(feat[1])
    rows = dropped(feat)
    return rows, rows[: graph.num_dst_nodes()]
