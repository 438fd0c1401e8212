"""Out-of-core training of graph neural networks on one machine.

``run`` trains your own PyTorch model, with a process per partition; ``partition`` and ``train`` call the ``sar-single`` program.
"""

from . import _absent, fn
from ._errors import WorkerError
from ._jobs import Run, inspect, partition, plan, predict, train
from ._run import run
from .pyg.errors import Refused

_LAZY = {
    "BlockSampler": "._samplers",
    "DataLoader": "._node_loader",
    "DistNeighborSampler": "._samplers",
    "DistributedDataParallel": "._data_parallel",
    "EdgeDataLoader": "._edge_loader",
    "GraphShardManager": "._sar",
    "NodeDataLoader": "._node_loader",
    "Uniform": "._edge_loader",
    "check": ".checking.check",
    "construct_full_graph": "._sar",
    "construct_mfgs": "._sar",
    "edge_softmax": "._graph",
    "gather_grads": "._sar",
    "load_dgl_partition_data": "._sar",
    "patch_dgl": "._dgl",
    "rank": "._sar",
    "sample_neighbors": "._frontier",
    "suffix_key_lookup": "._sar",
    "sync_params": "._sar",
    "to_block": "._frontier",
    "world_size": "._sar",
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
