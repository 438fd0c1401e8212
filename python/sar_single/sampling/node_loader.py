"""SAR's loader of batches of nodes."""

from __future__ import annotations

import os
from typing import Any, Callable, List, Mapping, Optional, Union

import numpy as np
import torch
from torch import Tensor

from .._engine import group_seeds
from ..graph.tensors import place
from ..stored.edge_index import part_edges
from ..stored.stored import StoredGraph, stored
from .blocks import Blocks
from .dgl_options import check_options, share
from .frontier import node_ids
from .loader import Batches, Collated, Loader
from .samplers import Batch, DistNeighborSampler
from .seeds import own_numbers


class SampledNodes:
    """Batches of nodes, as a sampler's blocks or as DGL's three values (``triples``)."""

    def __init__(self, graph: Any, sampler: Any, triples: bool = False) -> None:
        self._graph, self._sampler, self._triples = graph, sampler, triples
        if isinstance(sampler, DistNeighborSampler):
            sampler.bind(graph)
        elif not hasattr(sampler, "sample_blocks") and not hasattr(sampler, "sample"):
            raise TypeError(f"a sampler has sample_blocks(graph, seeds) or sample(graph, seeds), which {type(sampler).__name__} lacks")

    def batch(self, seeds: Tensor, num_new: int) -> Union[Batch, Blocks]:
        """The batch of the given seeds."""
        blocks = sampled(self._sampler, self._graph, seeds)
        blocks.num_new = num_new
        if not self._triples:
            return blocks
        batch = Batch(blocks.input_nodes, blocks.output_nodes, blocks)
        batch.num_new = num_new
        return batch


def sampled(sampler: Any, graph: Any, seeds: Tensor, **options: Any) -> Blocks:
    """Blocks from a sampler with DGL's interface (``sample_blocks``) or SAR's (``sample``)."""
    draw = getattr(sampler, "sample_blocks", None) or sampler.sample
    result = draw(graph, seeds, **options)
    return Blocks(result[2] if isinstance(result, tuple) else result)


def DataLoader(  # noqa: N802 (SAR's name)
    full_graph_manager: Any,
    seed_nodes: Any,
    graph_sampler: Any = None,
    batch_size: int = 1,
    drop_last: bool = False,
    shuffle: bool = False,
    precompute_optimized_batches: bool = False,
    optimized_batches_cache: "Union[str, os.PathLike[str], None]" = None,
    num_workers: int = 0,
    *,
    collate_fn: Optional[Callable[[Tensor], Any]] = None,
    seed: Optional[int] = None,
) -> Loader:
    """SAR's loader: ``for blocks in sar.DataLoader(rank.graph, train_nodes, sampler, batch_size)``. All ranks call it together.

    ``seed_nodes`` are own nodes by their ids in the partitioned graph, or a mask of the own nodes; for one type, ``("paper", mask)``; for several, a
    dict with numbers inside each. A batch is the ``Blocks`` that ``graph_sampler`` draws, with the features that it adds; ``collate_fn(seeds)`` makes
    other kinds of batches. All ranks get the same number of batches: a rank with fewer repeats its own, and a rank without seeds gets batches of
    another rank's. ``blocks.num_new`` is then 0.

    ``precompute_optimized_batches`` groups seeds with common neighbours (METIS); ``optimized_batches_cache`` is the prefix of files that keep the
    groups for later runs. ``num_workers`` is accepted, but the rank always draws its batches itself, in its turn.
    """
    files = stored(full_graph_manager)
    if len(files.parts) != 1:
        raise ValueError(f"sar.DataLoader takes nodes of one partition, but this process has {len(files.parts)}: use sar.NodeDataLoader")
    (part,) = files.parts
    ids = _own_ids(files, part, seed_nodes)
    check_options(None, {"num_workers": num_workers})
    if (graph_sampler is None) == (collate_fn is None):
        raise TypeError("pass either a sampler or collate_fn(seeds), which makes the batches")
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}, but must be 1 or more")
    make: Batches = SampledNodes(full_graph_manager, graph_sampler) if collate_fn is None else Collated(collate_fn)
    batches = _grouped(files, part, ids, batch_size, optimized_batches_cache) if precompute_optimized_batches else None
    return Loader(files.group, ids, make, batch_size, shuffle=shuffle, seed=seed, drop_last=drop_last, batches=batches, spare=True)


def NodeDataLoader(  # noqa: N802 (DGL's name)
    g: Any,
    nids: Any,
    graph_sampler: Any,
    device: Any = None,
    use_ddp: bool = False,
    ddp_seed: int = 0,
    batch_size: int = 1,
    drop_last: bool = False,
    shuffle: bool = False,
    *,
    seed: Optional[int] = None,
    **options: Any,
) -> Loader:
    """DGL's loader: ``for input_nodes, output_nodes, blocks in sar.NodeDataLoader(graph, nids, sampler, ...)``. Nodes are ids in the partitioned
    graph, of any partition, each once in a batch; with several types, a dict. All ranks get the same number of batches, as with ``sar.DataLoader``.
    With ``use_ddp`` all ranks name the same nodes, and each takes its share. ``seed`` (by default torch's), ``ddp_seed`` and ``set_epoch`` determine
    the shuffling.
    """
    check_options(device, options)
    files = stored(g)
    ids = node_ids(files, nids)
    files.nodes.check(ids)
    ids = share(files.group, ids, drop_last) if use_ddp else ids
    make = SampledNodes(g, graph_sampler, triples=True)
    return Loader(files.group, ids, make, batch_size, shuffle=shuffle, seed=seed, ddp_seed=ddp_seed, drop_last=drop_last, spare=True)


def _own_ids(files: StoredGraph, part: int, seeds: Any) -> Tensor:
    """Ids of own nodes, from ids or a mask."""
    begin, end = (int(first) for first in files.nodes.part_firsts[part : part + 2])
    of = f"rank {part}"
    if isinstance(seeds, Mapping):
        seeds = node_ids(files, seeds)
    if isinstance(seeds, (tuple, list)) and len(seeds) == 2 and isinstance(seeds[0], str):
        ntype, seeds = seeds
        if ntype not in files.ntypes:
            node_ids(files, {ntype: []})
        begin, end = files.nodes.part_range(part, files.ntypes.index(ntype))
        of = f"type {ntype} on rank {part}"
    values = torch.as_tensor(seeds)
    mask = values.dtype in (torch.bool, torch.uint8)
    return own_numbers(values if mask else None, None if mask else values, begin, end - begin, of) + begin


def _grouped(
    files: StoredGraph, part: int, seeds: Tensor, batch_size: int, cache: "Union[str, os.PathLike[str], None]"
) -> List[Tensor]:
    """Nonempty batches of seeds that share neighbours."""
    own = -(-len(seeds) // batch_size)
    number = int(torch.stack(files.group.all_gather(torch.tensor(own))).max())
    if not len(seeds):
        return []
    begin, end = (int(first) for first in files.nodes.part_firsts[part : part + 2])
    sources, destinations, _, ids = part_edges(files, part)
    order = torch.from_numpy(np.lexsort((ids.numpy(), destinations.numpy())))
    counts = torch.bincount(destinations - begin, minlength=end - begin)
    nodes, sources = torch.arange(begin, end), sources[order].contiguous()
    path = None if cache is None else f"{os.fspath(cache)}_{part}_{number}"
    found = group_seeds(place(nodes), place(counts), place(sources), place(seeds), batch_size, number, path)
    sizes, grouped = (torch.from_numpy(np.frombuffer(column, dtype=np.int64).copy()) for column in found)
    return [batch for batch in grouped.split(sizes.tolist()) if len(batch)]
