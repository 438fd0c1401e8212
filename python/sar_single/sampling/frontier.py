"""Edges drawn for the nodes of a layer, and blocks made of them."""

from __future__ import annotations

import operator
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

import numpy as np
import torch
from torch import Tensor

from .._engine import Edges
from ..graph.graph import Block, Graph, in_form
from ..stored.stored import StoredGraph, stored
from .draws import next_key

Fanout = Union[int, Mapping[Any, int]]


class Frontier:
    """Drawn edges: ids of sources and destinations, and ``edata["_ID"]``, the edges' ids."""

    def __init__(self, graph: StoredGraph, sources: Tensor, destinations: Tensor, ids: Tensor) -> None:
        self._stored, self._sources, self._destinations = graph, sources, destinations
        self.edata: Dict[str, Tensor] = {"_ID": ids}

    def edges(self, form: str = "uv") -> Any:
        """Sources and destinations; with ``form="all"`` also the edges' ids, with ``"eid"`` the ids alone."""
        return in_form(form, self._sources, self._destinations, self.edata["_ID"])

    all_edges = edges

    def num_edges(self) -> int:
        """Number of drawn edges."""
        return len(self._sources)

    number_of_edges = num_edges

    def num_nodes(self) -> int:
        """Number of nodes of the whole graph."""
        return self._stored.nodes.count

    def edge_subgraph(self, chosen: Tensor) -> "Frontier":
        """The edges at the places that a mask or indices choose."""
        part = Frontier(self._stored, self._sources[chosen], self._destinations[chosen], self.edata["_ID"][chosen])
        part.edata.update({key: value[chosen] for key, value in self.edata.items()})
        return part

    def without(self, ids: Tensor) -> "Frontier":
        """The edges except those with the given ids."""
        return self.edge_subgraph(~torch.isin(self.edata["_ID"], ids))


def sample_neighbors(
    g: Any,
    nodes: Any,
    fanout: Fanout,
    edge_dir: str = "in",
    prob: Optional[str] = None,
    replace: bool = False,
    exclude_edges: Any = None,
    **_: Any,
) -> Frontier:
    """Draws up to ``fanout`` in-edges of each node (all for -1), or out-edges with ``edge_dir="out"``. A dict has a number for each edge type.
    Probabilities are proportional to the values of the edge feature ``prob``. Nodes are ids in the partitioned graph, of any partition, or with
    several types a dict of numbers inside each. Drawn edges with the ids ``exclude_edges`` are left out. No collective, except with a new
    ``prob``, the first dict or the first ``"out"``.
    """
    if edge_dir not in ("in", "out"):
        raise ValueError(f"edge_dir is {edge_dir!r}, but must be in or out")
    graph = stored(g)
    ids = node_ids(graph, nodes)
    frontier = _drawn(graph, ids, fanout, prob, replace, edge_dir == "out")
    return frontier if exclude_edges is None else frontier.without(torch.as_tensor(exclude_edges))


class RankGraph(Graph):
    """A rank's graph, from whose files samples are drawn."""

    def __init__(self, engine: Edges, files: StoredGraph, places: Callable[[], Optional[Tensor]]) -> None:
        super().__init__(engine, files.nodes.count, places)
        self._stored = files

    def sample_neighbors(self, seed_nodes: Any, fanout: Any, edge_dir: str = "in", prob: Any = None, replace: bool = False, **options: Any) -> Frontier:
        """Draws in-edges of nodes, given by ids in the partitioned graph. DGL's samplers call this."""
        return sample_neighbors(self, seed_nodes, fanout, edge_dir, prob, replace, **options)


def _drawn(graph: StoredGraph, ids: Tensor, fanout: Fanout, prob: Optional[str], replace: bool, outwards: bool) -> Frontier:
    index = graph.out_edges if outwards else graph.in_edges
    if not isinstance(fanout, Mapping):
        counts, others, edges = index(prob=prob).draw(ids, most_of(fanout), next_key(), replace)
        return _frontier(graph, ids.repeat_interleave(counts), others, edges, outwards)
    types = graph.nodes.type_of(ids)
    parts: List[Tuple[Tensor, Tensor, Tensor]] = []
    for number, most in sorted(_per_type(graph, fanout).items()):
        ntype = graph.ntypes.index(graph.etypes[number].split(":")[0 if outwards else 2])
        own = ids[types == ntype]
        counts, others, edges = index(number, prob).draw(own, most, next_key(), replace)
        parts.append((own.repeat_interleave(counts), others, edges))
    columns = [torch.cat(column) for column in zip(*parts)]
    return _frontier(graph, columns[0], columns[1], columns[2], outwards)


def _frontier(graph: StoredGraph, near: Tensor, far: Tensor, edges: Tensor, outwards: bool) -> Frontier:
    return Frontier(graph, near, far, edges) if outwards else Frontier(graph, far, near, edges)


def node_ids(graph: StoredGraph, nodes: Any) -> Tensor:
    """Ids in the partitioned graph, from ids or from numbers inside each type."""
    if isinstance(nodes, Mapping):
        parts = [graph.nodes.of_type(_number(graph.ntypes, ntype, "node"), _ids(of)) for ntype, of in nodes.items()]
        return torch.cat(parts) if parts else torch.empty(0, dtype=torch.int64)
    return _ids(nodes)


def edge_ids(graph: StoredGraph, edges: Any) -> Tensor:
    """Ids in the partitioned graph, from ids or from numbers inside each edge type."""
    if isinstance(edges, Mapping):
        parts = [graph.edges.of_type(edge_type(graph, etype), _ids(of, "edge")) for etype, of in edges.items()]
        return torch.cat(parts) if parts else torch.empty(0, dtype=torch.int64)
    return _ids(edges, "edge")


def to_block(frontier: Frontier, dst_nodes: Any = None, include_dst_in_src: bool = True, **_: Any) -> Block:
    """The block of drawn edges. Its destinations are ``dst_nodes``, each once, which come first among its sources."""
    if not include_dst_in_src:
        raise NotImplementedError("include_dst_in_src=False: layers look for destinations among the sources")
    graph = frontier._stored
    sources, destinations = frontier._sources, frontier._destinations
    nodes = torch.unique(destinations) if dst_nodes is None else node_ids(graph, dst_nodes)
    everyone, source = numbered(nodes, sources)
    if not torch.equal(everyone[: len(nodes)], nodes):
        distinct, counts = torch.unique(nodes, return_counts=True)
        raise ValueError(
            f"node {int(distinct[counts > 1][0])} occurs more than once among the destinations of a block: "
            "nodes, rows = torch.unique(seeds, return_inverse=True) gives each node once, and results[rows] are those of the seeds"
        )
    block = Block(everyone, len(nodes), source, places(nodes, destinations), frontier.edata["_ID"])
    set_types(block, graph)
    return block


def set_types(block: Graph, graph: StoredGraph) -> None:
    """Sets the types of nodes and edges with ids, ``"_TYPE"``, where the graph has several; -1 for negative edges."""
    for frame in (block.srcdata, block.dstdata) if len(graph.ntypes) > 1 else ():
        frame["_TYPE"] = graph.nodes.type_of(frame["_ID"])
    if len(graph.etypes) > 1:
        ids = block.edata["_ID"]
        block.edata["_TYPE"] = torch.where(ids < 0, -1, graph.edges.type_of(ids.clamp(min=0)))


def numbered(known: Tensor, drawn: Tensor) -> Tuple[Tensor, Tensor]:
    """Distinct ids, known ones first and then new ones in order of appearance; and the places of the drawn ids among them."""
    everyone = torch.cat([known, drawn]).numpy()
    unique, first, inverse = np.unique(everyone, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    found = torch.from_numpy(number[inverse.reshape(-1)])
    return torch.from_numpy(unique[order]), found[len(known) :].contiguous()


def places(among: Tensor, ids: Tensor) -> Tensor:
    """The place of each id among distinct ids."""
    order = torch.argsort(among)
    if not len(ids):
        return ids
    found = torch.searchsorted(among[order], ids).clamp(max=max(len(among) - 1, 0))
    result = order[found] if len(among) else found
    if not len(among) or not torch.equal(among[result], ids):
        raise ValueError("edges end at nodes that are not among the destinations")
    return result


def _per_type(graph: StoredGraph, fanout: Mapping[Any, int]) -> Dict[int, int]:
    given = {edge_type(graph, etype): most_of(most) for etype, most in fanout.items()}
    missing = [name for number, name in enumerate(graph.etypes) if number not in given]
    if missing:
        raise ValueError(f"a dict of fan-outs lacks {', '.join(missing)}: it has a number for each edge type, 0 to draw none of its edges")
    return given


def most_of(fanout: Any) -> int:
    """The number of edges to draw, -1 for all."""
    try:
        most = operator.index(fanout)
    except TypeError:
        raise TypeError(f"a fan-out is a whole number, -1 for all edges, not {fanout!r}") from None
    if most < -1:
        raise ValueError(f"a fan-out is {most}, but must be 0 or more, or -1 for all edges")
    return most


def edge_type(graph: StoredGraph, etype: Any) -> int:
    """The number of an edge type, given by its three names, its text, or a name that no other type has."""
    if isinstance(etype, tuple):
        return _number(graph.etypes, ":".join(etype), "edge")
    same = [number for number, name in enumerate(graph.etypes) if name.split(":")[1] == etype]
    return same[0] if len(same) == 1 else _number(graph.etypes, etype, "edge")


def _number(names: List[str], name: Any, what: str) -> int:
    if name not in names:
        raise ValueError(f"unknown {what} type {name!r}; this graph has {', '.join(names)}")
    return names.index(name)


def _ids(given: Any, what: str = "node") -> Tensor:
    values = torch.as_tensor(given)
    if len(values) == 0:
        return torch.empty(0, dtype=torch.int64)
    if values.is_floating_point() or values.dtype == torch.bool or values.dim() != 1:
        raise TypeError(f"{what}s are ids in one dimension, not {list(values.shape)} of {values.dtype}")
    return values.long()
