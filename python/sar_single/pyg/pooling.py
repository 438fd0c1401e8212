"""Values per graph, over all ranks' nodes."""

from __future__ import annotations

import functools
import inspect
from types import ModuleType
from typing import Any, Callable, Dict, Optional, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..graph import over_ranks
from ..graph.scope import MESSAGES, WIDEST, of_messages
from ..graph.tensors import computable
from ..process import current
from ..process.imports import swap
from .columns import Columns
from .ends import Ends
from .errors import refused
from .places import Destinations

# Aggregations with a value over all ranks, by class name.
_KINDS = {"SumAggregation": "sum", "MeanAggregation": "mean", "MaxAggregation": "max", "MinAggregation": "min"}


def widest_of(module: Any, columns: Columns) -> Optional[int]:
    """The largest number of messages per node on all ranks, if the module's aggregation depends on it. In this case one collective."""
    if not isinstance(module.aggr_module, torch.nn.Module) or not any(map(_fills_up, module.aggr_module.modules())):
        return None
    rank: Any = current.current()
    degrees = torch.bincount(columns.destination, minlength=1)
    return int(rank.all_reduce(degrees.max(), op="max"))


def _fills_up(module: Any) -> bool:
    return hasattr(module, "to_dense_batch") and "max_num_elements" in inspect.signature(module.forward).parameters


class _Extreme(torch.autograd.Function):
    """The largest value per group and column over all ranks' rows. Equal values share the gradient."""

    @staticmethod
    def forward(ctx: Any, rank: Any, x: Tensor, batch: Tensor, size: int) -> Tensor:
        spread = batch.view(-1, *[1] * (x.dim() - 1)).expand_as(x)
        own = x.new_full((size, *x.shape[1:]), float("-inf")).scatter_reduce(0, spread, x, "amax")
        largest = rank.all_reduce(own, op="max")
        chosen = x == largest[batch]
        wide = computable(x).dtype
        counts = rank.all_reduce(torch.zeros(largest.shape, dtype=wide).index_add(0, batch, chosen.to(wide)))
        ctx.rank = rank
        ctx.save_for_backward(chosen, batch, counts.clamp(min=1))
        return largest.masked_fill(torch.isneginf(largest), 0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gy: Tensor) -> Tuple[None, Tensor, None, None]:
        chosen, batch, counts = ctx.saved_tensors
        shares = ctx.rank.all_reduce(gy.contiguous()) / counts
        return None, (shares[batch] * chosen).to(gy.dtype), None, None


def _num_graphs(rows: int, batch: Optional[Tensor], size: Optional[int]) -> Optional[int]:
    """The number of graphs on all ranks; None if the rows are those of a sampled batch. One collective if there is something to agree on."""
    rank: Any = current.current()
    given = size is not None or batch is None
    if size is None:
        size = 1 if batch is None else int(batch.max()) + 1 if len(batch) else 0
    if given and rank._batch_sizes is None:
        return size
    # A rank without rows does as the others, and so does one whose batch has as many rows as there are own nodes.
    may_be = rows in (rank._batch_sizes or ())
    facts = torch.tensor([size, rows > 0 and may_be and not rank._is_own(rows), rows > 0 and not may_be])
    most, sampled, other = rank.all_reduce(facts, op="max").tolist()
    return None if sampled and not other else int(most)


def _pooled(x: Tensor, batch: Optional[Tensor], size: int, how: str) -> Tensor:
    """A row per graph, the same on every rank. The gradient is the sum of the ranks' gradients."""
    rank: Any = current.current()
    if batch is None:
        batch = x.new_zeros(len(x), dtype=torch.int64)
    if how in ("max", "min"):
        sign = 1 if how == "max" else -1
        result: Tensor = sign * _Extreme.apply(rank, sign * x, batch, size)
        return result
    wide = computable(x) if x.is_floating_point() else x
    sums = over_ranks.total(rank, wide.new_zeros((size, *x.shape[1:])).index_add(0, batch, wide))
    if how == "sum":
        return sums.to(x.dtype)
    counts = rank.all_reduce(torch.bincount(batch, minlength=size)).clamp(min=1)
    mean = sums / counts.view(-1, *[1] * (sums.dim() - 1))
    return mean.to(x.dtype) if x.is_floating_point() else mean


def _global(how: str, theirs: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(theirs)
    def pool(x: Tensor, batch: Optional[Tensor], size: Optional[int] = None) -> Any:
        if current.current() is None or MESSAGES.value:
            return theirs(x, batch, size)
        graphs = _num_graphs(len(x), batch, size)
        if graphs is not None:
            return _pooled(x, batch, graphs, how)
        with of_messages():
            return theirs(x, batch, size)

    return pool


def _patch_functions(module: ModuleType) -> None:
    for how, name in (("sum", "add"), ("mean", "mean"), ("max", "max")):
        setattr(module, f"global_{name}_pool", _global(how, vars(module)[f"global_{name}_pool"]))


def _patch_aggregation(module: ModuleType) -> None:
    """Aggregations of messages may read the numbers of destinations, because they give a row to each; other aggregations are over all ranks."""
    cls: Any = vars(module)["Aggregation"]
    theirs = cls.__call__

    @functools.wraps(theirs)
    def call(
        self: Any, x: Any, index: Any = None, ptr: Any = None, dim_size: Any = None, dim: int = -2, *args: Any, **kwargs: Any
    ) -> Any:
        widest = WIDEST.value
        if widest is not None and _fills_up(self) and getattr(self, "max_num_elements", None) is None:
            # The class's own counts belong to a block.
            kwargs.setdefault("max_num_elements", widest + (type(self).__name__ == "PatchTransformerAggregation"))
        if isinstance(index, Ends):
            if isinstance(index.place, Destinations) and not index.spread and dim_size == index.place.count:
                index = index.numbers
            with of_messages(widest):
                return theirs(self, x, index, ptr, dim_size, dim, *args, **kwargs)
        if current.current() is None or MESSAGES.value:
            return theirs(self, x, index, ptr, dim_size, dim, *args, **kwargs)
        graphs = _num_graphs(x.size(dim % x.dim()), index, dim_size)
        if graphs is None:
            with of_messages():
                return theirs(self, x, index, ptr, dim_size, dim, *args, **kwargs)
        how = _KINDS.get(type(self).__name__)
        if how is None or ptr is not None or dim % x.dim() != 0 or args or kwargs:
            why = "it aggregates the rows of this rank only"
            raise refused(type(self).__name__, "a rank's rows", why, "use sum, mean, max or min, which are over all ranks")
        return _pooled(x, index, graphs, how)

    cls.__call__ = call


def _group(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """HANConv weights edge types' results by a mean over nodes."""

    @functools.wraps(theirs)
    def group(xs: Any, q: Tensor, k_lin: Any) -> Any:
        rank: Any = current.current()
        if rank is None or len(xs) == 0:
            return theirs(xs, q, k_lin)
        rows = torch.stack(list(xs))
        sums = over_ranks.total(rank, torch.tanh(k_lin(rows)).sum(1))
        mean = sums / max(1, rank.all_reduce(rows.shape[1]))
        weights = torch.softmax((q * mean).sum(-1), 0)
        return (weights.view(-1, 1, 1) * rows).sum(0), weights

    return group


POOLING: Dict[str, Callable[[ModuleType], None]] = {
    "torch_geometric.nn.pool.glob": _patch_functions,
    "torch_geometric.nn.conv.han_conv": lambda module: swap(module, "group", _group),
    "torch_geometric.nn.aggr.base": _patch_aggregation,
}
