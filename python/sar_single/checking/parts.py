"""A small graph from partitions."""

from __future__ import annotations

from typing import Any, Dict, Optional

from ..commands.graphs import Described
from ..stored.table import Table
from ..worker.rank import Rank
from .small import small


def of_rank(rank: Rank, nodes: int) -> Described:
    """The rank's own nodes in ``small``, and the edges among them."""
    several = len(rank.node_types) > 1 or len(rank.edge_types) > 1
    graph = Described({}, {name if several else "": count for name, count in rank.ndata.types})
    source, destination, types, row = rank.graph.edge_arrays()
    inside = source < rank.graph.num_nodes()
    firsts: Dict[str, int] = {name: rank.node_range(name)[0] for name in rank.node_types}
    begin = 0
    for number, (name, count) in enumerate(rank.edata.types):
        which = inside & (types == number)
        ends = name.split(":")
        graph.edges[name if several else ""] = source[which] - firsts[ends[0]], destination[which] - firsts[ends[2]]
        for key, values in _arrays(rank.edata, number).items():
            graph.edge_data[f"{name}/{key}" if several else key] = values[row[which] - begin]
        begin += count
    for number, name in enumerate(rank.node_types):
        for key, values in _arrays(rank.ndata, number).items():
            graph.node_data[f"{name}/{key}" if several else key] = values
    return small(graph, nodes)


def _arrays(table: Table, number: int) -> Dict[str, Any]:
    return {key.rpartition("/")[2]: table._read(index) for index, (key, ty, _, _) in enumerate(table._arrays) if ty == number}


def best(graphs: "list[Described]") -> Optional[Described]:
    """The graph with the most training nodes; among equals the one with the most edges."""

    def size(graph: Described) -> Any:
        train = sum(int(values.sum()) for key, values in graph.node_data.items() if key.rpartition("/")[2] == "train_mask")
        return train > 0, sum(len(source) for source, _ in graph.edges.values())

    return max(graphs, key=size, default=None)
