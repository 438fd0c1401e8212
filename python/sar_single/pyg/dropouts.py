"""PyG's dropout of edges and nodes, which draws by places, and so gives each rank another mask."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, Callable, Dict

import torch
from torch import Tensor

from ..graph.dropout import dropped
from ..process.imports import swap
from .edge_index import EdgeIndex

Theirs = Callable[..., Any]


def _draws(edge_index: Any, p: float, training: bool, other: bool) -> bool:
    """Whether edges of a rank are dropped, without ``other`` options."""
    return isinstance(edge_index, EdgeIndex) and training and 0 < p < 1 and not other


def _kept(keys: Tensor, p: float) -> Tensor:
    """A mask of edges or nodes, drawn by their keys."""
    return dropped(torch.ones(len(keys)), keys, p) > 0


def _edge(theirs: Theirs) -> Theirs:
    @functools.wraps(theirs)
    def dropout_edge(edge_index: Any, p: float = 0.5, force_undirected: bool = False, training: bool = True) -> Any:
        if not _draws(edge_index, p, training, force_undirected):
            return theirs(edge_index, p, force_undirected, training)
        mask = _kept(edge_index.columns.keys(), p)
        return edge_index[:, mask], mask

    return dropout_edge


def _adj(theirs: Theirs) -> Theirs:
    @functools.wraps(theirs)
    def dropout_adj(
        edge_index: Any, edge_attr: Any = None, p: float = 0.5, force_undirected: bool = False, num_nodes: Any = None, training: bool = True
    ) -> Any:
        if not _draws(edge_index, p, training, force_undirected):
            return theirs(edge_index, edge_attr, p, force_undirected, num_nodes, training)
        mask = _kept(edge_index.columns.keys(), p)
        return edge_index[:, mask], None if edge_attr is None else edge_attr[mask]

    return dropout_adj


def _node(theirs: Theirs) -> Theirs:
    @functools.wraps(theirs)
    def dropout_node(edge_index: Any, p: float = 0.5, num_nodes: Any = None, training: bool = True, relabel_nodes: bool = False) -> Any:
        if num_nodes is None and isinstance(edge_index, EdgeIndex):
            num_nodes = edge_index.columns.topology.num_nodes
        if not _draws(edge_index, p, training, relabel_nodes):
            return theirs(edge_index, p, num_nodes, training, relabel_nodes)
        nodes = _kept(edge_index.columns.topology.keys_of_destinations(), p)
        mask = nodes[edge_index[0]] & nodes[edge_index[1]]
        return edge_index[:, mask], mask, nodes

    return dropout_node


def _patch(module: ModuleType) -> None:
    for name, ours in (("dropout_edge", _edge), ("dropout_adj", _adj), ("dropout_node", _node)):
        swap(module, name, ours)


DROPOUTS: Dict[str, Callable[[ModuleType], None]] = {"torch_geometric.utils.dropout": _patch}
