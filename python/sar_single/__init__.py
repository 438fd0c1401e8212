"""Out-of-core training of graph neural networks on one machine.

``run`` trains a PyTorch model of your own, a process per partition; ``partition`` and ``train`` call the ``sar-single`` program.
"""

from . import fn
from ._errors import WorkerError
from ._jobs import Run, inspect, partition, plan, predict, train
from ._run import run

__all__ = [
    "Run",
    "WorkerError",
    "edge_softmax",
    "fn",
    "inspect",
    "nn",
    "partition",
    "patch_dgl",
    "plan",
    "predict",
    "run",
    "train",
]

_LAZY = {"edge_softmax": "._graph", "nn": ".nn", "patch_dgl": "._dgl"}


def __getattr__(name: str) -> object:
    """What needs torch is imported when it is first used: jobs work without it."""
    import importlib

    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_LAZY[name], __name__)
    return module if name == "nn" else getattr(module, name)
