"""Graphs of other libraries, converted to the arrays that ``sar-single partition`` reads."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from . import arrays

# PyG's names for arrays of nodes and edges that the command line finds on its own, and the names that it looks for.
DATA_NAMES: Dict[str, Dict[str, Tuple[str, ...]]] = {
    "node": {"x": ("feat", "features"), "y": ("label", "labels")},
    "edge": {"edge_attr": ("feat", "features"), "edge_weight": ("weight",)},
}
_STORED = {name: usual[0] for names in DATA_NAMES.values() for name, usual in names.items()}

# Bytes of the command line that flags of arrays may take. Linux allows 2 MiB, which include the environment.
_COMMAND_LINE = 3 << 19


def data_names(table: str, names: Sequence[str]) -> Dict[str, str]:
    """The PyG name of each array of a type. If several arrays have usual names, the others keep their own."""
    result = {name: name for name in names}
    for name, usual in DATA_NAMES[table].items():
        found = next((known for known in (name, *usual) if known in result), name)
        result[found] = name
    return result


def stored_name(name: str) -> str:
    """The partition's name for an array of PyG's data."""
    return _STORED.get(name, name)


def stored_key(key: str, known: Iterable[str]) -> str:
    """The key that finds an array among the known ones. If none is called ``key``, a name of PyG's finds the array that the partition calls otherwise."""
    names = {name.rpartition("/")[2] for name in known}
    stored = stored_name(key)
    return stored if key not in names and any(name.endswith(stored) for name in names) else key


@dataclass
class _Rows:
    """The rows of an array with these numbers, which are read in pieces."""

    array: Any
    numbers: "np.ndarray[Any, Any]"

    @property
    def shape(self) -> Tuple[int, ...]:
        return (len(self.numbers), *self.array.shape[1:])

    def __getitem__(self, rows: slice) -> Any:
        return self.array[self.numbers[rows]]


@dataclass
class Described:
    """Arrays by type: ``""`` for the only type, otherwise ``type/`` of nodes and ``src:rel:dst`` of edges."""

    edges: Dict[str, Tuple[Any, Any]]
    num_nodes: Dict[str, int] = field(default_factory=dict)
    node_data: Dict[str, Any] = field(default_factory=dict)
    edge_data: Dict[str, Any] = field(default_factory=dict)
    # Whether modules of the graph's library have a row of weights per edge type, in the order of ``edges``.
    numbers_types: bool = False

    def add(self, node_data: Mapping[str, Any], edge_data: Mapping[str, Any], num_nodes: Optional[int]) -> None:
        """Adds arrays that the user passes besides the graph."""
        self.node_data.update(node_data)
        self.edge_data.update(edge_data)
        if num_nodes is not None:
            self.num_nodes = {"": num_nodes}

    def divide(self, name: str) -> None:
        """Makes an edge type of each value of an edge array, as ``--relation-column`` does of a column.

        This takes up to 17 bytes of memory per edge, and 8 until the arrays are written. Edges keep the array, except an ``edge_type`` of the numbers that
        ``rank.edge_type`` has without it.
        """
        if list(self.edges) != [""]:
            raise ValueError(f"relation_column={name!r}: the graph has edge types already: {', '.join(self.edges)}")
        (sources, destinations), data = self.edges[""], self.edge_data
        column = stored_key(name, data)
        if column not in data:
            raise ValueError(f"relation_column={name!r}: edges have {', '.join(data) or 'no arrays'}")
        kinds = arrays.as_numpy(data[column])
        if kinds.dtype.kind not in "iu" or kinds.size != len(kinds):
            raise ValueError(f"relation_column={name!r}: the type of an edge is a whole number, not {kinds.dtype} {list(kinds.shape[1:])}")
        for key, array in data.items():
            if array.shape[0] != sources.shape[0]:
                raise ValueError(f"{key!r} has {array.shape[0]} rows, but there are {sources.shape[0]} edges")
        if kinds.size == 0:
            return
        order = np.argsort(kinds.reshape(-1), kind="stable")
        kinds = kinds.reshape(-1)[order]
        cuts = np.flatnonzero(kinds[1:] != kinds[:-1]) + 1
        values = kinds[np.r_[0, cuts]].tolist()
        if column == "edge_type" and values == list(range(len(values))):
            del data[column]
        self.edges, self.edge_data = {}, {}
        for value, rows in zip(values, np.split(order, cuts)):
            etype = f"_N:{value}:_N"
            self.edges[etype] = _Rows(sources, rows), _Rows(destinations, rows)
            self.edge_data.update({f"{etype}/{key}": _Rows(array, rows) for key, array in data.items()})

    def write(self, folder: Path) -> List[str]:
        """Writes the arrays; returns the flags that name them."""
        self._check_length(folder)
        given: List[str] = []

        def path(kind: str) -> Path:
            return folder / f"{len(given)}.{kind}"

        def add(flag: str, name: str, value: object) -> None:
            given.extend([flag, f"{name}={value}" if name else str(value)])

        def add_arrays(flag: str, name: str, rows: List[Any]) -> None:
            file = path("npy")
            arrays.write(file, rows)
            add(flag, name, file)

        for name, ends in self.edges.items():
            if all(tuple(array.shape) == (2,) for array in ends):
                # Two edges in an array could be either way round; with this name, sources come first.
                file = path("npz")
                np.savez(file, edge_index=np.stack([arrays.as_numpy(array[:]) for array in ends]))
                add("--edges", name, file)
            else:
                add_arrays("--edges", name, list(ends))
        for name, count in self.num_nodes.items():
            add("--num-nodes", name, count)
        for name, array in self.node_data.items():
            add_arrays("--node-data", name, [array])
        for name, array in self.edge_data.items():
            add_arrays("--edge-data", name, [array])
        return given

    def note_order(self, part_json: str) -> None:
        """Prints a note if edge types have other numbers in the partitions than in the graph."""
        partitioned: Dict[str, int] = json.loads(Path(part_json).read_text(encoding="utf-8"))["etypes"]
        for ours, theirs in zip(sorted(partitioned, key=partitioned.__getitem__), self.edges if self.numbers_types else ()):
            if ours != theirs:
                print(
                    f"sar_single: edge type {partitioned[ours]} of the partitions is {ours}, but {theirs} in the graph's canonical_etypes: reorder weights that "
                    "have a row per edge type, as those of RelGraphConv",
                    file=sys.stderr,
                )
                break

    def _check_length(self, folder: Path) -> None:
        """Raises ``ValueError`` if the flags are longer than a command line may be."""
        names = [*self.edges, *self.num_nodes, *self.node_data, *self.edge_data]
        # Two words, the ends of both, and two pointers to them.
        length = sum(len(os.fsencode(f"--edge-data{name}={folder}/{len(names)}.npy")) + 18 for name in names)
        if length > _COMMAND_LINE:
            raise ValueError(
                f"{len(self.edges)} edge types are more than sar.partition can pass to the program: write the edges to a table with a column of their types, "
                "and cut it with sar-single partition --edges TABLE --relation-column NAME"
            )


def describe(graph: Any) -> Described:
    """A graph of DGL, PyG or scipy, or a dataset with one."""
    if hasattr(type(graph), "raw_dir") or hasattr(type(graph), "get_idx_split"):
        return _dataset(graph)
    if hasattr(graph, "canonical_etypes"):
        return _dgl(graph)
    if hasattr(graph, "tocoo"):
        matrix = graph.tocoo()
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"an adjacency matrix is square, not {matrix.shape[0]} x {matrix.shape[1]}")
        return Described({"": (matrix.row, matrix.col)}, {"": matrix.shape[0]}, {}, {"weight": matrix.data})
    if hasattr(graph, "node_types") and hasattr(graph, "edge_types"):
        return _hetero_data(graph)
    if hasattr(graph, "edge_index_dict"):
        return _data_of_dicts(graph)
    if hasattr(graph, "edge_index"):
        return _data(graph)
    raise TypeError(f"{type(graph).__name__} is not a graph of DGL, PyG or scipy.sparse")


def _dgl(graph: Any) -> Described:
    if len(graph.canonical_etypes) == 1 and len(graph.ntypes) == 1:
        edges = graph.edges(order="eid")
        data = dict(graph.ndata), dict(graph.edata)
        return Described({"": (edges[0], edges[1])}, {"": graph.num_nodes()}, *data)
    result = Described({}, {ntype: graph.num_nodes(ntype) for ntype in graph.ntypes}, numbers_types=True)
    for ntype in graph.ntypes:
        result.node_data.update({f"{ntype}/{key}": value for key, value in graph.nodes[ntype].data.items()})
    for etype in graph.canonical_etypes:
        name = ":".join(etype)
        edges = graph.edges(order="eid", etype=etype)
        result.edges[name] = edges[0], edges[1]
        result.edge_data.update({f"{name}/{key}": value for key, value in graph.edges[etype].data.items()})
    return result


def _dataset(dataset: Any) -> Described:
    """The only graph of a dataset of PyG, DGL or OGB. OGB's split indices and labels, which are not in the graph, become node data."""
    if len(dataset) != 1:
        raise ValueError(f"{type(dataset).__name__} has {len(dataset)} graphs, but one is cut: pass one of them, as in dataset[0]")
    graph, labels = dataset[0] if isinstance(dataset[0], tuple) else (dataset[0], None)
    result = describe(graph)
    for name, values in _by_type(labels).items():
        result.node_data[f"{name}label"] = values
    splits = dataset.get_idx_split() if hasattr(dataset, "get_idx_split") else {}
    for split, nodes in splits.items():
        for name, numbers in _by_type(nodes).items():
            mask = np.zeros(result.num_nodes[name.rstrip("/")], dtype=bool)
            mask[arrays.as_numpy(numbers)] = True
            result.node_data[f"{name}{'val' if split == 'valid' else split}_mask"] = mask
    return result


def _by_type(values: Any) -> Dict[str, Any]:
    """Arrays by node type, whose name is followed by a slash; the only type has no name."""
    if values is None:
        return {}
    return {f"{name}/": part for name, part in values.items()} if isinstance(values, Mapping) else {"": values}


def _data(data: Any) -> Described:
    if data.edge_index is None:
        raise ValueError("the graph has no edge_index: leave out a transform that puts adj_t in its place, as ToSparseTensor does")
    result = Described({"": (data.edge_index[0], data.edge_index[1])}, {"": data.num_nodes})
    for key, value in _tensors(data).items():
        if data.is_node_attr(key):
            result.node_data[_free_name(key, data)] = value
        elif data.is_edge_attr(key):
            result.edge_data[_free_name(key, data)] = value
    return result


def _hetero_data(data: Any) -> Described:
    result = Described({}, {ntype: data[ntype].num_nodes for ntype in data.node_types})
    for ntype in data.node_types:
        result.node_data.update({f"{ntype}/{_free_name(key, data[ntype])}": value for key, value in _tensors(data[ntype]).items()})
    for etype in data.edge_types:
        name, store = ":".join(etype), data[etype]
        result.edges[name] = store.edge_index[0], store.edge_index[1]
        result.edge_data.update({f"{name}/{_free_name(key, store)}": value for key, value in _tensors(store).items()})
    return result


def _data_of_dicts(data: Any) -> Described:
    """OGB's form of a heterogeneous graph: a ``Data`` with a dict by type in place of each tensor."""
    result = Described({}, {name: int(count) for name, count in data.num_nodes_dict.items()})
    for etype, edges in data.edge_index_dict.items():
        result.edges[":".join(etype)] = edges[0], edges[1]
    for key, values in data.to_dict().items():
        if key in ("edge_index_dict", "num_nodes_dict") or not isinstance(values, Mapping):
            continue
        name = stored_name(key[: -len("_dict")] if key.endswith("_dict") else key)
        for ty, value in values.items():
            (result.node_data if isinstance(ty, str) else result.edge_data)[f"{ty if isinstance(ty, str) else ':'.join(ty)}/{name}"] = value
    return result


def _free_name(key: str, store: Any) -> str:
    """The name under which an array is stored: ``stored_name``, or its own if the data has another array with that name."""
    return key if stored_name(key) in store else stored_name(key)


def _tensors(store: Any) -> Dict[str, Any]:
    """The tensors of a PyG store except its edges, by name."""
    pairs = store.items() if hasattr(store, "items") else store.to_dict().items()
    tensors = {key: value for key, value in pairs if key != "edge_index" and hasattr(value, "shape") and len(value.shape) > 0}
    pairs_of_nodes = [key for key in tensors if "edge_label" in key]
    for key in pairs_of_nodes:
        del tensors[key]
    if pairs_of_nodes:
        names = " and ".join(pairs_of_nodes)
        print(f"sar_single: {names} are left out, as their rows are not edges: pass them to workers (args=...) and to rank.pairs", file=sys.stderr)
    return tensors
