"""Owners of nodes and edges."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import Tensor

from ..sampling.frontier import edge_type
from ..stored.numbering import EdgeType, Numbering, as_edge_type
from ..stored.stored import StoredGraph


class GraphPartitionBook:
    """DGL's partition book: the owner and the local number of each node and edge. Ids of a type are numbers inside the type."""

    def __init__(self, graph: StoredGraph) -> None:
        self._graph = graph

    @property
    def partid(self) -> int:
        """The partition of this process."""
        group, parts = self._graph.group, self.num_partitions()
        return group.index * parts // group.world_size

    def num_partitions(self) -> int:
        """Number of partitions."""
        return self._graph.files.num_parts

    def metadata(self) -> List[Dict[str, int]]:
        """Numbers of nodes and edges of each partition."""
        nodes, edges = (numbering.part_firsts.diff().tolist() for numbering in (self._graph.nodes, self._graph.edges))
        return [
            {"machine_id": part, "num_nodes": n, "num_edges": m} for part, (n, m) in enumerate(zip(nodes, edges))
        ]

    @property
    def ntypes(self) -> List[str]:
        """Names of the node types."""
        return self._graph.ntypes

    @property
    def etypes(self) -> List[str]:
        """Names of the edge types."""
        return [etype[1] for etype in self.canonical_etypes]

    @property
    def canonical_etypes(self) -> List[EdgeType]:
        """Edge types as (source type, name, destination type)."""
        return [as_edge_type(name) for name in self._graph.etypes]

    @property
    def is_homogeneous(self) -> bool:
        """Whether there is a single node type and a single edge type."""
        return len(self.ntypes) == 1 and len(self._graph.etypes) == 1

    def to_canonical_etype(self, etype: Any) -> EdgeType:
        """The three names of an edge type."""
        return self.canonical_etypes[edge_type(self._graph, etype)]

    def nid2partid(self, nids: Any, ntype: str = "_N") -> Tensor:
        """The partitions of nodes."""
        return self._graph.nodes.part_of(self.map_to_homo_nid(nids, ntype))

    def eid2partid(self, eids: Any, etype: Any = "_E") -> Tensor:
        """The partitions of edges."""
        return self._graph.edges.part_of(self.map_to_homo_eid(eids, etype))

    def partid2nids(self, partid: int, ntype: str = "_N") -> Tensor:
        """The nodes of a partition."""
        return _inside(self._graph.nodes, partid, self._ntype(ntype))

    def partid2eids(self, partid: int, etype: Any = "_E") -> Tensor:
        """The edges of a partition."""
        return _inside(self._graph.edges, partid, self._etype(etype))

    def nid2localnid(self, nids: Any, partid: int, ntype: str = "_N") -> Tensor:
        """The numbers of nodes among those of their partition."""
        return self.map_to_homo_nid(nids, ntype) - self._graph.nodes.part_range(partid, self._ntype(ntype))[0]

    def eid2localeid(self, eids: Any, partid: int, etype: Any = "_E") -> Tensor:
        """The numbers of edges among those of their partition."""
        return self.map_to_homo_eid(eids, etype) - self._graph.edges.part_range(partid, self._etype(etype))[0]

    def map_to_per_ntype(self, ids: Any) -> Tuple[Tensor, Tensor]:
        """Types of nodes, and numbers inside the types."""
        return self._graph.nodes.type_of(as_ids(ids)), self._graph.nodes.inside_type(as_ids(ids))

    def map_to_per_etype(self, ids: Any) -> Tuple[Tensor, Tensor]:
        """Types of edges, and numbers inside the types."""
        return self._graph.edges.type_of(as_ids(ids)), self._graph.edges.inside_type(as_ids(ids))

    def map_to_homo_nid(self, ids: Any, ntype: str = "_N") -> Tensor:
        """Ids among all nodes, from numbers inside a type."""
        return self._graph.nodes.of_type(self._ntype(ntype), as_ids(ids))

    def map_to_homo_eid(self, ids: Any, etype: Any = "_E") -> Tensor:
        """Ids among all edges, from numbers inside a type."""
        return self._graph.edges.of_type(self._etype(etype), as_ids(ids))

    def _ntype(self, ntype: Optional[str]) -> int:
        if ntype in (None, "_N") and len(self.ntypes) == 1:
            return 0
        if ntype not in self.ntypes:
            raise ValueError(f"unknown node type {ntype!r}; this graph has {', '.join(self.ntypes)}")
        return self.ntypes.index(ntype)

    def _etype(self, etype: Any) -> int:
        if etype in (None, "_E", ("_N", "_E", "_N")) and len(self._graph.etypes) == 1:
            return 0
        return edge_type(self._graph, etype)

    def _num_nodes(self, ntype: str = "_N") -> int:
        return self._graph.nodes.count_of(self._ntype(ntype))

    def _num_edges(self, etype: Any = "_E") -> int:
        return self._graph.edges.count_of(self._etype(etype))


class PartitionPolicy:
    """The nodes (edges) of a type that have rows, and thereby the partitions that hold the rows."""

    def __init__(self, table: str, type_name: Any, partition_book: GraphPartitionBook) -> None:
        self.table, self.type_name, self.partition_book = table, type_name, partition_book
        graph = partition_book._graph
        self.numbering = graph.numbering(table)
        self.type = partition_book._ntype(type_name) if table == "node" else partition_book._etype(type_name)
        sizes = [end - begin for begin, end in (self.numbering.part_range(part, self.type) for part in range(graph.files.num_parts))]
        #: First row of each partition, and the end.
        self.firsts = torch.tensor([0, *sizes]).cumsum(0)

    @property
    def policy_str(self) -> str:
        """DGL's text for the policy."""
        return f"{self.table}~{self.type_name if isinstance(self.type_name, str) else ':'.join(self.type_name)}"

    @property
    def part_id(self) -> int:
        """The partition of this process."""
        return self.partition_book.partid

    def get_size(self) -> int:
        """Number of rows."""
        return int(self.firsts[-1])

    def get_part_size(self) -> int:
        """Number of rows in this process's partition."""
        return int(self.firsts[self.part_id + 1] - self.firsts[self.part_id])

    def to_partid(self, ids: Any) -> Tensor:
        """The partitions of rows."""
        return torch.searchsorted(self.firsts, as_ids(ids), right=True) - 1


def as_ids(given: Any) -> Tensor:
    """Ids as int64, from a tensor, an array or a list."""
    values = torch.as_tensor(given)
    if values.is_floating_point() and len(values):
        raise TypeError(f"ids are integers, not {values.dtype}")
    return values.long()


def _inside(numbering: Numbering, part: int, ty: int) -> Tensor:
    begin, end = numbering.part_range(part, ty)
    return numbering.inside_type(torch.arange(begin, end))
