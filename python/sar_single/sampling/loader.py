"""Mini-batches of sampled neighbours."""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, Optional, Protocol

import torch
from torch import Tensor

from ..stored.partitions import Group
from .draws import drawing


class Batches(Protocol):
    """Makes batches of one form."""

    def batch(self, seeds: Tensor, num_new: int) -> Any:
        """The batch of the given seeds, by id."""


class Loader:
    """Batches of a rank's seeds with sampled neighbours, which may belong to any partition. Each iteration is an epoch.

    All ranks get the same number of batches: a rank with fewer repeats its own (with other neighbours), and one without seeds gets batches
    without seeds, unless it has ``spare`` ones of another rank. ``batches`` are seeds that are put together already. Without ``seed``, order and draws
    depend on that of torch, which is another one in each run unless the program sets it.
    """

    def __init__(
        self,
        group: Group,
        seeds: Tensor,
        make: Batches,
        batch_size: int,
        *,
        shuffle: bool,
        seed: Optional[int] = None,
        ddp_seed: int = 0,
        drop_last: bool = False,
        batches: Optional[List[Tensor]] = None,
        spare: bool = False,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}, but must be 1 or more")
        self._group, self._seeds, self._make, self._batch_size = group, seeds, make, batch_size
        self._shuffle, self._epoch, self._grouped = shuffle, 0, batches
        self._seed, self._ddp_seed = seed, ddp_seed
        whole, rest = divmod(len(seeds), batch_size)
        self._own = len(batches) if batches is not None else whole + (rest > 0 and not drop_last)
        everyone = torch.stack(group.all_gather(torch.tensor([self._own, len(seeds)])))
        self._batches = int(everyone[:, 0].max())
        # With drop_last, a rank may have seeds but no whole batch of them: it repeats its seeds.
        self._repeated = seeds
        if spare and self._batches and not bool(everyone[:, 1].all()):
            bringing = int(everyone[:, 1].argmax())
            parts = group.all_gather(seeds[:batch_size] if group.index == bringing else seeds[:0])
            self._repeated = seeds if len(seeds) else parts[bringing]

    def __len__(self) -> int:
        return self._batches

    def set_epoch(self, epoch: int) -> None:
        """Sets the order of the next iteration, as in torch's ``DistributedSampler``. Without a call, each iteration has a different order."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        self._epoch += 1
        seed = (torch.initial_seed() if self._seed is None else self._seed) + self._ddp_seed
        draw = torch.Generator().manual_seed((seed * 1_000_003 + self._epoch * 1_009 + self._group.index) % (1 << 64))
        count = len(self._seeds) if self._grouped is None else self._own
        order = torch.randperm(count, generator=draw) if self._shuffle else torch.arange(count)
        for number in range(self._batches):
            chosen = self._repeated[: self._batch_size] if self._own == 0 else self._chosen(order, number % self._own)
            key = int(torch.randint(1 << 62, (), generator=draw))
            with drawing(key):
                batch = self._make.batch(chosen, len(chosen) if number < self._own else 0)
            yield batch

    def _chosen(self, order: Tensor, number: int) -> Tensor:
        """The seeds of one of the rank's own batches."""
        if self._grouped is not None:
            return self._grouped[int(order[number])]
        begin = number * self._batch_size
        return self._seeds[order[begin : begin + self._batch_size]]


class Collated:
    """Batches from a program's own function."""

    def __init__(self, collate_fn: Callable[[Tensor], Any]) -> None:
        self._collate_fn = collate_fn

    def batch(self, seeds: Tensor, num_new: int) -> Any:
        """The result of the function for a batch of seeds."""
        return self._collate_fn(seeds)
