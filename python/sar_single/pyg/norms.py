"""Normalisation over nodes, with all ranks' statistics."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, Callable, Dict, Optional, Tuple

import torch
from torch import Tensor

from ..graph import over_ranks
from ..graph.tensors import computable
from ..graph.unfit import needs_all
from ..process import current

Forward = Callable[..., Any]

_MESSAGES = "it normalises messages by their mean"


def patch_torch() -> None:
    """Lets torch's batch normalisation use all ranks' statistics."""
    theirs = torch.nn.functional.batch_norm

    @functools.wraps(theirs)
    def batch_norm(
        input: Tensor,
        running_mean: Optional[Tensor],
        running_var: Optional[Tensor],
        weight: Optional[Tensor] = None,
        bias: Optional[Tensor] = None,
        training: bool = False,
        momentum: float = 0.1,
        eps: float = 1e-5,
    ) -> Tensor:
        rank = current.current()
        if rank is None or not training or input.dim() < 2:
            return theirs(input, running_mean, running_var, weight, bias, training, momentum, eps)
        if needs_all(_MESSAGES):
            return input
        return over_ranks.batch_norm(rank, input, running_mean, running_var, weight, bias, momentum, eps)

    torch.nn.functional.batch_norm = batch_norm
    counting = torch.nn.modules.batchnorm._BatchNorm.forward

    @functools.wraps(counting)
    def forward(self: Any, input: Tensor) -> Tensor:
        if current.current() is not None and self.training and needs_all(_MESSAGES):
            return input  # Before it counts a batch.
        return counting(self, input)

    torch.nn.modules.batchnorm._BatchNorm.forward = forward  # type: ignore[method-assign]


def _groups(x: Tensor, batch: Optional[Tensor], size: Optional[int]) -> Tuple[Any, Tensor, int]:
    """The rank, each row's group, and the number of groups on all ranks."""
    rank: Any = current.current()
    if batch is None:
        return rank, x.new_zeros(len(x), dtype=torch.int64), 1
    if size is None:
        size = int(rank.all_reduce(int(batch.max()) + 1 if len(batch) else 0, op="max"))
    return rank, batch, size


def _sums(rank: Any, x: Tensor, batch: Tensor, size: int) -> Tuple[Tensor, Tensor]:
    """The sum of each group's rows, and its number of rows."""
    own = x.new_zeros((size, x.shape[1])).index_add(0, batch, x).double()
    sums = over_ranks.total(rank, torch.cat([own, torch.bincount(batch, minlength=size).double().unsqueeze(1)], 1))
    return sums[:, :-1].to(x.dtype), sums[:, -1:].detach().clamp(min=1).to(x.dtype)


def _mean(rank: Any, x: Tensor, batch: Tensor, size: int) -> Tensor:
    sums, counts = _sums(rank, x, batch, size)
    return sums / counts


def _graph_norm(self: Any, x: Tensor, batch: Optional[Tensor] = None, batch_size: Optional[int] = None) -> Tensor:
    rank, batch, size = _groups(x, batch, batch_size)
    out = x - _mean(rank, x, batch, size)[batch] * self.mean_scale
    std = (_mean(rank, out * out, batch, size) + self.eps).sqrt()[batch]
    return self.weight * out / std + self.bias


def _pair_norm(self: Any, x: Tensor, batch: Optional[Tensor] = None, batch_size: Optional[int] = None) -> Tensor:
    rank, batch, size = _groups(x, batch, batch_size)
    x = x - _mean(rank, x, batch, size)[batch]
    if self.scale_individually:
        return self.scale * x / (self.eps + x.norm(2, -1, keepdim=True))
    return self.scale * x / (self.eps + _mean(rank, x.pow(2).sum(-1, keepdim=True), batch, size)[batch]).sqrt()


def _mean_subtraction(self: Any, x: Tensor, batch: Optional[Tensor] = None, dim_size: Optional[int] = None) -> Tensor:
    rank, batch, size = _groups(x, batch, dim_size)
    return x - _mean(rank, x, batch, size)[batch]


def _graph_size_norm(self: Any, x: Tensor, batch: Optional[Tensor] = None, batch_size: Optional[int] = None) -> Tensor:
    rank, batch, size = _groups(x, batch, batch_size)
    _, counts = _sums(rank, x[:, :0], batch, size)
    return x * counts.pow(-0.5)[batch]


def _layer_norm(self: Any, x: Tensor, batch: Optional[Tensor], batch_size: Optional[int]) -> Tensor:
    """Statistics of all values of a graph."""
    alone = batch is None
    rank, batch, size = _groups(x, batch, batch_size)
    x = x - _mean(rank, x.mean(-1, keepdim=True), batch, size)[batch]
    variance = _mean(rank, (x * x).mean(-1, keepdim=True), batch, size)
    x = x / (variance.sqrt() + self.eps if alone else (variance + self.eps).sqrt())[batch]
    return x if self.weight is None else x * self.weight + self.bias


def _instance_norm(self: Any, x: Tensor, batch: Optional[Tensor], batch_size: Optional[int]) -> Tensor:
    rank, batch, size = _groups(x, batch, batch_size)
    sums, counts = _sums(rank, x, batch, size)
    mean = sums / counts
    x = x - mean[batch]
    squares, _ = _sums(rank, x * x, batch, size)
    if self.running_mean is not None:
        with torch.no_grad():
            self.running_mean = torch.lerp(self.running_mean, mean.mean(0).to(self.running_mean.dtype), self.momentum)
            unbiased = squares / (counts - 1).clamp(min=1)
            self.running_var = torch.lerp(self.running_var, unbiased.mean(0).to(self.running_var.dtype), self.momentum)
    x = x / (squares / counts + self.eps).sqrt()[batch]
    return x if self.weight is None else x * self.weight + self.bias


def _hetero_batch_norm(self: Any, x: Tensor, type_vec: Tensor) -> Tensor:
    """PyG's gradient leaves the statistics out."""
    rank, _, size = _groups(x, type_vec, self.num_types)
    with torch.no_grad():
        sums, counts = _sums(rank, x, type_vec, size)
        mean = sums / counts
        squares, _ = _sums(rank, (x - mean[type_vec]) ** 2, type_vec, size)
        variance = squares / counts
        if self.training and self.track_running_stats:
            if self.momentum is None:
                self.num_batches_tracked.add_(1)
            rate = self.momentum if self.momentum is not None else 1.0 / float(self.num_batches_tracked)
            present = sums.new_zeros(size).index_add(0, type_vec, sums.new_ones(len(x)))
            present = rank.all_reduce(present) > 0
            self.running_mean[present] = torch.lerp(self.running_mean[present], mean[present].to(self.running_mean.dtype), rate)
            self.running_var[present] = torch.lerp(self.running_var[present], variance[present].to(self.running_var.dtype), rate)
    out = (x - mean[type_vec]) / variance.clamp(self.eps).sqrt()[type_vec]
    return out * self.weight[type_vec] + self.bias[type_vec] if self.affine else out


def _like(self: Any, x: Tensor, y: Tensor) -> Tensor:
    """A result of a module in the type that ``x`` and the module's parameters give. Of whole numbers it is a float."""
    start = x.dtype if x.is_floating_point() else y.dtype
    return y.to(functools.reduce(torch.promote_types, [parameter.dtype for parameter in self.parameters()], start))


def _in_workers(name: str, ours: Forward, when: Callable[..., bool] = lambda self: True) -> Callable[[ModuleType], None]:
    """Swaps the forward pass of a class, in workers."""

    def change(module: ModuleType) -> None:
        cls = vars(module)[name]
        theirs = cls.forward

        @functools.wraps(theirs)
        def forward(self: Any, x: Tensor, *args: Any, **kwargs: Any) -> Any:
            if current.current() is None or not when(self):
                return theirs(self, x, *args, **kwargs)
            if needs_all(_MESSAGES):
                return x
            return _like(self, x, ours(self, computable(x), *_defaults(args, kwargs)))

        cls.forward = forward

    return change


def _defaults(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tuple[Any, ...]:
    """``batch`` and its number of groups, by position."""
    given = list(args) + [None] * (2 - len(args))
    given[0] = kwargs.get("batch", given[0])
    given[1] = kwargs.get("batch_size", kwargs.get("dim_size", given[1]))
    return tuple(given)


def _own_statistics(self: Any) -> bool:
    return bool(self.training or not self.track_running_stats)


def _batch_norms(module: ModuleType) -> None:
    hetero, single = module.HeteroBatchNorm, module.BatchNorm
    theirs, theirs_single = hetero.forward, single.forward

    @functools.wraps(theirs)
    def forward(self: Any, x: Tensor, type_vec: Tensor) -> Any:
        ours = current.current() is not None and _own_statistics(self)
        if ours and needs_all(_MESSAGES):
            return x
        return _like(self, x, _hetero_batch_norm(self, computable(x), type_vec)) if ours else theirs(self, x, type_vec)

    @functools.wraps(theirs_single)
    def forward_single(self: Any, x: Tensor) -> Any:
        rank = current.current()
        if rank is None or not self.allow_single_element or not self.training:
            return theirs_single(self, x)
        if needs_all(_MESSAGES):
            return x
        # One node on a rank does not mean one node in the graph, unless it is a value per graph.
        first = rank.all_gather(x[:2].detach())
        if len(first[0] if over_ranks.same(first) else torch.cat(first)) > 1:
            return self.module(x)
        statistics = self.module.running_mean, self.module.running_var, self.module.weight, self.module.bias
        return torch.nn.functional.batch_norm(x, *statistics, False, 0.0, self.module.eps)

    hetero.forward, single.forward = forward, forward_single


NORMS: Dict[str, Callable[[ModuleType], None]] = {
    "torch_geometric.nn.norm.graph_norm": _in_workers("GraphNorm", _graph_norm),
    "torch_geometric.nn.norm.pair_norm": _in_workers("PairNorm", _pair_norm),
    "torch_geometric.nn.norm.mean_subtraction_norm": _in_workers("MeanSubtractionNorm", _mean_subtraction),
    "torch_geometric.nn.norm.graph_size_norm": _in_workers("GraphSizeNorm", _graph_size_norm),
    "torch_geometric.nn.norm.layer_norm": _in_workers("LayerNorm", _layer_norm, lambda self: self.mode == "graph"),
    "torch_geometric.nn.norm.instance_norm": _in_workers("InstanceNorm", _instance_norm, _own_statistics),
    "torch_geometric.nn.norm.batch_norm": _batch_norms,
}
