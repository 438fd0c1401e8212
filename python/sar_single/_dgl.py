"""DGL's modules on our graphs: the calls of DGL's compiled core that they make are swapped."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Callable

from ._frontier import Frontier, sample_neighbors, to_block
from ._graph import Graph, Reversed, edge_softmax
from ._imports import change_when_imported, swap
from ._blocks import Blocks


def patch_dgl() -> None:
    """Makes ``edge_softmax``, ``reverse``, ``sample_neighbors`` and ``to_block`` of DGL accept graphs of this package, in every module that
    imports them.

    Workers do this by themselves.
    """
    for name, module in list(sys.modules.items()):
        if name == "dgl" or name.startswith("dgl."):
            _patch(module)
    change_when_imported({name: _patch for name in ("dgl.ops.edge_softmax", "dgl.transforms.functional", "dgl.sampling.neighbor", "dgl.transforms.to_block")})


def _patch(module: ModuleType) -> None:
    swap(module, "edge_softmax", lambda theirs: _either(theirs, edge_softmax))
    swap(module, "reverse", lambda theirs: _either(theirs, _reverse))
    swap(module, "sample_neighbors", lambda theirs: _either(theirs, sample_neighbors))
    swap(module, "to_block", lambda theirs: _either(theirs, to_block))


def _reverse(graph: Graph, *_: Any, **__: Any) -> Reversed:
    return graph.reverse()


def _either(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def either(graph: Any, *args: Any, **kwargs: Any) -> Any:
        return (ours if isinstance(graph, (Graph, Blocks, Frontier)) else theirs)(graph, *args, **kwargs)

    return either
