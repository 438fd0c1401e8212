"""Batches of edges with negative edges, for link prediction and edge classification."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor

from ..graph.graph import Block
from ..stored.stored import StoredGraph, stored
from .blocks import Blocks
from .dgl_options import check_options, share
from .draws import generator
from .frontier import edge_ids, edge_type, numbered
from .loader import Loader
from .node_loader import sampled
from .samplers import DistNeighborSampler

Negatives = Callable[[Any, Tensor], Tuple[Tensor, Tensor]]


class PairGraph(Block):
    """Edges among the seeds of the blocks. Node values are in ``ndata``; ``apply_edges`` makes edge values."""

    is_block = False

    def __init__(self, nodes: Tensor, source: Tensor, destination: Tensor, edges: Tensor) -> None:
        super().__init__(nodes, len(nodes), source, destination, edges)
        self.dstdata = self.srcdata


class _Edges(NamedTuple):
    input_nodes: Tensor
    pair_graph: PairGraph
    blocks: Blocks


class _Pairs(NamedTuple):
    input_nodes: Tensor
    positive_graph: PairGraph
    negative_graph: PairGraph
    blocks: Blocks


class EdgeBatch(_Edges):
    """A batch of edges: ``input_nodes``, ``pair_graph`` and ``blocks``. ``num_new`` is 0 in a batch that repeats."""

    num_new: int


class PairBatch(_Pairs):
    """A batch of edges and negative edges: ``input_nodes``, ``positive_graph``, ``negative_graph``, ``blocks``; ``num_new`` as in ``EdgeBatch``."""

    num_new: int


class Uniform:
    """DGL's negatives: for each edge, ``k`` pairs of its source and a random node of the destination's type."""

    def __init__(self, k: int) -> None:
        if k < 1:
            raise ValueError(f"k is {k}, but must be 1 or more")
        self._k = k

    def __call__(self, g: Any, edges: Tensor) -> Tuple[Tensor, Tensor]:
        graph = stored(g)
        source, destination = graph.ends(edges).unbind(1)
        types = graph.nodes.type_of(destination).repeat_interleave(self._k)
        drawn = torch.empty(len(types), dtype=torch.int64)
        for ty in torch.unique(types).tolist():
            chosen = types == ty
            numbers = torch.randint(graph.nodes.count_of(ty), (int(chosen.sum()),), generator=generator())
            drawn[chosen] = graph.nodes.of_type(ty, numbers)
        return source.repeat_interleave(self._k), drawn


class SampledEdges:
    """Batches of edges with the blocks of their ends."""

    def __init__(self, graph: Any, sampler: Any, exclude: "Excluded", negatives: Optional[Negatives]) -> None:
        self._graph, self._stored, self._sampler = graph, stored(graph), sampler
        self._exclude, self._negatives = exclude, negatives
        self._stored.ends(torch.empty(0, dtype=torch.int64))
        if isinstance(sampler, DistNeighborSampler):
            sampler.bind(graph)

    def batch(self, seeds: Tensor, num_new: int) -> Union[EdgeBatch, PairBatch]:
        """The batch of the given edges."""
        ends = self._stored.ends(seeds)
        pairs: List[Tuple[Tensor, Tensor, Tensor]] = [(ends[:, 0], ends[:, 1], seeds)]
        if self._negatives is not None:
            source, destination = self._negatives(self._graph, seeds)
            pairs.append((source, destination, torch.full((len(source),), -1, dtype=torch.int64)))
        nodes = torch.unique(torch.cat([end for source, destination, _ in pairs for end in (source, destination)]))
        options = {} if self._exclude.rule is None else {"exclude_eids": self._exclude.ids(seeds)}
        blocks = sampled(self._sampler, self._graph, nodes, **options)
        blocks.num_new = num_new
        graphs = [PairGraph(nodes, numbered(nodes, source)[1], numbered(nodes, destination)[1], ids) for source, destination, ids in pairs]
        batch: Union[EdgeBatch, PairBatch]
        if self._negatives is None:
            batch = EdgeBatch(blocks.input_nodes, graphs[0], blocks)
        else:
            batch = PairBatch(blocks.input_nodes, graphs[0], graphs[1], blocks)
        batch.num_new = num_new
        return batch


class Excluded:
    """Edges that blocks must not have: the batch's edges (``"self"``), their reverses as well by a mapping of ids (``"reverse_id"``) or by the
    reverses' type (``"reverse_types"``), or what a function returns for the batch's edges.
    """

    def __init__(self, graph: StoredGraph, rule: Any, reverse_eids: Optional[Tensor], reverse_etypes: Optional[Mapping[Any, Any]]) -> None:
        self.rule, self._graph, self._reverse_eids = rule, graph, reverse_eids
        if not callable(rule) and rule not in (None, "self", "reverse_id", "reverse_types"):
            raise ValueError(f"unknown exclude {rule!r}: use self, reverse_id, reverse_types or a function of the edges")
        if (rule == "reverse_id") != (reverse_eids is not None) or (rule == "reverse_types") != (reverse_etypes is not None):
            raise TypeError('exclude="reverse_id" takes reverse_eids, and "reverse_types" takes reverse_etypes')
        self._reverse: Dict[int, int] = {edge_type(graph, a): edge_type(graph, b) for a, b in (reverse_etypes or {}).items()}

    def ids(self, edges: Tensor) -> Tensor:
        """Ids of the excluded edges."""
        if callable(self.rule):
            return torch.as_tensor(self.rule(edges))
        parts = [edges]
        if self._reverse_eids is not None:
            parts.append(self._reverse_eids[edges])
        types = self._graph.edges.type_of(edges) if self._reverse else edges
        for etype, reverse in self._reverse.items():
            chosen = edges[types == etype]
            parts.append(self._graph.edges.of_type(reverse, self._graph.edges.inside_type(chosen)))
        return torch.cat(parts)


def EdgeDataLoader(  # noqa: N802 (DGL's name)
    g: Any,
    eids: Any,
    graph_sampler: Any,
    batch_size: int = 1,
    drop_last: bool = False,
    shuffle: bool = False,
    *,
    device: Any = None,
    use_ddp: bool = False,
    ddp_seed: int = 0,
    seed: int = 0,
    exclude: Any = None,
    reverse_eids: Optional[Tensor] = None,
    reverse_etypes: Optional[Mapping[Any, Any]] = None,
    negative_sampler: Optional[Negatives] = None,
    **options: Any,
) -> Loader:
    """Batches of edges: ``for input_nodes, pair_graph, blocks in sar.EdgeDataLoader(...)``. With a ``negative_sampler`` (``sar.Uniform(5)``, or a
    function of graph and edges that returns sources and destinations): ``input_nodes, positive_graph, negative_graph, blocks``.

    ``eids`` are ids in the partitioned graph, of any partition (the rank's own begin at ``rank.first_edge``), or a dict with numbers inside each edge
    type. Graphs of pairs have the nodes of the last block as nodes. ``exclude`` says which edges blocks must not have: ``"self"``, ``"reverse_id"``,
    ``"reverse_types"``, or a function that returns their ids. Ranks repeat edges as ``sar.DataLoader`` does nodes, and divide them with ``use_ddp``
    as ``sar.NodeDataLoader`` does.
    """
    check_options(device, options)
    files = stored(g)
    ids = edge_ids(files, eids)
    files.edges.check(ids)
    ids = share(files.group, ids, drop_last) if use_ddp else ids
    make = SampledEdges(g, graph_sampler, Excluded(files, exclude, reverse_eids, reverse_etypes), negative_sampler)
    return Loader(files.group, ids, make, batch_size, shuffle=shuffle, seed=seed + ddp_seed, drop_last=drop_last, spare=True)
