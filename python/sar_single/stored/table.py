"""Arrays of a rank's nodes and edges."""

from __future__ import annotations

from typing import Dict, Iterator, List, Mapping, Optional

import torch
from torch import Tensor

from .._engine import Rank as Engine
from ..commands.graphs import DATA_NAMES, stored_key
from ..graph.graph import Graph
from ..graph.tensors import as_torch, empty, place
from .stored import StoredGraph


class Table(Mapping[str, Tensor]):
    """Arrays of a partition by key. A key matches as on the command line: exactly, by name without its type, or by its end. Arrays of PyG's data also
    match by their PyG names.
    """

    def __init__(self, engine: Engine, stored: StoredGraph, graph: Graph, table: str) -> None:
        self._engine, self._stored, self._graph, self._table = engine, stored, graph, table
        self._part, self._names = engine.index, stored.ntypes if table == "node" else stored.etypes
        self._arrays = stored.files.arrays(table, self._part)
        ranges = [stored.numbering(table).part_range(self._part, ty) for ty in range(len(self._names))]
        #: Names of the types, and the number of own nodes (edges) of each.
        self.types = [(name, end - begin) for name, (begin, end) in zip(self._names, ranges)]

    def __iter__(self) -> Iterator[str]:
        return iter([key for key, _, _, _ in self._arrays])

    def has(self, name: str) -> bool:
        """Whether a type has an array of this name, or one that a name of PyG's data finds."""
        found = stored_key(name, self) if name in DATA_NAMES[self._table] else name
        return found != name or any(key.rpartition("/")[2] == name for key in self)

    def width(self, key: str, of: Optional[str] = None) -> int:
        """Number of columns of an array: of a type, where it is 0 without the array, or if it is the same for all types."""
        found = self._arrays_of(key) if of is None else [index for name, index in zip(self._names, self._lookup(key)) if name == of and index is not None]
        if not found:
            return 0
        shape = self._arrays[found[0]][3]
        return shape[1] if len(shape) > 1 else 1

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, key: str) -> Tensor:
        """The rows of the rank's own nodes (edges), read from the partition again each time."""
        if key == "_TYPE":
            return self._type_numbers()
        rows = [self._read(index) for index in self._arrays_of(key)]
        values = rows[0] if len(rows) == 1 else torch.cat(rows)
        return values[self._graph.edge_arrays()[3]] if self._table == "edge" else values

    def _arrays_of(self, key: str) -> List[int]:
        """The array of each type that has one. Their rows have the same shape."""
        found = self._lookup(key)
        arrays = [index for index in found if index is not None]
        if len(arrays) < len(found) and self._table == "edge":
            raise KeyError(f"{key!r}: some edge types lack it")
        if len({tuple(self._arrays[index][3][1:]) for index in arrays}) > 1:
            shapes = ", ".join(f"{self._names[i]} {list(self._arrays[index][3][1:])}" for i, index in enumerate(found) if index is not None)
            by_type = "x_dict" if self._table == "node" else "edge_attr_dict"
            raise ValueError(f"{key!r} has different shapes in the {self._table} types ({shapes}): use rank.{by_type} or by_type({key!r})")
        return arrays

    def by_type(self, key: str) -> Dict[str, Tensor]:
        """The rows of each node (edge) type with the array, by the type's name."""
        result: Dict[str, Tensor] = {}
        counts = [count for _, count in self.types]
        for ty, (name, index) in enumerate(zip(self._names, self._lookup(key))):
            if index is None:
                continue
            result[name] = values = self._read(index)
            if self._table == "edge":
                _, _, etype, row = self._graph.edge_arrays()
                result[name] = values[row[etype == ty] - sum(counts[:ty])]
        return result

    def expanded(self, key: str) -> Tensor:
        """The rows of all own nodes (edges), with zeros for types that lack the array."""
        firsts = self._stored.numbering(self._table).part_firsts
        ids = torch.arange(int(firsts[self._part]), int(firsts[self._part + 1]))
        values = self._stored.rows(self._table, key, ids)
        return values[self._graph.edge_arrays()[3]] if self._table == "edge" else values

    def original_ids(self) -> Dict[str, Tensor]:
        """The user's ids of the nodes (edges, by row) of each type."""
        result: Dict[str, Tensor] = {}
        for ty, (name, count) in enumerate(self.types):
            result[name] = torch.empty(count, dtype=torch.int64)
            if not self._engine.original_ids(self._table, ty, place(result[name])):
                raise ValueError(
                    f"no file holds the original ids of {self._table}s of type {name}\n"
                    "hint: use the mapping that partition_graph(return_mapping=True) returned, whose rows are the nodes of the partitions by their ids "
                    "(from rank.first_node on), or partition the graph with sar_single.partition"
                )
        return result

    def has_original_ids(self) -> bool:
        """Whether the partition knows the user's ids of all types."""
        try:
            self.original_ids()
        except ValueError:
            return False
        return True

    def _type_numbers(self) -> Tensor:
        if self._table == "edge":
            return self._graph.edge_arrays()[2]
        counts = torch.tensor([count for _, count in self.types])
        return torch.arange(len(counts)).repeat_interleave(counts)

    def _lookup(self, key: str) -> List[Optional[int]]:
        """The array of each type that matches a key."""
        return self._stored.files.lookup(self._table, self._part, stored_key(key, self))

    def _read(self, index: int) -> Tensor:
        _, _, dtype, shape = self._arrays[index]
        tensor, where = empty(dtype, tuple(shape))
        self._stored.files.read_array(self._table, self._part, index, where)
        return as_torch(dtype, tensor)
