"""Batches of edges with negative edges, for link prediction and edge classification."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor

from ..graph.graph import Block
from ..stored.numbering import as_edge_type
from ..stored.stored import StoredGraph, stored
from .blocks import Blocks
from .dgl_options import check_options, share
from .draws import generator
from .frontier import edge_ids, edge_type, node_ids, numbered, set_types
from .loader import Loader
from .node_loader import sampled
from .samplers import DistNeighborSampler

Negatives = Callable[[Any, Tensor], Any]


class PairGraph(Block):
    """Edges among the seeds of the blocks, in the given order. Node values are in ``ndata``; ``apply_edges`` makes edge values."""

    is_block = False
    _called = "a graph of pairs"

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

    def __init__(self, graph: Any, sampler: Any, exclude: "Excluded", negatives: Any) -> None:
        self._graph, self._stored, self._sampler = graph, stored(graph), sampler
        if type(negatives).__name__ == "PerSourceUniform":  # DGL's class needs a graph of DGL.
            negatives = Uniform(negatives.k)
        self._exclude = exclude
        self._negatives: Optional[Negatives] = negatives
        self._stored.ends(torch.empty(0, dtype=torch.int64))
        if isinstance(sampler, DistNeighborSampler):
            sampler.bind(graph)

    def batch(self, seeds: Tensor, num_new: int) -> Union[EdgeBatch, PairBatch]:
        """The batch of the given edges."""
        ends = self._stored.ends(seeds)
        pairs: List[Tuple[Tensor, Tensor, Tensor]] = [(ends[:, 0], ends[:, 1], seeds)]
        if self._negatives is not None:
            source, destination = _ends(self._stored, self._negatives(self._graph, seeds))
            pairs.append((source, destination, torch.full((len(source),), -1, dtype=torch.int64)))
        nodes = torch.unique(torch.cat([end for source, destination, _ in pairs for end in (source, destination)]))
        options = {} if self._exclude.rule is None else {"exclude_eids": self._exclude.ids(seeds)}
        blocks = sampled(self._sampler, self._graph, nodes, **options)
        blocks.num_new = num_new
        graphs = [PairGraph(nodes, numbered(nodes, source)[1], numbered(nodes, destination)[1], ids) for source, destination, ids in pairs]
        for graph in graphs:
            set_types(graph, self._stored)
        batch: Union[EdgeBatch, PairBatch]
        if self._negatives is None:
            batch = EdgeBatch(blocks.input_nodes, graphs[0], blocks)
        else:
            batch = PairBatch(blocks.input_nodes, graphs[0], graphs[1], blocks)
        batch.num_new = num_new
        return batch


def _ends(graph: StoredGraph, negatives: Any) -> Tuple[Tensor, Tensor]:
    """Ids of the ends of negative edges, from ids or from numbers inside the types of nodes, by edge type."""
    if not isinstance(negatives, Mapping):
        source, destination = negatives
        return source, destination
    parts = [[torch.empty(0, dtype=torch.int64)] * 2]
    for etype, ends in negatives.items():
        begin, _, end = graph.etypes[edge_type(graph, etype)].split(":")
        parts.append([node_ids(graph, {ntype: of}) for ntype, of in zip((begin, end), ends)])
    return torch.cat([source for source, _ in parts]), torch.cat([destination for _, destination in parts])


class Excluded:
    """Edges that blocks must not have: the batch's edges (``"self"``), their reverses as well by a mapping of ids (``"reverse_id"``) or by their
    type and ends (``"reverse_types"``), or what a function returns for the batch's edges.
    """

    def __init__(self, graph: StoredGraph, rule: Any, reverse_eids: Any, reverse_etypes: Optional[Mapping[Any, Any]]) -> None:
        self.rule, self._graph = rule, graph
        if not callable(rule) and rule not in (None, "self", "reverse_id", "reverse_types"):
            raise ValueError(f"unknown exclude {rule!r}: use self, reverse_id, reverse_types or a function of the edges")
        if (rule == "reverse_id") != (reverse_eids is not None) or (rule == "reverse_types") != (reverse_etypes is not None):
            raise TypeError('exclude="reverse_id" takes reverse_eids, and "reverse_types" takes reverse_etypes')
        by_type = reverse_eids if isinstance(reverse_eids, Mapping) else {}
        self._reverse_eids: Optional[Tensor] = None if isinstance(reverse_eids, Mapping) else reverse_eids
        # Numbers of the reverses inside their own edge type, and types of the reverses; both by edge type.
        self._reverse_numbers = {edge_type(graph, etype): torch.as_tensor(numbers) for etype, numbers in by_type.items()}
        self._reverse_types = _reverse_types(graph, reverse_etypes or {})

    def ids(self, edges: Tensor) -> Tensor:
        """Ids of the excluded edges."""
        if callable(self.rule):
            return edge_ids(self._graph, self.rule(edges))
        parts = [edges]
        if self._reverse_eids is not None:
            parts.append(self._reverse_eids[edges])
        types = self._graph.edges.type_of(edges)
        for etype, numbers in self._reverse_numbers.items():
            parts.append(self._graph.edges.of_type(etype, numbers[self._graph.edges.inside_type(edges[types == etype])]))
        for etype, reverse in self._reverse_types.items():
            parts.append(self._leading_back(edges[types == etype], reverse))
        return torch.cat(parts)

    def _leading_back(self, edges: Tensor, reverse: int) -> Tensor:
        """Ids of the edges of a type from the destination of a given edge to its source. The cut numbers edges by destination, so that reverses have
        other numbers.
        """
        sources, destinations = self._graph.ends(edges).unbind(1)
        nodes, place = torch.unique(sources, return_inverse=True)
        counts, others, ids = self._graph.in_edges(reverse).draw(nodes, None, 0)
        width = self._graph.nodes.count
        drawn = torch.arange(len(nodes)).repeat_interleave(counts) * width + others
        return ids[torch.isin(drawn, place * width + destinations)]


def _reverse_types(graph: StoredGraph, reverse_etypes: Mapping[Any, Any]) -> Dict[int, int]:
    """The type of the reverses of each edge type. One collective per type of reverses that is new."""
    types = {edge_type(graph, etype): edge_type(graph, reverse) for etype, reverse in reverse_etypes.items()}
    for etype, reverse in types.items():
        (begin, _, end), (back, _, to) = as_edge_type(graph.etypes[etype]), as_edge_type(graph.etypes[reverse])
        if (back, to) != (end, begin):
            raise ValueError(f"reverse_etypes: {graph.etypes[reverse]} is not the reverse of {graph.etypes[etype]}, as it does not lead from {end} to {begin}")
        graph.in_edges(reverse)
    return types


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
    seed: Optional[int] = None,
    exclude: Any = None,
    reverse_eids: Any = None,
    reverse_etypes: Optional[Mapping[Any, Any]] = None,
    negative_sampler: Optional[Negatives] = None,
    **options: Any,
) -> Loader:
    """Batches of edges: ``for input_nodes, pair_graph, blocks in sar.EdgeDataLoader(...)``. With a ``negative_sampler`` (``sar.Uniform(5)``, or a
    function of graph and edges that returns sources and destinations): ``input_nodes, positive_graph, negative_graph, blocks``.

    ``eids`` are ids in the partitioned graph, of any partition (the rank's own begin at ``rank.first_edge``), or a dict with numbers inside each edge
    type, as ``reverse_eids`` and the results of functions may be. Graphs of pairs have the nodes of the last block as nodes, and edges in the order
    of the batch. ``exclude`` says which edges blocks must not have: ``"self"``, ``"reverse_id"``, ``"reverse_types"``, or a function that returns
    their ids. ``"reverse_types"`` finds reverses by their ends, with parallel ones. Ranks repeat edges as ``sar.DataLoader`` does nodes, and divide
    them with ``use_ddp`` as ``sar.NodeDataLoader`` does.
    """
    check_options(device, options)
    files = stored(g)
    ids = edge_ids(files, eids)
    files.edges.check(ids)
    ids = share(files.group, ids, drop_last) if use_ddp else ids
    make = SampledEdges(g, graph_sampler, Excluded(files, exclude, reverse_eids, reverse_etypes), negative_sampler)
    return Loader(files.group, ids, make, batch_size, shuffle=shuffle, seed=seed, ddp_seed=ddp_seed, drop_last=drop_last, spare=True)
