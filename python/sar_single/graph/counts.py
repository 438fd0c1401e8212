"""Numbers of nodes with one value as a length and another as a divisor."""

from __future__ import annotations

from typing import Any, Dict, Iterator, Optional

import torch
from torch import Tensor


class Count(int):
    """A rank's number of nodes. Operations of torch that take it as a value, rather than a size, see the number of all ranks' nodes."""

    total: int

    def __new__(cls, own: int, total: int) -> "Count":
        """A count of own nodes, and of all nodes."""
        result = super().__new__(cls, own)
        result.total = total
        return result

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        values = {key: _value(value) for key, value in (kwargs or {}).items()}
        return func(*map(_value, args), **values)


class Counts(Tensor):
    """The number of own nodes, int64 ``[1]``, whose element is a ``Count``."""

    total: int
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def of(own: int, total: int) -> "Counts":
        """The counts of a graph that is alone in its batch."""
        result: "Counts" = torch.tensor([own]).as_subclass(Counts)
        result.total = total
        return result

    def __iter__(self) -> Iterator[Count]:  # type: ignore[override]
        return iter([Count(int(self[0]), self.total)])


def _value(argument: Any) -> Any:
    return argument.total if isinstance(argument, Count) else argument
