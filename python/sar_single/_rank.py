"""A worker's view of the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor

from ._engine import Rank as Engine
from ._graph import Graph
from ._tensors import as_torch, empty, place


if TYPE_CHECKING:
    from ._loader import Loader

    Array = np.ndarray[Any, Any]


class _Table(Mapping[str, Tensor]):
    """Arrays of a partition by key. A key matches as on the command line: exactly, by name without its type, or by its end."""

    def __init__(self, rank: "Rank", table: str) -> None:
        self._rank, self._table = rank, table
        self._arrays = rank._engine.arrays(table)

    def __iter__(self) -> Iterator[str]:
        return iter([key for key, _, _, _ in self._arrays])

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, key: str) -> Tensor:
        """The rows of the rank's own nodes (edges), read from the partition anew each time."""
        engine = self._rank._engine
        if key == "_TYPE":
            return self._rank._types(self._table)
        found = engine.lookup(self._table, key)
        rows = [self._read(index) for index in found if index is not None]
        if len(found) > 1 and len(rows) < len(found) and self._table == "edge":
            raise KeyError(f"{key!r}: some edge types lack it")
        values = rows[0] if len(rows) == 1 else torch.cat(rows)
        return values[self._rank.graph.edge_arrays()[3]] if self._table == "edge" else values

    def _read(self, index: int) -> Tensor:
        _, _, dtype, shape = self._arrays[index]
        tensor, where = empty(dtype, tuple(shape))
        self._rank._engine.read_array(self._table, index, where)
        return as_torch(dtype, tensor)


class Rank:
    """One worker of a run: its part of the graph, and what it tells the others.

    All ranks have to call the same collectives in the same order. Each is one pause: while the rank waits, its memory is on disk.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.index: int = engine.index
        self.world_size: int = engine.world_size
        self.num_total_nodes: int = engine.num_total_nodes
        self.graph = Graph(engine.edges())
        self._index: "Optional[List[Dict[str, Any]]]" = None
        self.ndata = _Table(self, "node")
        self.edata = _Table(self, "edge")

    @property
    def orig_ids(self) -> Tensor:
        """Original ids of the own nodes, int64 ``[nodes]``; of a heterogeneous graph, those inside each type."""
        parts: List[Tensor] = []
        for ntype, (name, count) in enumerate(self._engine.ntypes):
            ids = torch.empty(count, dtype=torch.int64)
            if not self._engine.original_ids(ntype, place(ids)):
                raise KeyError(f"the partition has no original ids for node type {name!r}")
            parts.append(ids)
        return torch.cat(parts)

    @property
    def first_node(self) -> int:
        """Id of this rank's first node in the partitioned graph, whose ranks have consecutive ids."""
        return int(self._engine.first_nodes[self.index])

    def rows(self, key: str, nodes: Tensor) -> Tensor:
        """Rows of a node feature for nodes of any partition, by their ids in the partitioned graph: ``[len(nodes), *]``. No collective."""
        return self._rows("node", key, nodes)

    def edge_rows(self, key: str, edges: Tensor) -> Tensor:
        """Rows of an edge feature for edges of any partition, by their ids in the partitioned graph (a block's ``edata["_ID"]``):
        ``[len(edges), *]``. No collective. ``"_TYPE"`` gives the edges' types, int64 ``[len(edges)]``.
        """
        return self._rows("edge", key, edges)

    def _rows(self, table: str, key: str, ids: Tensor) -> Tensor:
        ranges, end = self._engine.ranges(table)
        if len(ids) and not (0 <= int(ids.min()) and int(ids.max()) < end):
            raise IndexError(f"ids of {table}s are from 0 to {end - 1}, but here are {int(ids.min())} to {int(ids.max())}")
        firsts = torch.tensor([first for first, _, _ in ranges], dtype=torch.int64)
        if key == "_TYPE":
            types = torch.tensor([ty for _, _, ty in ranges])
            return types[torch.searchsorted(firsts, ids, right=True) - 1]
        arrays = self._engine.arrays(table)
        columns = [None if index is None else arrays[index] for index in self._engine.lookup(table, key)]
        if len({(column[2], *column[3][1:]) if column else None for column in columns}) > 1:
            raise KeyError(f"{key!r}: not all types have it, in one shape and dtype")
        _, _, dtype, shape = next(column for column in columns if column)
        order = torch.argsort(ids)
        ascending = ids[order]
        values, (address, size) = empty(dtype, (len(ids), *shape[1:]))
        width = size // max(1, len(ids))
        ends = [*torch.searchsorted(ascending, firsts).tolist(), len(ids)]
        for (first, part, ty), begin, end in zip(ranges, ends, ends[1:]):
            column = columns[ty]
            if begin < end and column:
                inside = (ascending[begin:end] - first).contiguous()
                where = address + begin * width, (end - begin) * width
                self._engine.read_rows(table, part, column[0], place(inside), where)
        typed = as_torch(dtype, values)
        return torch.empty_like(typed).index_copy_(0, order, typed)

    def loader(
        self, *, fanouts: Sequence[int], batch_size: int, seeds: Tensor, shuffle: bool = True, seed: int = 0
    ) -> "Loader":
        """Mini-batches of sampled neighbours: ``for input_nodes, output_nodes, blocks in rank.loader(...)``.

        ``fanouts`` has the number of in-edges that are drawn per node and layer, the input layer's first; -1 takes all. ``seeds`` are own
        nodes: their numbers or a mask ``[nodes]``. ``rank.rows`` gives features of ``input_nodes``. All ranks make a loader together: the first
        one writes the in-edges of each partition to the spill folder. One collective, or three the first time. ``edata["_ID"]`` of a block are its
        edges' ids, for ``rank.edge_rows``.
        """
        from ._loader import Loader

        return Loader(self, fanouts, batch_size, seeds, shuffle, seed)

    def _in_edges(self) -> "List[Dict[str, Any]]":
        """Of each partition: its ``first`` node, where the in-edges of each node begin (``begins``), their ``sources`` and their ``ids``."""
        if self._index is None:
            engine, folder = self._engine, Path(self._engine.folder)
            edges = self.graph._engine
            halo = torch.empty(edges.num_halo_rows, dtype=torch.int64)
            edges.halo_ids(place(halo))
            source, destination, _, row = self.graph.edge_arrays()
            order = torch.argsort(destination, stable=True)
            begins = torch.zeros(edges.num_nodes + 1, dtype=torch.int64)
            begins[1:] = self.graph.in_degrees().cumsum(0)
            ranges, _ = engine.ranges("edge")
            first_edge = next((first for first, part, _ in ranges if part == self.index), 0)
            columns = {"begins": begins, "sources": halo[source[order]], "ids": row[order] + first_edge}
            for name, values in columns.items():
                np.save(folder / f"{name}-{self.index}.npy", values.numpy())
            self.barrier()

            def stored(name: str, part: int) -> Array:
                path = folder / f"{name}-{part}.npy"
                array: Array = np.load(path, mmap_mode="r" if path.stat().st_size > 4096 else None)
                return array

            firsts = enumerate(engine.first_nodes[:-1])
            self._index = [{"first": first, **{name: stored(name, part) for name in columns}} for part, first in firsts]
        return self._index

    def _types(self, table: str) -> Tensor:
        if table == "edge":
            return self.graph.edge_arrays()[2]
        counts = torch.tensor([count for _, count in self._engine.ntypes])
        return torch.arange(len(counts)).repeat_interleave(counts)

    def barrier(self) -> None:
        """Waits until every rank is here."""
        self._engine.exchange([])

    def all_gather(self, x: Tensor) -> List[Tensor]:
        """What each rank brings, by rank; shapes may differ."""
        return [_unpacked(message) for message in self._exchange([x])]

    def all_to_all(self, messages: Sequence[Tensor]) -> List[Tensor]:
        """Sends ``messages[p]`` to rank p; gives what each rank sent here, by rank."""
        if len(messages) != self.world_size:
            raise ValueError(f"{len(messages)} tensors for {self.world_size} ranks")
        return [_unpacked(message) for message in self._exchange(messages)]

    def broadcast(self, x: Optional[Tensor], root: int = 0) -> Tensor:
        """What ``root`` brings; the others may bring None."""
        return _unpacked(self._exchange([x] if self.index == root and x is not None else [])[root])

    def all_reduce(self, x: Any, op: str = "sum") -> Any:
        """The sum, maximum (``max``) or minimum (``min``) over ranks; a number for a number. The same bits on every rank."""
        tensor = x if isinstance(x, Tensor) else torch.as_tensor(x, dtype=torch.float64 if isinstance(x, float) else None)
        parts = self.all_gather(tensor.detach())
        for rank, part in enumerate(parts):
            if (part.shape, part.dtype) != (tensor.shape, tensor.dtype):
                ours, theirs = (f"{list(t.shape)} of {t.dtype}" for t in (tensor, part))
                raise ValueError(f"all_reduce: rank {self.index} brings {ours}, but rank {rank} {theirs}")
        if op not in _REDUCE:
            raise ValueError(f"all_reduce: unknown operation {op!r}: use sum, max or min")
        wide = torch.float64 if tensor.is_floating_point() else torch.int64
        total = parts[0].to(wide)
        for part in parts[1:]:
            total = _REDUCE[op](total, part.to(wide))
        return total.to(tensor.dtype) if isinstance(x, Tensor) else total.item()

    def sync_params(self, module: torch.nn.Module) -> None:
        """Gives every rank the parameters and buffers of rank 0. One collective."""
        tensors = [*module.parameters(), *module.buffers()]
        messages = self._exchange([t.detach() for t in tensors] if self.index == 0 else [], together=True)
        with torch.no_grad():
            for tensor, value in zip(tensors, _all_unpacked(messages[0])):
                tensor.copy_(value)

    def gather_grads(self, module: torch.nn.Module) -> None:
        """Sums the gradients of a module's parameters over the ranks. One collective."""
        parameters = [p for p in module.parameters() if p.requires_grad]
        known = torch.tensor([p.grad is not None for p in parameters], dtype=torch.uint8)
        grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
        parts = [_all_unpacked(m) for m in self._exchange([known, *grads], together=True)]
        for i, parameter in enumerate(parameters):
            if not any(part[0][i] for part in parts):
                continue
            total = parts[0][i + 1].double()
            for part in parts[1:]:
                total += part[i + 1]
            parameter.grad = total.to(parameter.dtype)
        if self.index == 0:
            self._engine.step()

    def log(self, **values: Any) -> None:
        """Reports numbers of an epoch, once: what rank 0 says. Each call is a line of ``metrics.jsonl``."""
        epoch = values.get("epoch")
        if isinstance(epoch, int):
            self._engine.set_epoch(epoch + 1)
        if self.index == 0:
            plain = {key: v.item() if hasattr(v, "item") else v for key, v in values.items()}
            self._engine.log(json.dumps(plain))

    def _exchange(self, tensors: Sequence[Tensor], together: bool = False) -> List[bytearray]:
        """Sends one tensor to everybody, one to each rank, or all of them ``together`` to everybody."""
        packed = [_packed(tensor) for tensor in tensors]
        places = [[place(part) for part in parts] for parts in packed]
        if together and places:
            places = [[where for parts in places for where in parts]]
        return self._engine.exchange(places)


_REDUCE: Dict[str, Callable[[Tensor, Tensor], Tensor]] = {"sum": torch.add, "max": torch.maximum, "min": torch.minimum}


def _packed(tensor: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    """A tensor as a message: bytes of its description, the description, and its elements."""
    text = json.dumps([str(tensor.dtype).split(".")[1], list(tensor.shape)]).encode()
    header = torch.frombuffer(bytearray(text.ljust(-(-len(text) // 16) * 16)), dtype=torch.uint8)
    return torch.tensor([len(header), 0]), header, tensor.detach().contiguous()


def _all_unpacked(message: bytearray) -> List[Tensor]:
    tensors, at = [], 0
    while at < len(message):
        length = int.from_bytes(message[at : at + 8], "little")
        dtype, shape = json.loads(bytes(message[at + 16 : at + 16 + length]))
        at += 16 + length
        element: torch.dtype = getattr(torch, dtype)
        size_of = torch.empty(0, dtype=element).element_size()
        count = 1
        for size in shape:
            count *= size
        if count == 0:
            tensors.append(torch.empty(shape, dtype=element))
            continue
        part = torch.frombuffer(message, dtype=torch.uint8, count=count * size_of, offset=at)
        tensors.append(part.clone().view(element).reshape(shape))
        at += count * size_of
    return tensors


def _unpacked(message: bytearray) -> Tensor:
    (tensor,) = _all_unpacked(message)
    return tensor
