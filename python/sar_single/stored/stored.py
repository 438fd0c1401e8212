"""A partitioned graph on files: rows of any node or edge, and in-edges of all partitions. Reading them is not a collective."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor

from .._engine import Files
from .columns import Column, FileColumn, SharedColumn
from .edge_index import EdgeIndex, Weights, part_edges, write_index
from .partitions import Group, Partitions


class StoredGraph(Partitions):
    """The rows and in-edges of a graph."""

    def __init__(self, files: Files, folder: Path, parts: Sequence[int], group: Group) -> None:
        super().__init__(files, folder, parts, group)
        self._indexes: Dict[Tuple[Optional[int], Union[str, Weights, None], bool], EdgeIndex] = {}
        #: Ids of the edges' ends, once requested.
        self._ends: Optional[SharedColumn] = None

    def rows(self, table: str, key: str, ids: Tensor) -> Tensor:
        """Rows of a feature for nodes (edges) of any partition, by id: ``[len(ids), *]``. ``"_TYPE"`` gives types."""
        return FileColumn(self, table, key).rows(ids)

    def column(self, table: str, value: Any) -> Column:
        """The rows for batches, given by a key, or by a tensor with a row per own node (edge, by id). A tensor is a collective."""
        if isinstance(value, str):
            return FileColumn(self, table, value)
        if isinstance(value, Tensor):
            return SharedColumn.of_own_rows(self, table, value)
        if hasattr(value, "rows"):
            return value
        raise TypeError(f"features are keys of the files or tensors with a row per own {table}, not {type(value).__name__}")

    def in_edges(self, etype: Optional[int] = None, prob: Union[str, Weights, None] = None) -> EdgeIndex:
        """In-edges of a type, or of all, drawn with probabilities from an edge feature or other edge data. One collective the first time."""
        return self._index(etype, prob, outwards=False)

    def out_edges(self, etype: Optional[int] = None, prob: Union[str, Weights, None] = None) -> EdgeIndex:
        """Out-edges likewise; each process searches all partitions' files for the edges of its nodes."""
        return self._index(etype, prob, outwards=True)

    def _index(self, etype: Optional[int], prob: Union[str, Weights, None], outwards: bool) -> EdgeIndex:
        known = self._indexes.get((etype, prob, outwards))
        if known is None:
            weights = FileColumn(self, "edge", prob) if isinstance(prob, str) else prob
            known = self._indexes[etype, prob, outwards] = write_index(self, etype, weights, outwards)
        return known

    def ends(self, edges: Tensor) -> Tensor:
        """Ids of each edge's source and destination, ``[edges, 2]``. One collective the first time."""
        if self._ends is None:
            self._ends = SharedColumn.written(self, "edge", torch.int64, self._ends_of)
        self.edges.check(edges)
        return self._ends.rows(edges)

    def _ends_of(self, part: int) -> Tensor:
        sources, destinations, _, ids = part_edges(self, part)
        ends = torch.empty((len(ids), 2), dtype=torch.int64)
        ends[ids - self.edges.part_firsts[part]] = torch.stack([sources, destinations], 1)
        return ends


def stored(graph: Any) -> StoredGraph:
    """The files of a graph to sample from, given a rank, its graph, or a ``DistGraph``."""
    found: Optional[StoredGraph] = getattr(graph, "_stored", None)
    if found is None:
        raise TypeError(f"samples are drawn from rank.graph or a DistGraph, not from {type(graph).__name__}")
    return found


