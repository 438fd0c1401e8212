"""Stand-ins for a row of ``edge_index``: sources or destinations of edges."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor

from .columns import Columns
from .edge_mask import EdgeMask, mask_of
from .edge_values import EdgeProduct
from .errors import refused
from .places import Destinations, Sources, distinct
from .stand_in import Operation, StandIn

Place = Union[Sources, Destinations]


class Ends(StandIn):
    """A source or destination per edge, ``[edges]``; or the same repeated over more dimensions, as ``scatter_add_`` takes it.

    ``columns`` are the edges; None inside a block of them.
    """

    place: Place
    columns: Optional[Columns]
    count: int
    _numbers: Optional[Tensor]
    axis: Optional[int]

    def __new__(
        cls,
        numbers: Optional[Tensor],
        place: Place,
        columns: Optional[Columns] = None,
        shape: Optional[Sequence[int]] = None,
        axis: Optional[int] = 0,
    ) -> "Ends":
        # ``numbers`` is None if ``columns`` have them. ``axis`` is the dimension of edges, None if several dimensions have a single element.
        count = len(columns) if columns is not None else len(numbers)  # type: ignore[arg-type]
        result: "Ends" = StandIn.made(cls, (count,) if shape is None else shape)
        result._numbers, result.count = numbers, count
        result.place, result.what, result.columns, result.axis = place, place.what, columns, axis
        return result

    @classmethod
    def of(cls, columns: Columns, sources: bool) -> "Ends":
        """The sources or the destinations of edges."""
        if sources:
            return cls(None, Sources(columns.topology), columns)
        nodes = columns.topology.num_nodes
        return cls(None, Destinations(nodes, 0, nodes), columns)

    @property
    def numbers(self) -> Tensor:
        """The number of each end, as ``place`` numbers nodes."""
        if self._numbers is not None:
            return self._numbers
        assert self.columns is not None
        return self.columns.source if self.of_sources else self.columns.destination

    @property
    def of_sources(self) -> bool:
        """Whether these are sources."""
        return isinstance(self.place, Sources)

    @property
    def spread(self) -> bool:
        """Whether there are more dimensions than the edges'."""
        return self.shape != (self.count,)


def _getitem(func: Any, x: Any, index: Any) -> Any:
    if isinstance(x, Ends):
        if x.spread:
            return NotImplemented
        if isinstance(index, slice) and index == slice(None):
            return x
        mask = mask_of(index, x.count)
        if mask is None:
            return NotImplemented
        if x.columns is not None:
            return Ends.of(x.columns.select(mask), x.of_sources)
        return Ends(x.numbers[mask.which if isinstance(mask, EdgeMask) else mask], x.place)
    if isinstance(index, tuple):
        at = next((at for at, part in enumerate(index) if isinstance(part, Ends)), None)
        return NotImplemented if at is None or isinstance(x, StandIn) else _gather_part(x, index, at)
    return _gather(x, 0, index)


def _gather_part(x: Tensor, index: Tuple[Any, ...], at: int) -> Any:
    """Values of nodes, one per edge, of the part of ``x`` that slices and numbers choose in the dimensions before and behind the edges."""
    before, behind = index[:at], index[at + 1 :]
    if any(isinstance(part, bool) or not isinstance(part, (int, slice, type(Ellipsis))) for part in (*before, *behind)):
        why = "values of nodes are chosen by edges alone, or with slices and numbers"
        raise refused("__getitem__", index[at].what, why, "index by the edges first, as in x[edge_index[0]][:, columns]")
    # Each number takes a dimension away.
    dim = len([part for part in before if not isinstance(part, int)])
    if Ellipsis in before:
        dim = -1 - len([part for part in behind if not isinstance(part, int)])
    return _gather(x[(*before, slice(None), *behind)], dim, index[at])


def _gather(x: Tensor, dim: int, index: Any) -> Any:
    if not isinstance(index, Ends) or index.spread or isinstance(x, StandIn):
        return NotImplemented
    if index.columns is not None:
        product = EdgeProduct.of_ends(index.columns, x, index.of_sources)
        if product is not None:
            return product
    return index.place.gather(x, dim, index.numbers)


def _setitem(func: Any, x: Tensor, index: Any, value: Any) -> Any:
    """Sets values of own nodes, one each: the features of self loops."""
    if isinstance(x, StandIn) or not isinstance(index, Ends) or index.spread or isinstance(value, StandIn):
        return NotImplemented
    if not index.place.own(index.numbers) or not distinct(index.numbers):
        raise refused("__setitem__", index.what)
    total = index.place.total if isinstance(index.place, Destinations) else index.place.topology.num_sources
    if len(x) != total:
        raise refused("__setitem__", index.what, f"the tensor has {len(x)} rows, but this rank has {total} nodes there")
    x[index.numbers] = value
    return None


def _index_select(func: Any, input: Any, dim: int, index: Any, *, out: Any = None) -> Any:
    return NotImplemented if isinstance(input, StandIn) or out is not None else _gather(input, dim, index)


def _gather_by_element(func: Any, input: Any, dim: int, index: Any, **kwargs: Any) -> Any:
    if isinstance(input, StandIn) or not isinstance(index, Ends) or kwargs or index.dim() != input.dim() or not -input.dim() <= dim < input.dim():
        return NotImplemented
    dim %= input.dim()
    sizes = list(zip(index.shape, input.shape))
    if index.axis not in (dim, None) or index.shape[dim] != index.count or any(size > own for at, (size, own) in enumerate(sizes) if at != dim):
        return NotImplemented
    part = input[tuple(slice(None) if at == dim else slice(size) for at, size in enumerate(index.shape))]
    return _gather(part, dim, Ends(index._numbers, index.place, index.columns))


def _put(func: Any, input: Any, dim: int, index: Any, values: Any, *args: Any, **kwargs: Any) -> Any:
    """Writes edge values into node values: by any reduction at destinations, all of whose edges are here, and by sums at sources."""
    if isinstance(input, StandIn) or isinstance(values, StandIn) or not isinstance(index, Ends) or not isinstance(values, Tensor):
        return NotImplemented
    if values.dim() != input.dim() or not -input.dim() <= dim < input.dim():
        return NotImplemented
    dim %= input.dim()
    name = func.__name__
    scatters = name.startswith("scatter")
    if scatters and (index.shape != values.shape or index.axis not in (dim, None)):
        return NotImplemented
    if not scatters and index.spread or values.shape[dim] != index.count:
        return NotImplemented
    if isinstance(index.place, Destinations):
        numbers = index.place.numbers(name, input.shape[dim], index.numbers)
        if scatters:
            numbers = numbers.view([-1 if i == dim else 1 for i in range(values.dim())]).expand_as(values)
        return func(input, dim, numbers, values, *args, **kwargs)
    if name.rstrip("_") not in ("scatter_add", "index_add") or args:
        return NotImplemented
    result = index.place.add(name, input, dim, index.numbers, values * kwargs["alpha"] if kwargs else values)
    return input.copy_(result) if name.endswith("_") else result


def _put_by_name(func: Any, input: Any, dim: int, index: Any, *args: Any, **kwargs: Any) -> Any:
    for name in ("src", "source"):
        if name in kwargs:
            return _put(func, input, dim, index, kwargs.pop(name), *args, **kwargs)
    return _put(func, input, dim, index, *args, **kwargs)


def _compare(func: Any, a: Any, b: Any) -> Any:
    """The mask of self loops, or of all other edges."""
    if not isinstance(a, Ends) or not isinstance(b, Ends) or a.spread or b.spread or a.of_sources == b.of_sources:
        return NotImplemented
    if a.columns is None or b.columns is None or not a.columns.topology.same_nodes or not a.columns.same_as(b.columns):
        return NotImplemented
    is_ne = func.__name__.strip("_") == "ne"
    return EdgeMask(a.count, lambda: func(a.numbers, b.numbers), a.columns if is_ne and a.columns is b.columns else None)


def _spread(func: Any, x: Any, *sizes: Any, **kwargs: Any) -> Any:
    """Adds dimensions, which repeat the values."""
    if not isinstance(x, Ends) or kwargs:
        return NotImplemented
    shaped = torch.empty(x.shape, device="meta")
    known = [size for size in sizes if not isinstance(size, StandIn)]
    if len(known) != len(sizes):
        return NotImplemented
    shape = getattr(shaped, func.__name__)(*known).shape
    if func.__name__ == "unsqueeze":
        at = sizes[0] % len(shape)
        axis = None if x.axis is None else x.axis + (at <= x.axis)
    elif func.__name__ in ("expand", "expand_as", "repeat"):
        axis = None if x.axis is None else x.axis + len(shape) - x.dim()
        if axis is not None and func.__name__ == "repeat" and _given_sizes(sizes)[axis] != 1:
            return NotImplemented
    else:
        axis = _axis_of_view(shape, sizes, x.count)
        if axis is None and x.count != 1 or x.numel() != x.count:
            return NotImplemented
    if axis is not None and shape[axis] != x.count:
        return NotImplemented
    return Ends(x._numbers, x.place, x.columns, shape, axis)


def _axis_of_view(shape: Sequence[int], sizes: Sequence[Any], edges: int) -> Optional[int]:
    wanted = _given_sizes(sizes)
    if -1 in wanted:
        return wanted.index(-1) if shape[wanted.index(-1)] == edges else None
    if len(shape) == 1:
        return 0
    found = [i for i, size in enumerate(shape) if size == edges]
    return found[0] if len(found) == 1 and edges != 1 else None


def _given_sizes(sizes: Sequence[Any]) -> List[Any]:
    """Sizes that a function got one by one or in a list."""
    return list(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else list(sizes)


def _bincount(func: Any, input: Any, weights: Optional[Tensor] = None, minlength: int = 0) -> Any:
    if not isinstance(input, Ends) or input.spread or isinstance(input.place, Sources) or minlength == 0 < input.place.count:
        return NotImplemented
    return torch.bincount(input.place.numbers("bincount", minlength, input.numbers), weights, minlength)


def _same(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """The same values, unmoved."""
    kept = [*args, *kwargs.values()]
    fine = all(value in (None, torch.int64, torch.device("cpu"), "cpu", False, True, torch.contiguous_format) for value in kept[:4])
    return x if fine and not (kept and isinstance(kept[0], (Tensor, dict))) else x if func.__name__ == "__deepcopy__" else NotImplemented


def _joined(func: Any, tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Sources (or destinations) of edges, followed by those of self loops of all own nodes."""
    if out is not None:
        return NotImplemented
    like = next(part for part in tensors if isinstance(part, Ends))
    if dim not in (0, -1) or like.columns is None:
        return NotImplemented
    parts: List[Optional[Columns]] = []
    for part in tensors:
        if isinstance(part, Ends):
            fits = part.of_sources == like.of_sources and not part.spread and part.columns is not None
            if not fits or part.columns is None or part.columns.topology is not like.columns.topology:
                return NotImplemented
            parts.append(part.columns)
        elif isinstance(part, StandIn) or part.dim() != 1 or not like.columns.is_loops(part):
            return NotImplemented
        else:
            parts.append(None)
    return Ends.of(Columns.joined(parts), like.of_sources)


SAME: Dict[str, Operation] = {
    **dict.fromkeys("clone contiguous detach to long cpu __deepcopy__ alias".split(), _same),
    # Torch calls it for inputs of modules with backward hooks.
    "view_as": lambda func, x, other: x if other is x else NotImplemented,
}
Ends.operations = {
    **SAME,
    **dict.fromkeys("eq ne __eq__ __ne__".split(), _compare),
    **dict.fromkeys("view reshape unsqueeze expand expand_as repeat".split(), _spread),
    **dict.fromkeys(
        "scatter_add scatter_add_ index_add index_add_ scatter_reduce scatter_reduce_ index_reduce index_reduce_".split(), _put_by_name
    ),
    **dict.fromkeys("cat concat".split(), _joined),
    "__getitem__": _getitem,
    "__setitem__": _setitem,
    "index_select": _index_select,
    "gather": _gather_by_element,
    "bincount": _bincount,
}
