"""A small graph from partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional

from ..commands.graphs import Described
from .small import small

if TYPE_CHECKING:
    from ..worker.rank import Rank


def of_rank(rank: "Rank", nodes: int) -> Described:
    """The rank's own nodes in ``small``, and the edges among them."""
    several = len(rank.node_types) > 1 or len(rank.edge_types) > 1
    graph = Described({}, {name if several else "": count for name, count in rank._engine.ntypes})
    source, destination, types, row = rank.graph.edge_arrays()
    inside = source < rank.graph.num_nodes()
    firsts: Dict[str, int] = {name: rank.node_range(name)[0] for name in rank.node_types}
    begin = 0
    for number, (name, count) in enumerate(rank._engine.etypes):
        which = inside & (types == number)
        ends = name.split(":")
        graph.edges[name if several else ""] = source[which] - firsts[ends[0]], destination[which] - firsts[ends[2]]
        for key, values in _arrays(rank, "edge", number).items():
            graph.edge_data[f"{name}/{key}" if several else key] = values[row[which] - begin]
        begin += count
    for number, name in enumerate(rank.node_types):
        for key, values in _arrays(rank, "node", number).items():
            graph.node_data[f"{name}/{key}" if several else key] = values
    return small(graph, nodes)


def _arrays(rank: "Rank", table: str, number: int) -> Dict[str, Any]:
    arrays = rank.ndata if table == "node" else rank.edata
    found = enumerate(rank._engine.arrays(table))
    return {key.rpartition("/")[2]: arrays._read(index) for index, (key, ty, _, _) in found if ty == number}


def best(graphs: "list[Described]") -> Optional[Described]:
    """The graph with the most training nodes; among equals the one with the most edges."""

    def size(graph: Described) -> Any:
        train = sum(int(values.sum()) for key, values in graph.node_data.items() if key.rpartition("/")[2] == "train_mask")
        return train > 0, sum(len(source) for source, _ in graph.edges.values())

    return max(graphs, key=size, default=None)
