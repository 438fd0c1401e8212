"""A rank's data under the names of PyG's ``Data`` and ``HeteroData``."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union

from torch import Tensor

from ..graph.graph import Graph
from ..stored.numbering import EdgeType, as_edge_type
from ..stored.table import Table
from .columns import Columns
from .edge_index import EdgeIndex
from .hetero import edge_index_dict
from .topology import Topology

# Names of PyG's data with another meaning in a worker, and what to write instead.
_ELSEWHERE = {
    "num_nodes": "x.size(0) is the number of own nodes, num_total_nodes the number of nodes on all ranks",
    "num_edges": "edge_index.size(1) is the number of edges that end at own nodes",
    "edge_label_index": "pass the pairs to the worker (args=...) and to rank.pairs",
    "edge_label": "pass the labels of pairs to the worker (args=...)",
}


def _of(table: str, name: str, doc: str) -> Any:
    """A property: an array of a table, or with ``_dict`` at the end of its name a dict of it by type."""
    key = name.removesuffix("_dict")

    def read(rank: "RankData") -> Any:
        arrays: Table = getattr(rank, table)
        try:
            arrays._lookup(key)
        except (KeyError, ValueError) as error:
            raise AttributeError(f"rank has no {key!r}: {error}") from None
        return rank._read(arrays, name)

    return property(read, doc=doc)


class RankData:
    """Arrays of a rank's own nodes and their in-edges: ``x``, ``edge_index`` and others.

    All arrays are named as in the data; ``name_dict`` has the array ``name`` by type.
    """

    graph: Graph
    ndata: Table
    edata: Table
    _edge_index: Optional[EdgeIndex] = None
    _edge_index_dict: Optional[Dict[EdgeType, EdgeIndex]] = None
    _num_classes: Optional[int] = None

    x: Tensor = _of("ndata", "x", "Features of the own nodes.")
    y: Tensor = _of("ndata", "y", "Labels of the own nodes.")
    train_mask: Tensor = _of("ndata", "train_mask", "Own nodes to train on, bool.")
    val_mask: Tensor = _of("ndata", "val_mask", "Own nodes to validate on, bool.")
    test_mask: Tensor = _of("ndata", "test_mask", "Own nodes to test on, bool.")
    edge_attr: Tensor = _of("edata", "edge_attr", "Features of the edges, in the order of ``edge_index``.")
    edge_weight: Tensor = _of("edata", "edge_weight", "Weights of the edges, in the order of ``edge_index``.")
    x_dict: Dict[str, Tensor] = _of("ndata", "x_dict", "Features of the own nodes, by node type.")
    y_dict: Dict[str, Tensor] = _of("ndata", "y_dict", "Labels of the own nodes, by node type; types without labels are left out.")
    edge_attr_dict: Dict[EdgeType, Tensor] = _of("edata", "edge_attr_dict", "Features of the edges, by edge type, in the order of ``edge_index_dict``.")

    def __getattr__(self, name: str) -> Any:
        if isinstance(getattr(type(self), name, None), property):
            return getattr(type(self), name).fget(self)  # Raises the property's own error.
        if not name.startswith("_") and "edata" in vars(self):
            found = self._array(name)
            if found is not None:
                return found
        hint = f": {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
        raise AttributeError(f"rank has no {name!r}, and neither nodes nor edges of this graph have an array of that name{hint}")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(getattr(type(self), name, None), property):
            raise AttributeError(f"rank.{name} is read from the partition each time: keep it in a variable, as in {name} = rank.{name}")
        super().__setattr__(name, value)

    def __contains__(self, key: object) -> bool:
        """Whether the graph has a type of this name, or nodes or edges have an array of it."""
        name = key.removesuffix("_dict") if isinstance(key, str) else key
        if name == "edge_index" or name in self.node_types or name in self.edge_types:
            return True
        return isinstance(name, str) and (self.ndata.has(name) or self.edata.has(name))

    def __getitem__(self, key: "Union[str, EdgeType]") -> "Store":
        """The data that ``HeteroData`` has under a type's name: ``rank["paper"].x``, ``rank["author", "writes", "paper"].edge_index``."""
        if key not in self.node_types and key not in self.edge_types:
            raise KeyError(f"{key!r} is not a type of this graph, which has {', '.join(map(str, [*self.node_types, *self.edge_types]))}")
        return Store(self, key)

    @property
    def node_types(self) -> List[str]:
        """Names of the node types."""
        return [name for name, _ in self.ndata.types]

    @property
    def edge_types(self) -> List[EdgeType]:
        """Edge types as (source type, name, destination type)."""
        return [as_edge_type(name) for name, _ in self.edata.types]

    def node_range(self, ntype: str) -> Tuple[int, int]:
        """The range of a type's own nodes among the own nodes."""
        begin = 0
        for name, count in self.ndata.types:
            if name == ntype:
                return begin, begin + count
            begin += count
        raise ValueError(f"unknown node type {ntype!r}; this graph has {', '.join(self.node_types)}")

    def _is_own(self, rows: int) -> bool:
        """Whether a number of rows equals the number of own nodes, of all types or of one."""
        counts = [count for _, count in self.ndata.types]
        return rows in (sum(counts), *counts)

    @property
    def edge_type(self) -> Tensor:
        """Numbers of the edges' types, in the order of ``edge_index``: the data's own numbers, otherwise the partition's."""
        return self.edata["edge_type" if self.edata.has("edge_type") else "_TYPE"]

    @property
    def num_node_features(self) -> int:
        """Columns of ``x``."""
        return self.ndata.width("x")

    num_features = num_node_features

    @property
    def num_edge_features(self) -> int:
        """Columns of ``edge_attr``; 0 without it."""
        return self.edata.width("edge_attr") if self.edata.has("edge_attr") else 0

    @property
    def num_classes(self) -> int:
        """The largest label of all ranks plus 1, or the number of columns of ``y``. One collective the first time."""
        if self._num_classes is None:
            y = self.y
            alone = y.dim() == 1 or y.shape[1] == 1
            rank: Any = self
            self._num_classes = int(rank.all_reduce(int(y.max()) + 1 if len(y) else 0, op="max")) if alone else y.shape[-1]
        return self._num_classes

    def metadata(self) -> "Tuple[List[str], List[EdgeType]]":
        """Node types and edge types, as ``HGTConv`` and ``to_hetero`` take them."""
        return self.node_types, self.edge_types

    @property
    def edge_index(self) -> EdgeIndex:
        """Stands for PyG's ``edge_index`` of the in-edges of own nodes. Modules of PyG take it; the sources may belong to any rank."""
        if self._edge_index is None:
            self._edge_index = EdgeIndex(Columns.whole(Topology(self.graph)))
        return self._edge_index

    @property
    def edge_index_dict(self) -> Dict[EdgeType, EdgeIndex]:
        """An ``edge_index`` per edge type. The first time, one collective per type."""
        if self._edge_index_dict is None:
            self._edge_index_dict = edge_index_dict(self)
        return self._edge_index_dict

    def _array(self, name: str) -> Any:
        """An array of nodes or edges by name, or a dict of it by type; None if it does not exist."""
        table = next((table for table in (self.ndata, self.edata) if table.has(name.removesuffix("_dict"))), None)
        return None if table is None else self._read(table, name)

    def _read(self, table: Table, name: str) -> Any:
        """An array of a table, or with ``_dict`` at the end of its name a dict of it by type. Masks are bool."""
        key = name.removesuffix("_dict")
        same = (lambda values: values.bool()) if key.endswith("_mask") else (lambda values: values)
        if key == name:
            return same(table[key])
        as_type = as_edge_type if table is self.edata else str
        return {as_type(ty): same(values) for ty, values in table.by_type(key).items()}

    def _places_if_one_type(self) -> Optional[Tensor]:
        """The place of each edge in the user's files, if one file has all edges and the partition knows their places."""
        places = self._places_of_edges()
        return places[0] if len(places) == 1 else None

    def _places_of_edges(self) -> List[Optional[Tensor]]:
        """The places of edges in the user's files, by edge type, if the partition knows them."""
        rows = list(self.edata.original_ids().values()) if self.edata.has_original_ids() else []
        _, _, etype, row = self.graph.unkept_edge_arrays()
        result: List[Optional[Tensor]] = []
        begin = 0
        for number, ids in enumerate(rows):
            result.append(ids[row[etype == number] - begin])
            begin += len(ids)
        return result or [None] * len(self.edata.types)


class Store:
    """A rank's data of one type."""

    def __init__(self, rank: RankData, key: "Union[str, EdgeType]") -> None:
        self._rank, self._key = rank, key

    @property
    def num_features(self) -> int:
        """Columns of the type's ``x``, or of the edges' ``edge_attr``; 0 without it."""
        if isinstance(self._key, str):
            return self._rank.ndata.width("x", self._key) if self._rank.ndata.has("x") else 0
        return self._rank.edata.width("edge_attr", ":".join(self._key)) if self._rank.edata.has("edge_attr") else 0

    num_node_features = num_edge_features = num_features

    def __getattr__(self, name: str) -> Any:
        if name == "num_nodes":
            raise AttributeError(f"{self._key} has no 'num_nodes': x.size(0) is the number of own nodes, rank.all_reduce(x.size(0)) that of all ranks")
        values = None if name.startswith("_") else getattr(self._rank, f"{name}_dict")
        if values is None or self._key not in values:
            raise AttributeError(f"{self._key} has no array {name!r}")
        return values[self._key]
