"""Edges of several types as the edges of one graph, as ``HGTConv`` joins them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional

import torch
from torch import Tensor

from ..graph.keys import BITS
from ..process import current
from ..stored.numbering import EdgeType
from .columns import Columns
from .edge_index import EdgeIndex
from .topology import Topology


@dataclass(frozen=True)
class _Part:
    columns: Columns
    first_source: int
    first_destination: int


class JoinedTopology(Topology):
    """Edges of several types. Each type's sources have their own rows, followed by other ranks', type by type. The destinations of a node type are
    one range.
    """

    same_nodes = False

    def __init__(self, parts: List[_Part], num_nodes: int) -> None:
        self._parts = parts
        topologies = [part.columns.topology for part in parts]
        self.num_sources = sum(topology.num_sources for topology in topologies)
        self.num_nodes, self.num_edges = num_nodes, sum(len(part.columns) for part in parts)
        self.num_halo_rows = sum(topology.num_halo_rows for topology in topologies)
        self.places = lambda: torch.cat([part.columns.keys() + (number << BITS) for number, part in enumerate(parts)])
        sources, foreign = [], self.num_sources
        for part, topology in zip(parts, topologies):
            source, own = part.columns.source, topology.num_sources
            sources.append(torch.where(source < own, source + part.first_source, source - own + foreign))
            foreign += topology.num_halo_rows - own
        destination = torch.cat([part.columns.destination + part.first_destination for part in parts])
        self._ends = {"source": torch.cat(sources), "destination": destination}

    def keys_of_destinations(self) -> Tensor:
        """Keys of the own nodes at which edges end, int64 ``[nodes]``."""
        keys = torch.zeros(self.num_nodes, dtype=torch.int64)
        for part in self._parts:
            own = part.columns.topology.keys_of_destinations()
            keys[part.first_destination : part.first_destination + len(own)] = own
        return keys

    def halo(self, x: Tensor) -> Tensor:
        """Rows of all sources of edges. A pause per edge type."""
        foreign = []
        for part in self._parts:
            topology = part.columns.topology
            own = x[part.first_source : part.first_source + topology.num_sources]
            foreign.append(topology.halo(own)[len(own) :])
        return torch.cat([x, *foreign])

    def halo_adjoint(self, rows: Tensor) -> Tensor:
        """Sums of all ranks' source rows, by the own node that they belong to. One pause per edge type."""
        own, foreign = rows[: self.num_sources], rows[self.num_sources :]
        sums = []
        for part in self._parts:
            topology = part.columns.topology
            here, foreign = foreign.tensor_split([topology.num_halo_rows - topology.num_sources])
            sums.append(topology.halo_adjoint(torch.cat([own[part.first_source : part.first_source + topology.num_sources], here])))
        return torch.cat(sums)


def construct(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """``construct_bipartite_edge_index``, which joins edges and their values."""

    @functools.wraps(theirs)
    def construct_bipartite_edge_index(
        edge_index_dict: Dict[EdgeType, Any],
        src_offset_dict: Dict[EdgeType, int],
        dst_offset_dict: Dict[str, int],
        edge_attr_dict: Any = None,
        num_nodes: Optional[int] = None,
    ) -> Any:
        if not any(isinstance(edges, EdgeIndex) for edges in edge_index_dict.values()):
            return theirs(edge_index_dict, src_offset_dict, dst_offset_dict, edge_attr_dict, num_nodes)
        parts: List[_Part] = []
        values: List[Tensor] = []
        for key, offset in src_offset_dict.items():
            columns = edge_index_dict[key].columns
            parts.append(_Part(columns, offset, dst_offset_dict[key[-1]]))
            if edge_attr_dict is not None:
                value = edge_attr_dict["__".join(key) if isinstance(edge_attr_dict, torch.nn.ParameterDict) else key]
                values.append(value if len(value) == len(columns) else value.expand(len(columns), -1))
        rank: Any = current.current()
        last, first_of_last = list(dst_offset_dict.items())[-1]
        begin, end = rank.node_range(last)
        edges = EdgeIndex(Columns.whole(JoinedTopology(parts, first_of_last + end - begin)))
        return edges, torch.cat(values) if values else None

    return construct_bipartite_edge_index
