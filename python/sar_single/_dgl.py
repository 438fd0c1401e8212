"""DGL's modules on our graphs: the calls of DGL's compiled core that they make are swapped."""

from __future__ import annotations

import sys
from typing import Any, Callable

from ._graph import Graph, Reversed, edge_softmax
from ._loader import Blocks


def patch_dgl() -> None:
    """Lets ``edge_softmax`` and ``reverse`` of DGL, wherever its modules have imported them, take our graphs too.

    Workers call this by themselves if DGL has been imported when they start.
    """
    import dgl.nn  # noqa: F401

    for name, module in list(sys.modules.items()):
        if name == "dgl" or name.startswith("dgl."):
            _swap(module, "edge_softmax", edge_softmax)
            _swap(module, "reverse", _reverse)


def _reverse(graph: Graph, *_: Any, **__: Any) -> Reversed:
    return graph.reverse()


def _swap(module: Any, name: str, ours: Callable[..., Any]) -> None:
    theirs = vars(module).get(name)
    if not callable(theirs) or hasattr(theirs, "_of_sar_single"):
        return

    def either(graph: Any, *args: Any, **kwargs: Any) -> Any:
        return (ours if isinstance(graph, (Graph, Blocks)) else theirs)(graph, *args, **kwargs)

    either._of_sar_single = True  # type: ignore[attr-defined]
    setattr(module, name, either)
