"""Graphs of other libraries, as the arrays that ``sar-single partition`` reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import _arrays

# PyG's names for what the command line looks for under these.
_NAMES = {"x": "feat", "y": "label", "edge_attr": "feat", "edge_weight": "weight"}


@dataclass
class Described:
    """Arrays by where they belong: ``""`` for the only type, else ``type/`` of nodes and ``src:rel:dst`` of edges."""

    edges: Dict[str, Tuple[Any, Any]]
    num_nodes: Dict[str, int] = field(default_factory=dict)
    node_data: Dict[str, Any] = field(default_factory=dict)
    edge_data: Dict[str, Any] = field(default_factory=dict)

    def add(self, node_data: Mapping[str, Any], edge_data: Mapping[str, Any], num_nodes: Optional[int]) -> None:
        """Adds arrays that the user names besides the graph."""
        self.node_data.update(node_data)
        self.edge_data.update(edge_data)
        if num_nodes is not None:
            self.num_nodes = {"": num_nodes}

    def write(self, folder: Path) -> List[str]:
        """Writes the arrays; gives the flags that name them."""
        given: List[str] = []

        def add(flag: str, name: str, arrays: List[Any]) -> None:
            path = folder / f"{len(given)}.npy"
            _arrays.write(path, arrays)
            given.extend([flag, f"{name}={path}" if name else str(path)])

        for name, (source, destination) in self.edges.items():
            add("--edges", name, [source, destination])
        for name, count in self.num_nodes.items():
            given.extend(["--num-nodes", f"{name}={count}" if name else str(count)])
        for name, array in self.node_data.items():
            add("--node-data", name, [array])
        for name, array in self.edge_data.items():
            add("--edge-data", name, [array])
        return given


def plain(edge_index: Tuple[Any, Any]) -> Described:
    """Edges as two arrays."""
    source, destination = edge_index[0], edge_index[1]
    return Described({"": (source, destination)})


def describe(graph: Any) -> Described:
    """A graph of DGL, PyG or scipy."""
    if hasattr(graph, "canonical_etypes"):
        return _dgl(graph)
    if hasattr(graph, "tocoo"):
        matrix = graph.tocoo()
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"an adjacency matrix is square, not {matrix.shape[0]} x {matrix.shape[1]}")
        return Described({"": (matrix.row, matrix.col)}, {"": matrix.shape[0]}, {}, {"weight": matrix.data})
    if hasattr(graph, "node_types") and hasattr(graph, "edge_types"):
        return _hetero_data(graph)
    if hasattr(graph, "edge_index"):
        return _data(graph)
    raise TypeError(f"{type(graph).__name__} is not a graph of DGL, PyG or scipy.sparse")


def _dgl(graph: Any) -> Described:
    if len(graph.canonical_etypes) == 1 and len(graph.ntypes) == 1:
        edges = graph.edges(order="eid")
        data = dict(graph.ndata), dict(graph.edata)
        return Described({"": (edges[0], edges[1])}, {"": graph.num_nodes()}, *data)
    result = Described({}, {ntype: graph.num_nodes(ntype) for ntype in graph.ntypes})
    for ntype in graph.ntypes:
        result.node_data.update({f"{ntype}/{key}": value for key, value in graph.nodes[ntype].data.items()})
    for etype in graph.canonical_etypes:
        name = ":".join(etype)
        edges = graph.edges(order="eid", etype=etype)
        result.edges[name] = edges[0], edges[1]
        result.edge_data.update({f"{name}/{key}": value for key, value in graph.edges[etype].data.items()})
    return result


def _data(data: Any) -> Described:
    result = Described({"": (data.edge_index[0], data.edge_index[1])}, {"": data.num_nodes})
    for key, value in _tensors(data):
        if data.is_node_attr(key):
            result.node_data[_NAMES.get(key, key)] = value
        elif data.is_edge_attr(key):
            result.edge_data[_NAMES.get(key, key)] = value
    return result


def _hetero_data(data: Any) -> Described:
    result = Described({}, {ntype: data[ntype].num_nodes for ntype in data.node_types})
    for ntype in data.node_types:
        result.node_data.update({f"{ntype}/{_NAMES.get(key, key)}": value for key, value in _tensors(data[ntype])})
    for etype in data.edge_types:
        name = ":".join(etype)
        edges = data[etype].edge_index
        result.edges[name] = edges[0], edges[1]
        result.edge_data.update({f"{name}/{_NAMES.get(key, key)}": value for key, value in _tensors(data[etype])})
    return result


def _tensors(store: Any) -> List[Tuple[str, Any]]:
    """The tensors of a PyG store but its edges."""
    pairs = store.items() if hasattr(store, "items") else store.to_dict().items()
    return [(key, value) for key, value in pairs if key != "edge_index" and hasattr(value, "shape") and len(value.shape) > 0]
