"""``message`` and ``aggregate`` in blocks of destinations, which the backward pass recomputes.

All in-edges of a node are on its owner, so a range of destinations has all of its edges, and any aggregation of them is exact.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ..graph.keys import Block
from ..graph.scope import of_messages
from ..graph.unfit import INSIDE_BLOCK, Attributes, Unfit
from .arguments import PADDING, Arguments
from .pooling import widest_of

Run = Callable[[Dict[str, Any]], Tensor]

_MISSING = object()


def in_blocks(module: Any, arguments: Arguments, names: Sequence[str], run: Run, per_edge: bool) -> Tensor:
    """Calls ``run`` with the arguments of each block and joins the results: a row per destination, or per edge if ``per_edge``."""
    # The backward pass recomputes outside the call of the module.
    widest = None if per_edge else widest_of(module, arguments.columns)
    dim = module.node_dim if arguments.dims and not per_edge else 0
    values = arguments.in_rows()
    order, cuts = values.columns.blocks(values.edges_of_block())
    topology, drawn = values.columns.topology, Block()
    outputs: List[Tensor] = []
    attributes: List[Dict[str, Tensor]] = []
    for begin, end, first, last in cuts:
        which = slice(begin, end) if order is None else order[begin:end]
        padding = PADDING if end - begin < 2 else 0

        def block(which: Any = which, first: int = first, last: int = last, edges: int = padding + end - begin, padding: int = padding) -> Any:
            def of_edges() -> Tensor:
                keys = values.columns.keys(which)
                return torch.cat([keys[:0].new_zeros(edges - len(keys)), keys])

            def of_nodes() -> Tensor:
                keys = topology.keys_of_destinations()[first:last]
                return torch.cat([keys[:0].new_zeros(bool(padding)), keys])

            rows = {last - first + bool(padding): of_nodes, edges: of_edges}
            try:  # What leaves a checkpoint as an exception leaves its hooks behind in old versions of torch.
                with INSIDE_BLOCK.of(True), of_messages(widest), drawn.of(rows):
                    return called(module, run, values.of_block(names, which, first, last), edges)
            except Exception as problem:
                return problem

        result = checkpoint(block, use_reentrant=False) if torch.is_grad_enabled() and len(cuts) > 1 else block()
        if isinstance(result, Exception):
            raise result
        output, changed = result
        skipped = padding if per_edge else min(padding, 1)
        outputs.append(output.narrow(dim, skipped, output.shape[dim] - skipped))
        attributes.append({name: value[padding:] for name, value in changed.items()})
    for name in attributes[0]:
        setattr(module, name, _in_order([part[name] for part in attributes], order))
    return _in_order(outputs, order) if per_edge else _joined(outputs, dim)


def called(module: Any, run: Run, given: Dict[str, Any], edges: int) -> Tuple[Tensor, Dict[str, Tensor]]:
    """The result of ``run``, and attributes that the module set meanwhile, which are removed from it."""
    output, changed, unfit = tried(module, run, given, edges)
    if unfit is not None:
        raise Unfit(unfit)
    return output, changed


def tried(module: Any, run: Run, given: Dict[str, Any], edges: int) -> Tuple[Tensor, Dict[str, Tensor], Optional[str]]:
    """The same, and the reason why the module changes more than blocks can put together, if it does."""
    attributes = Attributes(module)
    try:
        output = run(given)
        if not isinstance(output, Tensor):
            raise Unfit("its messages are not one tensor")
        changed = {name: value for name, value in vars(module).items() if attributes.before.get(name, _MISSING) is not value}
        inside = attributes.changed_inside()
        unfit = _unfit(changed, edges) if inside is None else f"it changes self.{inside}"
        return output, changed, unfit
    finally:
        attributes.restore()


def _unfit(changed: Dict[str, Any], edges: int) -> Optional[str]:
    for name, value in changed.items():
        if not isinstance(value, Tensor) or value.dim() == 0 or len(value) != edges:
            return f"it sets the attribute {name}"
    return None


def _joined(parts: List[Tensor], dim: int = 0) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim)


def _in_order(parts: List[Tensor], order: Optional[Tensor]) -> Tensor:
    """Edge values, given in the order of destinations, in the order of the columns."""
    joined = _joined(parts)
    if order is None:
        return joined
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    return joined[place]
