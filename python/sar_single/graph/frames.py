"""Values of nodes or edges by name."""

from __future__ import annotations

from typing import Any, Callable, Dict

from torch import Tensor


class Frame(Dict[str, Tensor]):
    """Values by name, one row per node or edge."""

    def __init__(self, rows: int, what: str) -> None:
        super().__init__()
        self._rows, self._what = rows, what

    def __missing__(self, key: str) -> Tensor:
        tables = {"nodes": "ndata", "edges": "edata"}
        if self._what not in tables:
            raise KeyError(key)
        table = tables[self._what]
        raise KeyError(f"{key}: values of the partition are rank.{table}[{key!r}]; graph.{table} has what the program sets")

    def __setitem__(self, key: str, value: Tensor) -> None:
        if len(value) != self._rows:
            raise ValueError(f"{key!r} has {len(value)} rows, but this rank has {self._rows} {self._what}")
        super().__setitem__(key, value)

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, value in dict(*args, **kwargs).items():
            self[key] = value


class Lazy(Dict[str, Tensor]):
    """Values that are computed on first access."""

    def __init__(self, make: Callable[[str], Tensor], known: Any) -> None:
        super().__init__()
        self._make, self._known = make, known

    def __missing__(self, key: str) -> Tensor:
        self[key] = value = self._make(key)
        return value

    def __contains__(self, key: object) -> bool:
        return key in self._known


def copied(frame: Frame) -> Frame:
    same = Frame(frame._rows, frame._what)
    same.update(frame)
    return same
