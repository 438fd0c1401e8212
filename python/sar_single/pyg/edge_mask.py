"""Stand-in for an edge mask that is computed from the edges' ends."""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

import torch
from torch import Tensor

from .errors import refused
from .stand_in import StandIn


class EdgeMask(StandIn):
    """Mask of a rank's self loops, or of its other edges, bool ``[edges]``. It selects edges and their values, but has no sum, because each rank's
    would differ.
    """

    what = "a mask of edges"
    _make: Callable[[], Tensor]
    _known: Optional[Tensor]
    # The columns of which this mask chooses all except self loops, if known.
    without_loops_of: Any

    def __new__(cls, edges: int, make: Callable[[], Tensor], without_loops_of: Any = None) -> "EdgeMask":
        result: "EdgeMask" = StandIn.made(cls, (edges,), torch.bool)
        result._make, result._known, result.without_loops_of = make, None, without_loops_of
        return result

    @classmethod
    def of(cls, values: Tensor) -> "EdgeMask":
        """A mask with these values."""
        return cls(len(values), lambda: values)

    @property
    def which(self) -> Tensor:
        """The values, made when something reads them."""
        if self._known is None:
            self._known = self._make()
        return self._known


def mask_of(index: Any, edges: int) -> "Optional[Union[Tensor, EdgeMask]]":
    """A mask with a value per edge as it is; None if an index is anything else."""
    known = isinstance(index, EdgeMask) or isinstance(index, Tensor) and not isinstance(index, StandIn) and index.dtype == torch.bool
    return index if known and index.shape == (edges,) else None


def _plain(x: Any) -> Any:
    return x.which if isinstance(x, EdgeMask) else x


def _mask(func: Any, *args: Any) -> Any:
    """A mask computed from masks."""
    plain = [_plain(x) for x in args]
    if any(not isinstance(x, Tensor) or isinstance(x, StandIn) or x.dtype != torch.bool or x.shape != plain[0].shape for x in plain):
        return NotImplemented
    return EdgeMask.of(func(*plain))


def _values(func: Any, *args: Any, **kwargs: Any) -> Any:
    """A value per edge."""
    plain = [_plain(x) for x in args]
    return NotImplemented if any(isinstance(x, StandIn) for x in plain) else func(*plain, **kwargs)


def _getitem(func: Any, x: Any, index: Any) -> Any:
    if isinstance(index, EdgeMask) and len(x) == len(index.which):
        plain: Any = _plain(x)
        chosen = plain[index.which]
        return EdgeMask.of(chosen) if isinstance(x, EdgeMask) else chosen
    mask = mask_of(index, len(x)) if isinstance(x, EdgeMask) else None
    return NotImplemented if mask is None else EdgeMask.of(x.which[_plain(mask)])


def _setitem(func: Any, x: Any, index: Any, value: Any) -> Any:
    if isinstance(x, StandIn) or not isinstance(index, EdgeMask) or len(x) != len(index.which):
        return NotImplemented
    x[index.which] = _plain(value)
    return None


def _bool(func: Any, *args: Any, **kwargs: Any) -> Any:
    remedy = "add its numbers up over the ranks: rank.all_reduce(mask.long().sum())"
    raise refused(func.__name__, "a mask of edges", "each rank would get the answer for its own edges", remedy)


EdgeMask.operations = {
    **dict.fromkeys("__invert__ bitwise_not logical_not".split(), _mask),
    **dict.fromkeys("__and__ __or__ __xor__ __rand__ __ror__ __rxor__ bitwise_and bitwise_or logical_and logical_or logical_xor".split(), _mask),
    **dict.fromkeys("long int float double to type type_as clone detach contiguous where masked_fill masked_fill_ unsqueeze view".split(), _values),
    **dict.fromkeys("sum any all count_nonzero mean __bool__ nonzero item tolist".split(), _bool),
    "__getitem__": _getitem,
    "__setitem__": _setitem,
}
