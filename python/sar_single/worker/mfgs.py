"""Layer graphs of a model whose outputs are needed for some nodes only: SAR's message flow graphs."""

from __future__ import annotations

from typing import Any, List

import torch
from torch import Tensor

from .._engine import Edges
from ..graph.frames import Frame
from ..graph.graph import Graph
from ..graph.tensors import place
from ..sampling.frontier import places, set_types
from ..sampling.seeds import own_numbers
from ..stored.edge_index import part_edges
from ..stored.stored import StoredGraph
from .rank import Rank


class LayerGraph(Graph):
    """The edges of one layer, from the nodes that it needs, ``input_nodes``, to the first ``num_dst_nodes()`` of these.

    ``input_nodes`` are numbers of own nodes: the input of a model is ``features[graphs[0].input_nodes]``. Operations are pauses, as on
    ``rank.graph``.
    """

    is_block = True
    _called = "a graph of construct_mfgs"

    def __init__(self, engine: Edges, files: StoredGraph, input_nodes: Tensor, first_node: int, first_edge: int) -> None:
        super().__init__(engine)
        self.input_nodes, self.seed_nodes = input_nodes, input_nodes[: engine.num_nodes]
        self.srcdata = Frame(len(input_nodes), "sources")
        self.dstdata = Frame(engine.num_nodes, "destinations")
        self.srcdata["_ID"] = input_nodes + first_node
        self.dstdata["_ID"] = self.seed_nodes + first_node
        self.edata["_ID"] = self.edge_arrays()[3] + first_edge
        set_types(self, files)


def construct_mfgs(rank: Rank, seed_nodes: Any, n_layers: int) -> List[LayerGraph]:
    """The graphs of the layers, the input layer's first, of a model whose outputs are needed for ``seed_nodes``, own nodes by their ids in the
    partitioned graph. Four collectives per layer.
    """
    files, first = rank._stored, rank.first_node
    if n_layers < 1:
        raise ValueError(f"n_layers is {n_layers}, but must be 1 or more")
    wanted = own_numbers(None, seed_nodes, first, rank.graph.num_nodes(), f"rank {rank.index}") + first
    sources, destinations, types, ids = part_edges(files, rank.index)
    layers: List[LayerGraph] = []
    for _ in range(n_layers):
        chosen = torch.isin(destinations, wanted)
        source, owner = sources[chosen], files.nodes.part_of(sources[chosen])
        asked_for = [torch.unique(source[owner == part]) for part in range(rank.world_size)]
        asked = rank.all_to_all(asked_for)
        here = torch.unique(torch.cat(asked))
        rows = torch.cat([wanted, here[~torch.isin(here, wanted)]])
        found = rank.all_to_all([places(rows, nodes) for nodes in asked])
        counts = torch.cat(rank.all_gather(torch.tensor([len(rows)])))
        row = torch.empty_like(source)
        for part in range(rank.world_size):
            there = owner == part
            row[there] = found[part][torch.searchsorted(asked_for[part], source[there])]
        columns = [counts, owner, row, places(wanted, destinations[chosen]), types[chosen], ids[chosen]]
        columns = [column.contiguous() for column in columns]
        engine = rank._collectives.call("construct_mfgs", rank._engine.layer, len(wanted), *map(place, columns), alike=True)
        layers.insert(0, LayerGraph(rank._collectives.over_edges(engine), files, rows - first, first, rank.first_edge))
        wanted = rows
    return layers
