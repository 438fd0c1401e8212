"""Data parallel training on samples, with the interface of torch's ``DistributedDataParallel``."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterable, Iterator, Mapping

import torch
from torch import Tensor, nn

from .sar import here


#: Options of torch's class that change no result here: gradients are averaged in one message, and buffers are the same on all ranks.
_INDIFFERENT = {"broadcast_buffers", "bucket_cap_mb", "check_reduction", "dim", "find_unused_parameters", "gradient_as_bucket_view", "static_graph"}

_AVERAGE = "DistributedDataParallel"


class DistributedDataParallel(nn.Module):
    """A model whose gradients are averaged over the ranks at the end of each ``backward``. One collective each.

    The model starts with the parameters of rank 0. ``with model.join():`` lets ranks make different numbers of steps: a rank that has ended
    contributes zeros until all have. Then all get the parameters of the rank that went on longest.
    """

    def __init__(self, module: nn.Module, device_ids: Any = None, output_device: Any = None, **options: Any) -> None:
        super().__init__()
        if device_ids or output_device is not None:
            raise ValueError("device_ids and output_device: tensors of workers are on the CPU, so leave them out")
        unknown = sorted(options.keys() - _INDIFFERENT)
        if unknown:
            raise TypeError(f"DistributedDataParallel of workers does not take {', '.join(unknown)}")
        self.module, self._queued, self._steps, self._syncs = module, False, 0, True
        self._rank = here()
        self._rank.sync_params(module)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The output of the model."""
        result = self.module(*args, **kwargs)
        if torch.is_grad_enabled() and self._syncs:
            for tensor in _tensors(result):
                if tensor.requires_grad:
                    tensor.register_hook(self._queue)
        return result

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A scope in which gradients add up without other ranks; the first ``backward`` after it averages the sums."""
        before, self._syncs = self._syncs, False
        try:
            yield
        finally:
            self._syncs = before

    @contextmanager
    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True) -> Iterator[None]:
        """A scope in which ranks may make different numbers of steps."""
        if not divide_by_initial_world_size:
            raise ValueError("divide_by_initial_world_size is False, but means are over all ranks: a rank that has ended contributes zeros")
        if not enable:
            yield
            return
        self._steps = 0
        yield
        while self._rank._sums(_AVERAGE, []):
            pass
        steps = torch.cat(self._rank.all_gather(torch.tensor([self._steps])))
        if int(steps.min()) < int(steps.max()):
            root = int(steps.argmax())
            with torch.no_grad():
                for tensor in [*self.module.parameters(), *self.module.buffers()]:
                    tensor.copy_(self._rank.broadcast(tensor, root))

    def _queue(self, _: Tensor) -> None:
        """Has gradients averaged at the end of the current backward pass."""
        if not self._queued:
            self._queued = True
            torch.autograd.Variable._execution_engine.queue_callback(self._average)  # type: ignore[attr-defined]

    def _average(self) -> None:
        self._queued = False
        self._steps += 1
        self._rank._add_grads(_AVERAGE, self.module, self._rank.world_size)


def _tensors(result: Any) -> Iterable[Tensor]:
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, Mapping):
        for value in result.values():
            yield from _tensors(value)
    elif isinstance(result, (list, tuple)):
        for value in result:
            yield from _tensors(value)
