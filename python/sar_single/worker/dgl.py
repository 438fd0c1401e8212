"""DGL's modules on graphs of this package: replaces their calls of DGL's compiled core."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Callable

from ..graph.graph import Graph, Reversed, edge_softmax
from ..process.imports import change_when_imported, swap
from ..sampling.blocks import Blocks
from ..sampling.edge_loader import EdgeDataLoader
from ..sampling.frontier import Frontier, sample_neighbors, to_block
from ..sampling.node_loader import NodeDataLoader


def patch_dgl() -> None:
    """Makes DGL's ``edge_softmax``, ``reverse``, ``sample_neighbors`` and ``to_block`` accept graphs of this package, in every module that imports
    them.

    For these graphs, DGL's ``DataLoader`` becomes ``sar.NodeDataLoader``, or ``sar.EdgeDataLoader`` with a sampler of edges. Workers call this by
    themselves, and elsewhere a ``DistGraph`` does.
    """
    for name, module in list(sys.modules.items()):
        if name == "dgl" or name.startswith("dgl."):
            _patch(module)
    change_when_imported({name: _patch for name in ("dgl.dataloading.dataloader", "dgl.ops.edge_softmax", "dgl.transforms.functional", "dgl.sampling.neighbor", "dgl.transforms.to_block")})


def _patch(module: ModuleType) -> None:
    swap(module, "edge_softmax", lambda theirs: _either(theirs, edge_softmax))
    swap(module, "reverse", lambda theirs: _either(theirs, _reverse))
    swap(module, "sample_neighbors", lambda theirs: _either(theirs, sample_neighbors))
    swap(module, "to_block", lambda theirs: _either(theirs, to_block))
    if module.__name__.startswith("dgl.dataloading"):
        swap(module, "DataLoader", _loader)


def _reverse(graph: Graph, *_: Any, **__: Any) -> Reversed:
    return graph.reverse()


def _loader(theirs: Any) -> Any:
    """DGL's class; for graphs of this package, it makes loaders of this package."""
    if not theirs.__module__.startswith("dgl."):
        return theirs

    class DataLoader(theirs):  # type: ignore[misc]
        def __new__(cls, graph: Any, indices: Any, graph_sampler: Any, *args: Any, **options: Any) -> Any:
            if getattr(graph, "_stored", None) is None:
                return super().__new__(cls)
            if not hasattr(graph_sampler, "reverse_etypes"):
                return NodeDataLoader(graph, indices, graph_sampler, *args, **options)
            options.update({name: getattr(graph_sampler, name) for name in ("exclude", "reverse_eids", "reverse_etypes", "negative_sampler")})
            return EdgeDataLoader(graph, indices, graph_sampler.sampler, **{**dict(zip(_POSITIONAL, args)), **options})

    return DataLoader


#: Arguments of DGL's loader after the sampler.
_POSITIONAL = ("device", "use_ddp", "ddp_seed", "batch_size", "drop_last", "shuffle")


def _either(theirs: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def either(graph: Any, *args: Any, **kwargs: Any) -> Any:
        return (ours if isinstance(graph, (Graph, Blocks, Frontier)) else theirs)(graph, *args, **kwargs)

    return either
