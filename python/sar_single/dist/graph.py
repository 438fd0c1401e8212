"""A partitioned graph with the interface of DGL's ``DistGraph``."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, MutableMapping, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor

from ..commands.graphs import stored_key
from ..sampling.edge_loader import PairGraph
from ..sampling.frontier import Frontier, edge_ids, numbered, sample_neighbors, set_types
from ..stored.numbering import EdgeType
from .book import GraphPartitionBook, PartitionPolicy, as_ids
from .group import PathLike, open_graph
from .tensor import DistTensor, EdgeWeights, note_graph


class DataView(MutableMapping[str, DistTensor]):
    """Tensors of a type's nodes (edges) by name: features of the files, and assigned tensors."""

    def __init__(self, graph: "DistGraph", policy: PartitionPolicy) -> None:
        self._graph, self._policy = graph, policy
        self._assigned = graph._assigned.setdefault(policy.policy_str, {})

    def __getitem__(self, key: str) -> DistTensor:
        if key in self._assigned:
            return self._assigned[key]
        try:
            return DistTensor.of_feature(self._graph._stored, self._policy, self._file_key(key))
        except (KeyError, ValueError) as error:
            raise KeyError(f"{key!r}; there are {', '.join(self)}") from error

    def __setitem__(self, key: str, value: Any) -> None:
        if isinstance(value, Tensor):
            value = DistTensor.of_own_rows(value, self._policy)
        if not isinstance(value, DistTensor):
            raise TypeError(f"{key!r} is a DistTensor or a tensor with a row per own {self._policy.table}, not {type(value).__name__}")
        if value.part_policy.policy_str != self._policy.policy_str:
            raise ValueError(f"{key!r} belongs to {value.part_policy.policy_str}, not to {self._policy.policy_str}")
        self._assigned[key] = value

    def __delitem__(self, key: str) -> None:
        del self._assigned[key]

    def __iter__(self) -> Iterator[str]:
        names = [*self._assigned, *(name for name in self._names() if name not in self._assigned)]
        return iter(names)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _names(self) -> List[str]:
        return [key.rpartition("/")[2] for key in self._file_keys()]

    def _file_keys(self) -> List[str]:
        """The keys of this type's arrays alone."""
        return [key for key, ty, _, _ in self._graph._stored.files.arrays(self._policy.table, 0) if ty == self._policy.type]

    def _file_key(self, key: str) -> str:
        known = self._file_keys()
        stored = stored_key(key, known)
        for found in known:
            if found == stored or found.endswith("/" + stored):
                return found
        raise KeyError(key)


class Scheme(NamedTuple):
    """Shape and type of a tensor's rows."""

    shape: Tuple[int, ...]
    dtype: torch.dtype


class _View:
    def __init__(self, data: DataView) -> None:
        self.data = data


class _Views:
    """``g.nodes["paper"].data`` and ``g.edges["cites"].data``."""

    def __init__(self, graph: "DistGraph", table: str) -> None:
        self._graph, self._table = graph, table

    def __getitem__(self, type_name: Any) -> _View:
        return _View(self._graph._data(self._table, type_name))


class DistGraph:
    """The graph in a partition directory. ``part_config`` is the JSON file, which may also be the second argument, as in DGL's guide; a worker can
    omit it.
    """

    def __init__(self, graph_name: str, gpb: Union[GraphPartitionBook, PathLike, None] = None, part_config: Optional[PathLike] = None) -> None:
        self.graph_name = graph_name
        if isinstance(gpb, GraphPartitionBook):
            self._stored, self._book = gpb._graph, gpb
        else:
            self._stored = open_graph(gpb if part_config is None else part_config)
            self._book = GraphPartitionBook(self._stored)
        self._assigned: Dict[str, Dict[str, DistTensor]] = {}
        note_graph(self._stored)

    def get_partition_book(self) -> GraphPartitionBook:
        """The owners of nodes and edges."""
        return self._book

    def get_node_partition_policy(self, ntype: str) -> PartitionPolicy:
        """The policy of tensors with a row per node of a type."""
        return PartitionPolicy("node", self.ntypes[self._book._ntype(ntype)], self._book)

    def get_edge_partition_policy(self, etype: Any) -> PartitionPolicy:
        """The policy of tensors with a row per edge of a type."""
        return PartitionPolicy("edge", self.canonical_etypes[self._book._etype(etype)], self._book)

    @property
    def nodes(self) -> _Views:
        """``g.nodes[ntype].data``."""
        return _Views(self, "node")

    @property
    def edges(self) -> _Views:
        """``g.edges[etype].data``."""
        return _Views(self, "edge")

    @property
    def ndata(self) -> DataView:
        """Tensors of the nodes of a graph with one node type."""
        return self._data("node", self._only(self.ntypes, "ndata", "g.nodes[ntype].data"))

    @property
    def edata(self) -> DataView:
        """Tensors of the edges of a graph with one edge type."""
        return self._data("edge", self._only(self.canonical_etypes, "edata", "g.edges[etype].data"))

    idtype = torch.int64
    device = torch.device("cpu")

    @property
    def ntypes(self) -> List[str]:
        """Names of the node types."""
        return self._book.ntypes

    @property
    def etypes(self) -> List[str]:
        """Names of the edge types."""
        return self._book.etypes

    @property
    def canonical_etypes(self) -> List[EdgeType]:
        """Edge types as (source type, name, destination type)."""
        return self._book.canonical_etypes

    def to_canonical_etype(self, etype: Any) -> EdgeType:
        """The three names of an edge type."""
        return self._book.to_canonical_etype(etype)

    def num_nodes(self, ntype: Optional[str] = None) -> int:
        """Number of nodes, of a type or of all."""
        return self._stored.nodes.count if ntype is None else self._book._num_nodes(ntype)

    def num_edges(self, etype: Any = None) -> int:
        """Number of edges, of a type or of all."""
        return self._stored.edges.count if etype is None else self._book._num_edges(etype)

    number_of_nodes, number_of_edges = num_nodes, num_edges

    def rank(self) -> int:
        """The number of this process."""
        return self._stored.group.index

    def barrier(self) -> None:
        """Waits until every process is here."""
        self._stored.group.barrier()

    def get_ntype_id(self, ntype: str) -> int:
        """The number of a node type."""
        return self._book._ntype(ntype)

    def get_etype_id(self, etype: Any) -> int:
        """The number of an edge type."""
        return self._book._etype(etype)

    def node_attr_schemes(self) -> Dict[str, Scheme]:
        """Shape and type of the rows of each tensor in ``ndata``."""
        return {name: Scheme(column.shape[1:], column.dtype) for name, column in self.ndata.items()}

    def edge_attr_schemes(self) -> Dict[str, Scheme]:
        """Shape and type of the rows of each tensor in ``edata``."""
        return {name: Scheme(column.shape[1:], column.dtype) for name, column in self.edata.items()}

    def in_degrees(self, v: Any = "__ALL__") -> Tensor:
        """Number of in-edges of the given nodes, or of all."""
        return self._stored.in_edges().degrees(self._nodes(v))

    def out_degrees(self, u: Any = "__ALL__") -> Tensor:
        """Number of out-edges, to any partition, of the given nodes, or of all. One collective the first time."""
        return self._stored.out_edges().degrees(self._nodes(u))

    def edge_subgraph(self, edges: Any, relabel_nodes: bool = True, store_ids: bool = True) -> Union[Frontier, PairGraph]:
        """The graph of the given edges. With ``relabel_nodes`` it has only their ends, renumbered, with ids in ``ndata``. For several edge types,
        ``edges`` is a dict of numbers inside each.
        """
        ids = edge_ids(self._stored, edges)
        source, destination = self._stored.ends(ids).unbind(1)
        if not relabel_nodes:
            return Frontier(self._stored, source, destination, ids)
        nodes, places = numbered(ids[:0], torch.cat([source, destination]))
        graph = PairGraph(nodes, places[: len(ids)], places[len(ids) :], ids)
        set_types(graph, self._stored)
        return graph

    def find_edges(self, edges: Any, etype: Any = None) -> Tuple[Tensor, Tensor]:
        """Sources and destinations of edges; for a type, in its own numbers."""
        ids = as_ids(edges) if etype is None else self._book.map_to_homo_eid(edges, etype)
        source, destination = self._stored.ends(ids).unbind(1)
        if etype is None:
            return source, destination
        return self._stored.nodes.inside_type(source), self._stored.nodes.inside_type(destination)

    def sample_neighbors(self, seed_nodes: Any, fanout: Any, edge_dir: str = "in", prob: Optional[str] = None, replace: bool = False, **options: Any) -> Frontier:
        """Draws in-edges or out-edges of the given nodes. A number counts for each edge type, as in DGL. ``prob`` may be an assigned tensor, which cannot
        be changed after the first draw, and whose index stays on disk. The first draw is a collective for each edge type, as is the first by a
        ``prob``: all processes make it.
        """
        if len(self.etypes) > 1 and not isinstance(fanout, Mapping):
            fanout = dict.fromkeys(self.canonical_etypes, fanout)
        return sample_neighbors(self, seed_nodes, fanout, edge_dir, self._weights(prob), replace, **options)

    def _weights(self, prob: Any) -> Any:
        """Edge data to draw by: a feature of the files, or tensors, if any are assigned under this name."""
        if not any(prob in tensors for policy, tensors in self._assigned.items() if policy.startswith("edge~")):
            return prob
        views = [self.edges[etype].data for etype in self.canonical_etypes]
        for view in views:
            if prob in view:
                # A feature of the files stays the same tensor, too: the index is found by it.
                view[prob] = view[prob]
                view[prob].fix()
        return EdgeWeights(prob, tuple(view[prob] for view in views if prob in view))

    def _data(self, table: str, type_name: Any) -> DataView:
        policy = self.get_node_partition_policy if table == "node" else self.get_edge_partition_policy
        return DataView(self, policy(type_name))

    def _nodes(self, given: Any) -> Tensor:
        return torch.arange(self._stored.nodes.count) if isinstance(given, str) and given == "__ALL__" else as_ids(given).reshape(-1)

    @staticmethod
    def _only(names: List[Any], what: str, instead: str) -> Any:
        if len(names) > 1:
            raise ValueError(f"{what} of a graph with several types: use {instead}")
        return names[0]
