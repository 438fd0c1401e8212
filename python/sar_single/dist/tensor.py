"""Tensors with a row per node or edge of all partitions."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import Tensor

from ..graph.tensors import as_torch, empty
from ..stored.columns import Column, FileColumn, SharedColumn, by_part, write
from ..stored.stored import StoredGraph
from .book import GraphPartitionBook, PartitionPolicy, as_ids

# Rows read at a time when all are read.
BLOCK = 1 << 18

# The graph that processes work on, through which a tensor finds its partitions.
_graphs: "List[weakref.ref[StoredGraph]]" = []
# A tensor's graph, which lives as long as the tensor; its nodes or edges; and its name.
_Key = Tuple[int, str, str]
_named: "weakref.WeakValueDictionary[_Key, DistTensor]" = weakref.WeakValueDictionary()
_persistent: Dict[_Key, "DistTensor"] = {}


def note_graph(graph: StoredGraph) -> None:
    """Makes a graph the current one, to whose nodes and edges tensors belong."""
    _graphs[:] = [weakref.ref(graph)]


def current_graph() -> StoredGraph:
    """The graph of the last ``DistGraph``."""
    graph = _graphs[0]() if _graphs else None
    if graph is None:
        raise RuntimeError("there is no DistGraph: make it before tensors that belong to its nodes or edges")
    return graph


class DistTensor:
    """Rows by the numbers of nodes (edges) inside their type, which any process reads and writes: files, mapped by all processes.

    All processes make a tensor together. ``init_func(shape, dtype)`` returns a partition's rows; without it they are zeros. A tensor is found again
    by name, among those of its graph and type, as long as it is in use, or for the rest of the run if it is ``persistent``.
    """

    def __init__(
        self,
        shape: Sequence[int],
        dtype: torch.dtype,
        name: Optional[str] = None,
        init_func: Optional[Callable[[Any, torch.dtype], Tensor]] = None,
        part_policy: Optional[PartitionPolicy] = None,
        persistent: bool = False,
        is_gdata: bool = True,
        attach: bool = True,
    ) -> None:
        graph = part_policy.partition_book._graph if part_policy is not None else current_graph()
        policy = part_policy or _fitting(graph, shape[0])
        if policy.get_size() != shape[0]:
            raise ValueError(f"{shape[0]} rows, but there are {policy.get_size()} {policy.table}s of {policy.policy_str}")
        if persistent and name is None:
            raise ValueError("a persistent tensor needs a name")
        self._policy, self._dtype, self._shape = policy, dtype, tuple(int(size) for size in shape)
        self.name = name or graph.new_name()
        key = id(graph), policy.policy_str, self.name
        known = _named.get(key)
        if known is not None and isinstance(known._column, SharedColumn):
            if (known.dtype, known.shape) != (dtype, self._shape):
                raise ValueError(f"{self.name!r} exists with the shape {list(known.shape)} and dtype {known.dtype}")
            self._column: Column = known._column
            self._keep = known
            return
        make = init_func or (lambda rows, dtype: torch.zeros(rows, dtype=dtype))
        self._column = self._created(graph, make)
        _named[key] = self
        if persistent:
            _persistent[key] = self

    @classmethod
    def of_column(cls, name: str, column: Column, shape: Sequence[int], dtype: torch.dtype, policy: PartitionPolicy) -> "DistTensor":
        """A tensor on existing rows."""
        self = cls.__new__(cls)
        self.name, self._column, self._dtype, self._policy = name, column, dtype, policy
        self._shape = (policy.get_size(), *shape)
        return self

    @classmethod
    def of_own_rows(cls, rows: Tensor, policy: PartitionPolicy) -> "DistTensor":
        """A tensor with the given rows of the process's own nodes (edges, by number). All processes make it together."""
        parts = policy.partition_book._graph.parts
        own = iter(by_part(rows, parts, policy.firsts, f"{policy.table}s of {policy.policy_str}").values())
        return cls((policy.get_size(), *rows.shape[1:]), rows.dtype, init_func=lambda *_: next(own), part_policy=policy)

    @classmethod
    def of_feature(cls, graph: StoredGraph, policy: PartitionPolicy, key: str) -> "DistTensor":
        """A feature of the files, which is read-only."""
        column = FileColumn(graph, policy.table, key)
        typed = as_torch(column.dtype, empty(column.dtype, (0,))[0])
        return cls.of_column(key, column, column.shape, typed.dtype, policy)

    def _created(self, graph: StoredGraph, make: Callable[[Any, torch.dtype], Tensor]) -> SharedColumn:
        file, firsts = graph.new_name(), self._policy.firsts
        paths = [graph.folder / f"{file}-{part}.npy" for part in range(graph.files.num_parts)]
        own = [paths[part] for part in graph.parts]
        for part in graph.parts:
            rows = make((int(firsts[part + 1] - firsts[part]), *self._shape[1:]), self._dtype)
            write(paths[part], rows.detach().to(self._dtype))
        graph.group.barrier()
        column = SharedColumn(paths, firsts, self._dtype, writable=True)
        # The files may be removed once every process has mapped them.
        graph.group.barrier()
        weakref.finalize(column, _remove, own)
        return column

    def __getitem__(self, index: Any) -> Tensor:
        return self._column.rows(self._column_ids(self._numbers(index)))

    def __setitem__(self, index: Any, values: Any) -> None:
        if not isinstance(self._column, SharedColumn):
            raise TypeError(f"{self.name!r} is a feature of the partitions' files, which are not changed: assign to your own DistTensor")
        if self._column.fixed:
            raise ValueError(f"{self.name!r} has been used as prob, which keeps its values: to draw by others, make another DistTensor and assign it")
        self._column.write(self._numbers(index), torch.as_tensor(values))

    def rows(self, ids: Tensor) -> Tensor:
        """Rows by ids among the nodes (edges) of all types, for samplers; zeros for other types."""
        if not isinstance(self._column, SharedColumn):
            return self._column.rows(ids)
        numbering = self._policy.numbering
        own = numbering.type_of(ids) == self._policy.type
        if bool(own.all()):
            return self[numbering.inside_type(ids)]
        values = torch.zeros((len(ids), *self._shape[1:]), dtype=self._dtype)
        values[own] = self[numbering.inside_type(ids[own])]
        return values

    def fix(self) -> None:
        """Refuses changes from now on."""
        if isinstance(self._column, SharedColumn):
            self._column.fixed = True

    def __len__(self) -> int:
        return self._shape[0]

    def __or__(self, other: "DistTensor") -> "DistTensor":
        """True where either tensor is nonzero, as in DGL for masks."""
        both = DistTensor(self._shape, self._dtype, part_policy=self._policy)
        firsts = self._policy.firsts.tolist()
        for part in self._policy.partition_book._graph.parts:
            for begin in range(firsts[part], firsts[part + 1], BLOCK):
                rows = slice(begin, min(begin + BLOCK, firsts[part + 1]))
                both[rows] = (self[rows] != 0) | (other[rows] != 0)
        self._policy.partition_book._graph.group.barrier()
        return both

    @property
    def part_policy(self) -> PartitionPolicy:
        """The nodes or edges with these rows."""
        return self._policy

    @property
    def shape(self) -> Tuple[int, ...]:
        """Number of rows, and shape of a row."""
        return self._shape

    @property
    def dtype(self) -> torch.dtype:
        """The type of the elements."""
        return self._dtype

    def blocks(self) -> "List[slice]":
        """All rows in pieces."""
        return [slice(begin, min(begin + BLOCK, len(self))) for begin in range(0, len(self), BLOCK)]

    def count_nonzero(self) -> int:
        """Number of nonzero values."""
        return sum(int(torch.count_nonzero(self[rows])) for rows in self.blocks())

    def _numbers(self, index: Any) -> Tensor:
        if isinstance(index, slice):
            return torch.arange(*index.indices(len(self)))
        values = torch.as_tensor(index)
        if values.dtype == torch.bool:
            if len(values) != len(self):
                raise IndexError(f"a mask of {len(values)} values for {len(self)} rows")
            return torch.nonzero(values).flatten()
        return as_ids(values).reshape(-1)

    def _column_ids(self, numbers: Tensor) -> Tensor:
        if isinstance(self._column, SharedColumn):
            return numbers
        return self._policy.numbering.of_type(self._policy.type, numbers)


class EdgeWeights(NamedTuple):
    """Tensors of one name, one per edge type, in proportion to which edges are drawn."""

    key: str
    tensors: Tuple[DistTensor, ...]

    def rows(self, ids: Tensor) -> Tensor:
        """Rows by id; zeros for types that lack a tensor."""
        return torch.stack([tensor.rows(ids).float() for tensor in self.tensors]).sum(0)

    def lacks(self, ty: int) -> bool:
        """Whether a type lacks a tensor."""
        return all(tensor.part_policy.type != ty for tensor in self.tensors)


def _fitting(graph: StoredGraph, rows: int) -> PartitionPolicy:
    """The type with this number of nodes or edges."""
    book = GraphPartitionBook(graph)
    policies = [PartitionPolicy("node", ntype, book) for ntype in book.ntypes]
    policies += [PartitionPolicy("edge", etype, book) for etype in book.canonical_etypes]
    fitting = [policy for policy in policies if policy.get_size() == rows]
    if len(fitting) != 1:
        known = ", ".join(f"{policy.policy_str} {policy.get_size()}" for policy in policies)
        raise ValueError(f"{rows} rows fit {len(fitting)} types of nodes and edges ({known}): pass part_policy")
    return fitting[0]


def _remove(paths: List[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
