"""A small part of a graph, cut so that mistakes show."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np

from .._program import call, flags
from ..commands.arrays import as_numpy
from ..commands.graphs import Described

Array = Any

PARTS = 3


def small(graph: Described, nodes: int) -> Described:
    """About ``nodes`` nodes of a graph with the edges among them; floating-point numbers become float64."""
    counts = {name: int(count) for name, count in graph.num_nodes.items()} or _counted(graph)
    edges = {name: (as_numpy(source), as_numpy(destination)) for name, (source, destination) in graph.edges.items()}
    kept = _chosen(graph, counts, edges, nodes)
    numbers = {name: np.cumsum(mask) - 1 for name, mask in kept.items()}
    result = Described({}, {name: int(mask.sum()) for name, mask in kept.items()})
    rows: Dict[str, Array] = {}
    for name, (source, destination) in edges.items():
        begin, end = _ends(name)
        rows[name] = np.flatnonzero(kept[begin][source] & kept[end][destination])
        result.edges[name] = numbers[begin][source[rows[name]]], numbers[end][destination[rows[name]]]
    for key, values in graph.node_data.items():
        result.node_data[key] = _exact(values, np.flatnonzero(kept[key.rpartition("/")[0]]))
    for key, values in graph.edge_data.items():
        result.edge_data[key] = _exact(values, rows[key.rpartition("/")[0]])
    return result


def cut(graph: Described, folder: Path) -> Tuple[str, str]:
    """Writes a graph in one partition and in three of different sizes; returns the paths of the JSON files.

    As far as there are other nodes, the third partition has no training nodes, and the second no validation nodes.
    """
    given = graph.write(folder)
    whole = call(["partition", *given, *flags({"num_parts": 1, "out": folder / "whole"})], show=False).strip()
    draw = np.random.default_rng(1)
    assignments: List[str] = []
    for number, (name, count) in enumerate(graph.num_nodes.items()):
        place = draw.random(count)
        part = np.zeros(count, dtype=np.int64)
        part[~_mask(graph, name, count, "val_mask") & (place < 0.45)] = 1
        part[~_mask(graph, name, count, "train_mask") & (place > 0.65)] = 2
        path = folder / f"assignment-{number}"
        path.write_text("".join(f"{value}\n" for value in part))
        assignments.append(f"{name}={path}" if name else str(path))
    options = {"num_parts": PARTS, "method": "file", "assignment": assignments, "out": folder / "parts"}
    return whole, call(["partition", *given, *flags(options)], show=False).strip()


def _mask(graph: Described, name: str, count: int, key: str) -> Array:
    values = graph.node_data.get(f"{name}/{key}" if name else key)
    return np.zeros(count, dtype=bool) if values is None else as_numpy(values).astype(bool)


def _ends(name: str) -> Tuple[str, str]:
    parts = name.split(":")
    return parts[0], parts[-1]


def _counted(graph: Described) -> Dict[str, int]:
    rows = [len(values) for values in graph.node_data.values()]
    return {"": rows[0] if rows else max(int(as_numpy(end).max(initial=-1)) + 1 for ends in graph.edges.values() for end in ends)}


def _exact(values: Any, rows: Array) -> Array:
    chosen = as_numpy(values[rows])
    return chosen.astype(np.float64) if chosen.dtype.kind == "f" else chosen


def _chosen(graph: Described, counts: Dict[str, int], edges: Dict[str, Tuple[Array, Array]], nodes: int) -> Dict[str, Array]:
    """The kept nodes of each type: some training nodes with labels, and nodes with edges to them."""
    if sum(counts.values()) <= nodes:
        return {name: np.ones(count, dtype=bool) for name, count in counts.items()}
    share = -(-nodes // len(counts))
    draw = np.random.default_rng(0)
    kept: Dict[str, Array] = {}
    for name, count in counts.items():
        kept[name] = np.zeros(count, dtype=bool)
        train = np.flatnonzero(_mask(graph, name, count, "train_mask"))
        first = train if len(train) else np.arange(count)
        kept[name][draw.choice(first, min(len(first), max(1, share // 10)), replace=False)] = True
    for _ in range(8):
        for name, (source, destination) in edges.items():
            begin, end = _ends(name)
            room = share - int(kept[begin].sum())
            found = np.unique(source[kept[end][destination]])
            found = found[~kept[begin][found]]
            kept[begin][draw.permutation(found)[: max(0, min(room, share // 4))]] = True
    for name, mask in kept.items():
        others = np.flatnonzero(~mask)
        kept[name][draw.permutation(others)[: max(0, share - int(mask.sum()))]] = True
    return kept
