"""The stand-in for ``edge_index``."""

from __future__ import annotations

from typing import Any, List, Optional

import torch

from .columns import Columns
from .edge_mask import mask_of
from .ends import SAME, Ends
from .stand_in import StandIn


class EdgeIndex(StandIn):
    """Edges that end at own nodes, ``[2, edges]``. Sources are the first row, or the second if it is ``turned``."""

    what = "edge_index"
    columns: Columns
    turned: bool

    def __new__(cls, columns: Columns, turned: bool = False) -> "EdgeIndex":
        result: "EdgeIndex" = StandIn.made(cls, (2, len(columns)))
        result.columns, result.turned = columns, turned
        return result

    def row(self, number: int) -> Ends:
        """The first or the second row."""
        return Ends.of(self.columns, sources=(number % 2 == 0) != self.turned)


def _rows(x: EdgeIndex) -> List[Ends]:
    return [x.row(0), x.row(1)]


def _getitem(func: Any, x: Any, index: Any) -> Any:
    if not isinstance(x, EdgeIndex):
        return torch.stack([x[row] for row in _rows(index)]) if isinstance(index, EdgeIndex) and not isinstance(x, StandIn) else NotImplemented
    first, second = index if isinstance(index, tuple) and len(index) == 2 else (index, slice(None))
    every = isinstance(second, slice) and second == slice(None)
    mask = mask_of(second, len(x.columns))
    if not every and mask is None:
        return NotImplemented
    if isinstance(first, int) and not isinstance(first, bool) and -2 <= first < 2:
        row = x.row(first)
        return row if mask is None else Ends.of(row.columns.select(mask), row.of_sources) if row.columns is not None else NotImplemented
    if first is Ellipsis or (isinstance(first, slice) and first == slice(None)):
        return x if mask is None else EdgeIndex(x.columns.select(mask), x.turned)
    return NotImplemented


def _unbind(func: Any, x: Any, dim: int = 0) -> Any:
    return tuple(_rows(x)) if isinstance(x, EdgeIndex) and dim % 2 == 0 else NotImplemented


def _flip(func: Any, x: Any, *dims: Any) -> Any:
    asked = list(dims[0]) if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else list(dims)
    if not isinstance(x, EdgeIndex) or [dim % 2 if isinstance(dim, int) else dim for dim in asked] != [0]:
        return NotImplemented
    return EdgeIndex(x.columns, not x.turned)


def _joined(func: Any, tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    if func.__name__ == "stack" or dim % 2 != 1 or out is not None:
        return NotImplemented
    like = next(part for part in tensors if isinstance(part, EdgeIndex))
    parts: List[Optional[Columns]] = []
    for part in tensors:
        if isinstance(part, EdgeIndex):
            if part.turned != like.turned or part.columns.topology is not like.columns.topology:
                return NotImplemented
            parts.append(part.columns)
            continue
        if isinstance(part, StandIn) or part.dim() != 2 or len(part) != 2 or not torch.equal(part[0], part[1]):
            return NotImplemented
        if not like.columns.is_loops(part[0]):
            return NotImplemented
        parts.append(None)
    return EdgeIndex(Columns.joined(parts), like.turned)


def _stacked(func: Any, tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Edges made from their two rows."""
    if out is not None or dim not in (0, -2) or len(tensors) != 2 or not all(isinstance(part, Ends) and not part.spread for part in tensors):
        return NotImplemented
    first, second = tensors
    if first.of_sources == second.of_sources or first.columns is None or second.columns is None:
        return NotImplemented
    if not first.columns.same_as(second.columns):
        return NotImplemented
    return EdgeIndex(first.columns, turned=not first.of_sources)


def own_nodes(edges: Any) -> Optional[int]:
    """Number of own nodes for a row of edges; None for another kind of tensor."""
    if isinstance(edges, Ends) and edges.of_sources:
        return edges.place.topology.num_sources  # type: ignore[union-attr]
    if isinstance(edges, Ends):
        return edges.place.count  # type: ignore[union-attr]
    return None


EdgeIndex.operations = {
    **SAME,
    **dict.fromkeys("cat concat stack".split(), _joined),
    "__getitem__": _getitem,
    "__iter__": lambda func, x: iter(_rows(x)),
    "unbind": _unbind,
    "flip": _flip,
    "flipud": lambda func, x: _flip(func, x, 0),
}
Ends.operations["stack"] = _stacked
