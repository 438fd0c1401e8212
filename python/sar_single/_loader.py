"""Mini-batches of sampled neighbours."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, List, NamedTuple, Optional, Sequence

import numpy as np
import torch
from torch import Tensor

from ._engine import sample
from ._graph import Block
from ._tensors import place

if TYPE_CHECKING:
    from ._engine import InEdges
    from ._rank import Rank


class Blocks(List[Block]):
    """The blocks of a batch, the input layer's first.

    They also serve as one graph: each layer that uses it (in DGL's manner, inside ``graph.local_scope()``, or with ``graph.attend``) gets the
    next block. So a module that is written for ``rank.graph`` takes them unchanged.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__(blocks)
        self._layer = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not self:
            raise AttributeError(name)
        return getattr(self[self._layer], name)

    @contextmanager
    def local_scope(self) -> Iterator[None]:
        """The scope of the layer's block. The next layer gets the next block, the first one follows the last."""
        with self[self._layer].local_scope():
            yield
        self._next()

    def attend(self, *args: Any, **kwargs: Any) -> Tensor:
        """``Graph.attend`` on the layer's block."""
        result = self[self._layer].attend(*args, **kwargs)
        self._next()
        return result

    def _next(self) -> None:
        self._layer = (self._layer + 1) % len(self)


class Batch(NamedTuple):
    """A mini-batch, as DGL's loaders give it. Node ids are those of the partitioned graph, int64."""

    input_nodes: Tensor
    output_nodes: Tensor
    blocks: Blocks


class Loader:
    """Batches of a rank's seeds with sampled neighbours, which may belong to any partition. Each iteration is an epoch.

    All ranks get the same number of batches: the last ones of a rank with fewer seeds are empty.
    """

    def __init__(self, rank: "Rank", fanouts: Sequence[int], batch_size: int, seeds: Tensor, shuffle: bool, seed: int) -> None:
        if len(rank._engine.ntypes) > 1:
            raise NotImplementedError("batches of a graph with several node types")
        if batch_size < 1 or not fanouts:
            raise ValueError("batch_size is at least 1, and fanouts has a number for each layer")
        seeds = torch.as_tensor(seeds)
        self._seeds = (torch.nonzero(seeds).flatten() if seeds.dtype in (torch.bool, torch.uint8) else seeds.long()) + rank.first_node
        self._rank, self._fanouts, self._batch_size = rank, list(fanouts), batch_size
        self._shuffle, self._seed, self._epoch = shuffle, seed, 0
        # The engine reads the arrays where they are, so they live as long as their addresses.
        self._arrays = rank._in_edges()
        self._in_edges: List[InEdges] = [
            {"first": part["first"], "begins": _place(part["begins"]), "sources": _place(part["sources"]), "ids": _place(part["ids"])}
            for part in self._arrays
        ]
        self._batches = int(rank.all_reduce(-(-len(self._seeds) // batch_size), op="max"))

    def __len__(self) -> int:
        return self._batches

    def __iter__(self) -> Iterator[Batch]:
        self._epoch += 1
        draw = torch.Generator().manual_seed(self._seed * 1_000_003 + self._epoch * 1_009 + self._rank.index)
        order = torch.randperm(len(self._seeds), generator=draw) if self._shuffle else torch.arange(len(self._seeds))
        for number in range(self._batches):
            chosen = order[number * self._batch_size : (number + 1) * self._batch_size]
            yield self._batch(self._seeds[chosen], int(torch.randint(1 << 62, (), generator=draw)))

    def _batch(self, seeds: Tensor, key: int) -> Batch:
        blocks: List[Block] = []
        nodes = seeds
        for layer, fanout in reversed(list(enumerate(self._fanouts))):
            block = self._draw(nodes, None if fanout < 0 else fanout, key + layer)
            blocks.insert(0, block)
            nodes = block.srcdata["_ID"]
        return Batch(nodes, seeds, Blocks(blocks))

    def _draw(self, nodes: Tensor, fanout: Optional[int], key: int) -> Block:
        """A block with edges to ``nodes``, which come first among its sources."""
        drawn_arrays = sample(place(nodes), self._in_edges, fanout, key)
        counts, drawn, edges = (torch.from_numpy(np.frombuffer(a, dtype=np.int64).copy()) for a in drawn_arrays)
        everyone = torch.cat([nodes, drawn]).numpy()
        unique, first, inverse = np.unique(everyone, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        local = torch.from_numpy(number[inverse.reshape(-1)])
        if int((first < len(nodes)).sum()) < len(nodes):
            raise ValueError("seeds contain a node twice")
        destination = torch.arange(len(nodes)).repeat_interleave(counts)
        return Block(torch.from_numpy(unique[order]), len(nodes), local[len(nodes) :].contiguous(), destination, edges)


def _place(array: "np.ndarray[Any, Any]") -> "tuple[int, int]":
    return array.ctypes.data, array.nbytes
