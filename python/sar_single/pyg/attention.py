"""Attention that the engine computes without a row per edge."""

from __future__ import annotations

import operator
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch import Tensor, fx

from ..graph.scope import Scope
from .arguments import Arguments
from .edge_values import AttentionWeights, Scores
from .traced import is_of_pyg, softmax_of_edges, traced

# Whether calls of modules return the edges' weights to the user, or only use them.
RETURNED = Scope(False)


class _Other(Exception):
    """Code that is not attention."""


def attention(module: Any, arguments: Arguments, names: List[str], compute: Callable[[], Tensor]) -> Optional[AttentionWeights]:
    """The weights that ``edge_update`` of a PyG module computes, if it is attention; ``compute`` gives their values."""
    if not is_of_pyg(module) or RETURNED.value:
        return None
    node = None if arguments.columns.topology.graph is None else traced(module, module.edge_update, names, arguments)
    try:
        scores = None if node is None else _scores(module, node, arguments)
    except _Other:
        return None
    return None if scores is None else AttentionWeights(arguments.columns, scores, compute)


def _scores(module: Any, node: fx.Node, arguments: Arguments) -> Optional[Scores]:
    given: Dict[str, Any]
    if _calls(node, torch.nn.functional.dropout):
        given = dict(zip(("input", "p", "training"), node.args), **node.kwargs)
        if given.get("training", True) and given.get("p", 0.5) != 0:
            return None  # Blocks draw by edge.
        node = given["input"]
    if not _calls(node, softmax_of_edges):
        return None
    node = _node(node.args[0])
    vector: Optional[Tensor] = None
    if node.op == "call_method" and node.target == "sum" and (node.args[1:] or (node.kwargs.get("dim"),)) == (-1,):
        product = _node(node.args[0])
        if not _calls(product, operator.mul):
            return None
        node, parameter = map(_node, product.args)
        if parameter.op != "get_attr":
            return None
        vector = module.get_parameter(str(parameter.target))
    if not _calls(node, torch.nn.functional.leaky_relu):
        return None
    given = dict(zip(("input", "negative_slope"), node.args), **node.kwargs)
    ends = _ends(given["input"], arguments)
    slope = float(given.get("negative_slope", 0.01))
    if ends is None or len({end.shape[1:] for end in ends if end is not None}) != 1:
        return None
    source, destination = ends
    if vector is None:
        return Scores(source, destination, None, slope) if source.dim() == 2 else None
    if source.dim() != 3 or destination is None or vector.shape != (1, *source.shape[1:]):
        return None
    return Scores(source, destination, vector[0], slope)


def _ends(node: fx.Node, arguments: Arguments) -> Optional[Tuple[Tensor, Optional[Tensor]]]:
    """The values of sources and destinations whose sum a node of the graph computes."""
    if node.op == "placeholder" and node.target in arguments.sources:
        return arguments.sources[str(node.target)], None
    if not _calls(node, operator.add):
        return None
    names = [str(part.target) for part in map(_node, node.args) if part.op == "placeholder"]
    if len(names) != 2 or names[0] not in arguments.sources:
        names.reverse()
    if len(names) != 2 or names[0] not in arguments.sources or names[1] not in arguments.destinations:
        return None
    return arguments.sources[names[0]], arguments.destinations[names[1]]


def _calls(node: fx.Node, function: Callable[..., Any]) -> bool:
    return node.op == "call_function" and node.target is function


def _node(value: Any) -> fx.Node:
    if not isinstance(value, fx.Node):
        raise _Other
    return value
