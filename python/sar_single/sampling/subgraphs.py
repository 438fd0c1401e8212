"""Batches as from PyG's ``NeighborLoader``: one graph per batch, in which each node's neighbours are drawn once."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

import torch
from torch import Tensor

from ..commands.graphs import DATA_NAMES, data_names
from ..stored.numbering import EdgeType
from .draws import next_key
from .frontier import most_of, numbered
from .loader import Loader

if TYPE_CHECKING:
    from ..worker.rank import Rank

# Names of PyG's data that a list of attributes may have for any graph.
_USUAL = (*DATA_NAMES["node"], *DATA_NAMES["edge"], "edge_type", "train_mask", "val_mask", "test_mask")


class SubgraphLoader(Loader):
    """Batches as graphs. The last one counts as the rank's current batch until the iteration ends."""

    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()
        rank: Any = self._group
        rank._batch_sizes = set()


class SubgraphSampler:
    """Draws the in-edges of nodes when they are found: for a node found in hop h, ``num_neighbors[h]`` of each edge type."""

    def __init__(self, rank: "Rank", seeds: Tensor, num_neighbors: Any, ntype: Optional[str], attributes: Optional[Sequence[str]]) -> None:
        try:
            from torch_geometric.data import Data, HeteroData
        except ImportError as error:
            raise ModuleNotFoundError('form="pyg" needs PyTorch Geometric: pip install torch_geometric', name="torch_geometric") from error
        self._data, self._hetero_data = Data, HeteroData
        self._rank, self._ntypes, self._etypes = rank, rank.node_types, rank.edge_types
        self._typed = len(self._ntypes) > 1 or len(self._etypes) > 1
        if ntype is None and len(self._ntypes) > 1:
            raise TypeError(f"seeds of a graph with several node types name their type: ({self._ntypes[0]!r}, mask)")
        self._ntype = ntype or self._ntypes[0]
        # The loader's seeds in the order of their ids, and their positions among its input nodes.
        self._seeds, self._positions = torch.sort(seeds)
        self._fanouts = self._per_type(num_neighbors)
        self._hops = len(self._fanouts[0]) if self._fanouts else 0
        self._edges = [rank._stored.in_edges(etype) for etype in range(len(self._etypes))]
        self._node_arrays, self._edge_arrays = self._arrays("node"), self._arrays("edge")
        if attributes is not None:
            self._choose(attributes)
        rank._batch_sizes = rank._batch_sizes or set()

    def _per_type(self, num_neighbors: Any) -> List[List[int]]:
        """The fan-outs of each edge type, by hop."""
        if isinstance(num_neighbors, Mapping):
            unknown = [etype for etype in num_neighbors if etype not in self._etypes]
            if unknown or len(num_neighbors) < len(self._etypes):
                raise ValueError(f"num_neighbors names {list(num_neighbors)}, but the edge types are {self._etypes}")
            fanouts = [list(num_neighbors[etype]) for etype in self._etypes]
        else:
            fanouts = [list(num_neighbors)] * len(self._etypes)
        if not all(fanouts) or len({len(of) for of in fanouts}) > 1:
            raise ValueError("num_neighbors needs a number for each layer, equally many for each edge type")
        return [[most_of(fanout) for fanout in of] for of in fanouts]

    def _arrays(self, table: str) -> List[Tuple[str, int, str]]:
        """Key, type and PyG name of the arrays of nodes (edges) in batches."""
        arrays = [(key, ty, key.rpartition("/")[2]) for key, ty, _, _ in self._rank._stored.files.arrays(table, self._rank.index)]
        named = {ty: data_names(table, [name for _, of, name in arrays if of == ty]) for _, ty, _ in arrays}
        return [(key, ty, named[ty][name]) for key, ty, name in arrays]

    def _choose(self, attributes: Sequence[str]) -> None:
        known = sorted({name for _, _, name in [*self._node_arrays, *self._edge_arrays]})
        unknown = [name for name in attributes if name not in known and name not in _USUAL]
        if unknown:
            raise ValueError(f"attributes: batches have no array {unknown[0]!r}, but {', '.join(known) or 'none'}")
        self._node_arrays = [array for array in self._node_arrays if array[2] in attributes]
        self._edge_arrays = [array for array in self._edge_arrays if array[2] in attributes]

    def batch(self, seeds: Tensor, num_new: int) -> Any:
        """The graph of the given seeds."""
        found = _Found(self._ntypes, self._etypes, self._ntype, seeds)
        for hop in range(self._hops):
            frontier = found.frontier()
            for number, etype in enumerate(self._etypes):
                nodes = frontier[etype[2]]
                counts, sources, ids = self._edges[number].draw(nodes.ids, self._fanouts[number][hop], next_key())
                found.add(etype, nodes, counts, sources, ids)
            found.end_hop()
        data = self._hetero(found) if self._typed else self._plain(found)
        store = data[self._ntype] if self._typed else data
        store.batch_size, store.num_new = len(seeds), num_new
        store.input_id = self._positions[torch.searchsorted(self._seeds, seeds)]
        self._rank._batch_sizes = found.sizes()
        return data

    def _plain(self, found: "_Found") -> Any:
        data = self._data()
        self._fill(data, data, found, self._ntype, self._etypes[0])
        return data

    def _hetero(self, found: "_Found") -> Any:
        data = self._hetero_data()
        for ntype in self._ntypes:
            self._fill(data[ntype], None, found, ntype, None)
        for etype in self._etypes:
            self._fill(None, data[etype], found, None, etype)
        return data

    def _fill(self, nodes: Any, edges: Any, found: "_Found", ntype: Optional[str], etype: Optional[EdgeType]) -> None:
        """Fills stores with the nodes or edges found of a type, and their attributes."""
        if ntype is not None:
            nodes.n_id, nodes.num_nodes = found.nodes[ntype], len(found.nodes[ntype])
            nodes.num_sampled_nodes = found.num_nodes[ntype]
            for key, ty, name in self._node_arrays:
                if self._ntypes[ty] == ntype:
                    nodes[name] = self._rank.rows(key, found.nodes[ntype])
        if etype is not None:
            sources, destinations, ids = (torch.cat(parts) for parts in zip(*found.edges[etype]))
            edges.edge_index, edges.e_id = torch.stack([sources, destinations]), ids
            edges.num_sampled_edges = found.num_edges[etype]
            for key, ty, name in self._edge_arrays:
                if self._etypes[ty] == etype:
                    edges[name] = self._rank.edge_rows(key, ids)


class _Frontier:
    """Nodes of a type found in the last hop: their ids, and their beginning among all nodes found."""

    def __init__(self, ids: Tensor, begin: int) -> None:
        self.ids, self.begin = ids, begin


class _Found:
    """Nodes and edges of a batch, in the order in which they were found."""

    def __init__(self, ntypes: List[str], etypes: List[EdgeType], of: str, seeds: Tensor) -> None:
        none = torch.empty(0, dtype=torch.int64)
        self.nodes: Dict[str, Tensor] = {ntype: seeds if ntype == of else none for ntype in ntypes}
        self.edges: Dict[EdgeType, List[Tuple[Tensor, Tensor, Tensor]]] = {etype: [(none, none, none)] for etype in etypes}
        self.num_nodes = {ntype: [len(nodes)] for ntype, nodes in self.nodes.items()}
        self.num_edges: Dict[EdgeType, List[int]] = {etype: [] for etype in etypes}

    def sizes(self) -> Set[int]:
        """Numbers of nodes and edges of each type that are found up to some hop."""
        return {size for counts in (*self.num_nodes.values(), *self.num_edges.values()) for size in accumulate(counts)}

    def frontier(self) -> Dict[str, _Frontier]:
        """The nodes of the last hop, by type."""
        result = {}
        for ntype, nodes in self.nodes.items():
            begin = len(nodes) - self.num_nodes[ntype][-1]
            result[ntype] = _Frontier(nodes[begin:].contiguous(), begin)
        return result

    def add(self, etype: EdgeType, destinations: _Frontier, counts: Tensor, sources: Tensor, ids: Tensor) -> None:
        """Adds edges drawn for the nodes of a frontier."""
        self.nodes[etype[0]], places = numbered(self.nodes[etype[0]], sources)
        ends = (torch.arange(len(counts)) + destinations.begin).repeat_interleave(counts)
        self.edges[etype].append((places, ends, ids))
        self.num_edges[etype].append(len(ids))

    def end_hop(self) -> None:
        """Notes the number of nodes that the hop has found."""
        for ntype, nodes in self.nodes.items():
            self.num_nodes[ntype].append(len(nodes) - sum(self.num_nodes[ntype]))
