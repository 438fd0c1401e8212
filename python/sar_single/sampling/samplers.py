"""Samplers of blocks: SAR's, and base classes for a program's own."""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from ..graph.graph import Block
from ..stored.columns import Column
from ..stored.stored import StoredGraph, stored
from .blocks import Blocks
from .frontier import Fanout, Frontier, node_ids, sample_neighbors, to_block


class _Nodes(NamedTuple):
    input_nodes: Tensor
    output_nodes: Tensor
    blocks: Blocks


class Batch(_Nodes):
    """A mini-batch as from DGL's loaders: ``input_nodes``, ``output_nodes`` and ``blocks``. Node ids belong to the partitioned graph, int64.
    ``num_new`` is the number of output nodes that are new as seeds in this epoch: all, or 0 in a batch that repeats.
    """

    num_new: int


class BlockSampler:
    """Base class of a program's own sampler, whose ``sample_frontier`` draws the edges of a layer.

    Makes ``num_layers`` blocks, the output layer's first, as DGL's former class of this name.
    """

    def __init__(self, num_layers: int, return_eids: bool = False) -> None:
        if num_layers < 1:
            raise ValueError(f"num_layers is {num_layers}, but must be 1 or more")
        self.num_layers, self.return_eids = num_layers, return_eids

    def sample_frontier(self, block_id: int, g: Any, seed_nodes: Tensor) -> Frontier:
        """The edges of layer ``block_id`` (0 is the input layer) that end at ``seed_nodes``, such as ``sample_neighbors(g, seed_nodes, 5)``."""
        raise NotImplementedError(f"{type(self).__name__} has no sample_frontier")

    def sample_blocks(self, g: Any, seed_nodes: Any, exclude_eids: Optional[Tensor] = None) -> Batch:
        """Input nodes, output nodes and blocks of the given seeds, without the excluded edges."""
        seeds = nodes = node_ids(stored(g), seed_nodes)
        blocks: List[Block] = []
        for layer in reversed(range(self.num_layers)):
            frontier = self.sample_frontier(layer, g, nodes)
            if exclude_eids is not None:
                frontier = frontier.without(torch.as_tensor(exclude_eids))
            block = to_block(frontier, nodes)
            blocks.insert(0, block)
            nodes = block.srcdata["_ID"]
        return Batch(nodes, seeds, Blocks(blocks))

    def sample(self, g: Any, seeds: Any) -> Blocks:
        """The blocks of the given seeds."""
        return self.sample_blocks(g, seeds).blocks


class DistNeighborSampler(BlockSampler):
    """SAR's sampler: draws neighbours of any partition, layer by layer, and adds features to the blocks.

    ``fanouts`` has the number of in-edges to draw per node and layer, the input layer's first; -1 takes all, and a dict has a number per edge type.
    A number counts the edges of all types together, in a ``DistGraph`` those of each type, as in DGL.
    Probabilities are proportional to the values of the edge feature ``prob``; ``replace`` lets an edge be drawn repeatedly.

    Features are keys of the files, or tensors with a row per own node (edge, in the order of ``rank.edata``), which other ranks read as they are when
    the loader is made: ``input_node_features`` become ``blocks[0].srcdata``, ``output_node_features`` become ``blocks[-1].dstdata``, and
    ``edge_features`` the ``edata`` of every block. Types that lack a feature have zeros.
    """

    def __init__(
        self,
        fanouts: Sequence[Fanout],
        prob: Optional[str] = None,
        replace: bool = False,
        input_node_features: Optional[Mapping[str, Any]] = None,
        output_node_features: Optional[Mapping[str, Any]] = None,
        output_device: Any = "cpu",
        *,
        edge_features: Optional[Mapping[str, Any]] = None,
    ) -> None:
        if output_device is not None and str(output_device) != "cpu":
            raise ValueError(f"output_device is {output_device}, but blocks of workers are on the CPU")
        self.fanouts = list(fanouts)
        if not self.fanouts:
            raise ValueError("fanouts has a number for each layer")
        super().__init__(len(self.fanouts))
        self.prob, self.replace = prob, replace
        self._given = input_node_features or {}, output_node_features or {}, edge_features or {}
        self._columns: "Optional[tuple[StoredGraph, List[Dict[str, Column]]]]" = None

    def bind(self, g: Any) -> List[Dict[str, Column]]:
        """The columns of inputs, outputs and edges. The first time, a collective for each tensor."""
        graph = stored(g)
        if self._columns is None or self._columns[0] is not graph:
            tables = "node", "node", "edge"
            found = [
                {name: graph.column(table, self._in_order(g, table, value)) for name, value in sorted(given.items())}
                for table, given in zip(tables, self._given)
            ]
            self._columns = graph, found
        return self._columns[1]

    def sample_frontier(self, block_id: int, g: Any, seed_nodes: Tensor) -> Frontier:
        """Draws the in-edges of a layer."""
        draw = getattr(g, "sample_neighbors", None) or partial(sample_neighbors, g)
        frontier: Frontier = draw(seed_nodes, self.fanouts[block_id], prob=self.prob, replace=self.replace)
        return frontier

    def sample_blocks(self, g: Any, seed_nodes: Any, exclude_eids: Optional[Tensor] = None) -> Batch:
        """Input nodes, output nodes and blocks of the given seeds, with their features."""
        inputs, outputs, edges = self.bind(g)
        batch = super().sample_blocks(g, seed_nodes, exclude_eids)
        for name, column in inputs.items():
            batch.blocks[0].srcdata[name] = column.rows(batch.input_nodes)
        for name, column in outputs.items():
            batch.blocks[-1].dstdata[name] = column.rows(batch.output_nodes)
        for name, column in edges.items():
            for block in batch.blocks:
                block.edata[name] = column.rows(block.edata["_ID"])
        return batch

    @staticmethod
    def _in_order(g: Any, table: str, value: Any) -> Any:
        """A tensor of edges by id, from one in the order of the rank's graph."""
        if table != "edge" or not isinstance(value, Tensor) or not hasattr(g, "edge_arrays"):
            return value
        row = g.edge_arrays()[3]
        if len(value) != len(row):
            return value  # Refused with both numbers where it is stored.
        by_id = value.new_empty(value.shape)
        by_id[row] = value
        return by_id
