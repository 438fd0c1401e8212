"""Columns: rows of all partitions' nodes (edges) by id."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Protocol, Sequence

import numpy as np
import torch
from torch import Tensor

from ..commands.graphs import stored_key
from ..graph.tensors import as_torch, empty, place
from .partitions import Partitions

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

# Types that numpy lacks, and the types in which their elements are stored.
_STORED = {torch.bfloat16: torch.int16}


class Column(Protocol):
    """Rows by id."""

    def rows(self, ids: Tensor) -> Tensor:
        """Rows by id, ``[len(ids), *]``."""


class FileColumn:
    """A feature of the partitions; zeros for types that lack it."""

    def __init__(self, graph: Partitions, table: str, key: str) -> None:
        self._graph, self._table, self.key = graph, table, key
        self._numbering = graph.numbering(table)
        if key == "_TYPE":
            return
        part = graph.parts[0] if graph.parts else 0
        arrays = graph.files.arrays(table, part)
        found = graph.files.lookup(table, part, stored_key(key, [array[0] for array in arrays]))
        self._columns = [None if index is None else arrays[index] for index in found]
        known = [column for column in self._columns if column is not None]
        shapes = {(column[2], *column[3][1:]) for column in known}
        if len(shapes) > 1:
            raise KeyError(f"{key!r}: the types of {table}s have it in several shapes or element types; name the type too, as in {known[0][0]!r}")
        _, _, self.dtype, (_, *self.shape) = known[0]

    def lacks(self, ty: int) -> bool:
        """Whether a type lacks the feature."""
        return self.key != "_TYPE" and self._columns[ty] is None

    def rows(self, ids: Tensor) -> Tensor:
        """Rows by id."""
        if self.key == "_TYPE":
            return self._numbering.type_of(ids)
        self._numbering.check(ids)
        order = torch.argsort(ids)
        ascending = ids[order]
        values, (address, size) = empty(self.dtype, (len(ids), *self.shape))
        width = size // max(1, len(ids))
        for first, part, ty, begin, end in self._numbering.divided(ascending):
            column = self._columns[ty]
            if column is None:
                values[begin:end] = 0
                continue
            inside = (ascending[begin:end] - first).contiguous()
            where = address + begin * width, (end - begin) * width
            self._graph.files.read_rows(self._table, part, column[0], place(inside), where)
        typed = as_torch(self.dtype, values)
        return torch.empty_like(typed).index_copy_(0, order, typed)


class SharedColumn:
    """Rows that the program has made: a file per partition, mapped by every process. All processes read what one writes."""

    def __init__(self, paths: List[Path], firsts: Tensor, dtype: torch.dtype, writable: bool = False) -> None:
        self.dtype, self._firsts = dtype, firsts
        self._arrays = [mapped(path, writable) for path in paths]
        self.shape = list(next((array.shape[1:] for array in self._arrays), ()))
        #: Whether the rows must stay as they are.
        self.fixed = False

    @classmethod
    def written(cls, graph: Partitions, table: str, dtype: torch.dtype, make: Callable[[int], Tensor]) -> "SharedColumn":
        """The results of ``make`` for each part of the process: rows of all its nodes (edges), by id. One collective."""
        name = graph.new_name()
        for part in graph.parts:
            write(graph.folder / f"{name}-{part}.npy", make(part))
        graph.group.barrier()
        parts = range(graph.files.num_parts)
        return cls([graph.folder / f"{name}-{part}.npy" for part in parts], graph.numbering(table).part_firsts, dtype)

    @classmethod
    def of_own_rows(cls, graph: Partitions, table: str, rows: Tensor) -> "SharedColumn":
        """Rows of the own nodes (edges, by id) with their present values. One collective."""
        own = by_part(rows, graph.parts, graph.numbering(table).part_firsts, f"{table}s")
        return cls.written(graph, table, rows.dtype, own.__getitem__)

    def rows(self, ids: Tensor) -> Tensor:
        """Rows by id."""
        result = torch.empty((len(ids), *self.shape), dtype=self.dtype)
        for chosen, array, inside in self._divided(ids):
            result[chosen] = torch.from_numpy(array[inside.numpy()]).view(self.dtype)
        return result

    def write(self, ids: Tensor, values: Tensor) -> None:
        """Sets rows by id; if an id is repeated, to one of its values."""
        values = values.detach().to(self.dtype).expand(len(ids), *self.shape)
        for chosen, array, inside in self._divided(ids):
            array[inside.numpy()] = _bits(values[chosen]).numpy()

    def _divided(self, ids: Tensor) -> "List[tuple[Tensor, Array, Tensor]]":
        if not len(ids):
            return []
        parts = torch.searchsorted(self._firsts, ids, right=True) - 1
        if int(ids.min()) < 0 or int(ids.max()) >= int(self._firsts[-1]):
            raise IndexError(f"ids are from 0 to {int(self._firsts[-1]) - 1}, but here are {int(ids.min())} to {int(ids.max())}")
        result = []
        for part in torch.unique(parts).tolist():
            chosen = torch.nonzero(parts == part).flatten()
            result.append((chosen, self._arrays[part], ids[chosen] - self._firsts[part]))
        return result


def by_part(rows: Tensor, parts: Sequence[int], firsts: Tensor, what: str) -> Dict[int, Tensor]:
    """The rows of each part, from those of all parts of a process."""
    counts = [int(firsts[part + 1] - firsts[part]) for part in parts]
    if len(rows) != sum(counts):
        raise ValueError(f"a feature of {what} has {len(rows)} rows, but this rank has {sum(counts)} {what}")
    return dict(zip(parts, rows.detach().split(counts)))


def write(path: Path, rows: Tensor) -> None:
    """Writes a file of rows, whole or not at all."""
    unfinished = path.with_name(f".{path.name}")
    with open(unfinished, "wb") as file:
        np.save(file, _bits(rows).contiguous().numpy())
    unfinished.rename(path)


def _bits(rows: Tensor) -> Tensor:
    stored = _STORED.get(rows.dtype)
    return rows if stored is None else rows.view(stored)


def mapped(path: Path, writable: bool = False) -> "Array":
    """The array of a file; a small one that is not written is read instead."""
    array: "Array" = np.load(path, mmap_mode="r+" if writable else "r" if path.stat().st_size > 4096 else None)
    return array
