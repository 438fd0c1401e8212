"""Edges of one type of a heterogeneous graph."""

from __future__ import annotations

from typing import Any, Dict

import torch
from torch import Tensor

from ..graph.keys import keys_of_nodes
from ..graph.tensors import place
from ..stored.numbering import EdgeType
from .asked import AskedTopology
from .columns import Columns
from .edge_index import EdgeIndex


class TypedTopology(AskedTopology):
    """Edges of one type that end at own nodes. Sources are the own nodes of a type, then other ranks', rank by rank."""

    def __init__(self, rank: Any, number: int, key: EdgeType, halo_ids: Tensor) -> None:
        begin, _, end = key
        self._rank, self.same_nodes = rank, begin == end
        self.places = lambda: rank._places_of_edges()[number]
        (first, behind), (first_end, behind_end) = rank.node_range(begin), rank.node_range(end)
        self._range_of_destinations = slice(first_end, behind_end)
        self.num_sources, self.num_nodes = behind - first, behind_end - first_end
        source, destination, etype, _ = rank.graph.edge_arrays()
        source, destination = source[etype == number], destination[etype == number] - first_end
        foreign = source >= rank.graph.num_nodes()
        starts = rank._stored.nodes.part_firsts
        ids, where = torch.unique(halo_ids[source[foreign]], return_inverse=True)
        # Ids ascend, and so do their owners.
        cuts = torch.searchsorted(ids, starts)
        self._arriving = (cuts[1:] - cuts[:-1]).tolist()
        asked = rank.all_to_all([ids[a:b] - start for a, b, start in zip(cuts, cuts[1:], starts)])
        self._requests = [rows - first for rows in asked]
        self.num_edges, self.num_halo_rows = len(source), self.num_sources + len(ids)
        source = source - first
        source[foreign] = self.num_sources + where
        self._ends = {"source": source, "destination": destination}

    def keys_of_destinations(self) -> Tensor:
        """Keys of the own nodes at which edges end, int64 ``[nodes]``."""
        return keys_of_nodes(self._rank)[self._range_of_destinations]


@torch.inference_mode(False)
def edge_index_dict(rank: Any) -> Dict[EdgeType, EdgeIndex]:
    """An ``edge_index`` per edge type. One collective per type."""
    ids = torch.empty(rank.graph._engine.num_halo_rows, dtype=torch.int64)
    rank.graph._engine.halo_ids(place(ids))
    return {
        key: EdgeIndex(Columns.whole(TypedTopology(rank, number, key, ids))) for number, key in enumerate(rank.edge_types)
    }
