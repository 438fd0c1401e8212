"""Functions of a module as graphs of operations, found by calling them with symbols."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, Optional

import torch
from torch import fx

from ..graph.unfit import Attributes
from .arguments import Arguments

class _Index:
    """Stands for the edges' ``index``, which is not empty."""

    def numel(self) -> int:
        """The number of edges."""
        return 1


def traced(module: Any, function: Callable[..., Any], names: List[str], arguments: Arguments) -> Optional[fx.Node]:
    """The result of a function with these arguments, as a graph node; None if it depends on values."""
    tracer = fx.Tracer()
    tracer.root, tracer.graph = module, fx.Graph()
    given: Dict[str, Any] = {}
    for name in names:
        known = arguments.others.get(name)
        is_tensor = name in arguments.tensors() or isinstance(known, torch.Tensor) or name in ("dim_size", "size_i")
        given[name] = _Index() if name == "index" else tracer.create_proxy("placeholder", name, (), {}) if is_tensor else known
    attributes = Attributes(module)
    try:
        output = function(**given)
        unchanged = vars(module) == attributes.before and attributes.changed_inside() is None
        return output.node if isinstance(output, fx.Proxy) and unchanged else None
    except Exception:  # Code that cannot be traced runs in blocks, where its errors show.
        return None
    finally:
        attributes.restore()


def is_of_pyg(module: Any) -> bool:
    """Whether PyG has written the module's ``forward``, so that its variables are not the user's."""
    return str(type(module).forward.__module__).startswith("torch_geometric.")


def softmax_of_edges(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """PyG's ``softmax``, which is one operation for ``traced``."""
    @functools.wraps(theirs)
    def softmax(src: Any, index: Any = None, ptr: Any = None, num_nodes: Any = None, dim: int = 0) -> Any:
        if isinstance(src, fx.Proxy) and isinstance(index, _Index) and ptr is None and dim == 0:
            return src.tracer.create_proxy("call_function", softmax_of_edges, (src,), {})
        return theirs(src, index, ptr, num_nodes, dim)

    return softmax
