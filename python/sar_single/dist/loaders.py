"""DGL's loaders and samplers on a ``DistGraph``."""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, Optional, Sequence

import torch
from torch import Tensor

from ..sampling.blocks import Blocks
from ..sampling.edge_loader import EdgeDataLoader
from ..sampling.frontier import node_ids, to_block
from ..sampling.loader import Collated, Loader
from ..sampling.node_loader import NodeDataLoader
from ..sampling.samplers import DistNeighborSampler
from .graph import DistGraph
from .services import sample_neighbors as _draw
from .tensor import current_graph

#: DGL's names of the sampler with a list of fan-outs, and of its loader.
MultiLayerNeighborSampler = DistNeighborSampler
DistNodeDataLoader = NodeDataLoader


class NeighborSampler:
    """The sampler of DGL's examples: ``NeighborSampler(g, [10, 25], dist.sample_neighbors).sample_blocks`` makes a loader's batches."""

    def __init__(self, g: DistGraph, fanouts: Sequence[int], sample_neighbors: Callable[..., Any] = _draw, device: Any = None, **_: Any) -> None:
        self.g, self.fanouts, self.sample_neighbors = g, list(fanouts), sample_neighbors

    def sample_blocks(self, seeds: Any) -> Blocks:
        """The blocks of the given seeds, the input layer's first."""
        nodes = node_ids(self.g._stored, seeds)
        blocks: List[Any] = []
        for fanout in reversed(self.fanouts):
            block = to_block(self.sample_neighbors(self.g, nodes, fanout), nodes)
            blocks.insert(0, block)
            nodes = block.srcdata["_ID"]
        return Blocks(blocks)


class DistDataLoader:
    """Batches of a process's ids, made by ``collate_fn``. All processes get the same number: a process with fewer repeats its own."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        shuffle: bool = False,
        collate_fn: Optional[Callable[[Tensor], Any]] = None,
        drop_last: bool = False,
        queue_size: Optional[int] = None,
    ) -> None:
        ids = torch.as_tensor(dataset).long()
        make = Collated(collate_fn or (lambda seeds: seeds))
        self._loader = Loader(current_graph().group, ids, make, batch_size, shuffle=shuffle, drop_last=drop_last, spare=True)

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._loader)


def DistEdgeDataLoader(g: DistGraph, eids: Any, graph_sampler: Any, device: Any = None, **options: Any) -> Loader:  # noqa: N802 (DGL's name)
    """Batches of edges: ``sar_single.EdgeDataLoader`` under DGL's name."""
    return EdgeDataLoader(g, eids, graph_sampler, device=device, **options)
