"""Out-of-core training of graph neural networks on one machine.

``run`` trains your own PyTorch model, with a process per partition; ``partition`` and ``train`` call the ``sar-single`` program.
"""

from . import _absent, fn
from ._errors import WorkerError
from .commands.jobs import Run, inspect, partition, plan, predict, train
from .pyg.errors import Refused
from .worker.run import run

_LAZY = {
    "BlockSampler": ".sampling.samplers",
    "DataLoader": ".sampling.node_loader",
    "DistNeighborSampler": ".sampling.samplers",
    "DistributedDataParallel": ".worker.data_parallel",
    "EdgeDataLoader": ".sampling.edge_loader",
    "GraphShardManager": ".worker.sar",
    "NodeDataLoader": ".sampling.node_loader",
    "Uniform": ".sampling.edge_loader",
    "check": ".checking.check",
    "construct_full_graph": ".worker.sar",
    "construct_mfgs": ".worker.sar",
    "edge_softmax": ".graph.graph",
    "gather_grads": ".worker.sar",
    "load_dgl_partition_data": ".worker.sar",
    "patch_dgl": ".worker.dgl",
    "rank": ".worker.sar",
    "sample_neighbors": ".sampling.frontier",
    "suffix_key_lookup": ".worker.sar",
    "sync_params": ".worker.sar",
    "to_block": ".sampling.frontier",
    "world_size": ".worker.sar",
}
_MODULES = ("dist", "nn")

__all__ = [
    *_LAZY,
    *_MODULES,
    "Refused",
    "Run",
    "WorkerError",
    "fn",
    "inspect",
    "partition",
    "plan",
    "predict",
    "run",
    "train",
]


def __getattr__(name: str) -> object:
    """Imports the parts that need torch on first use, so that jobs work without it."""
    import importlib

    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name], __name__), name)
    reason = _absent.REASONS.get(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}" + (f": {reason}" if reason else ""))
