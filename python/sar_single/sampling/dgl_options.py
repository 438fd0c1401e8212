"""Arguments common to DGL's loaders of nodes and of edges."""

from __future__ import annotations

from typing import Any, Mapping

from torch import Tensor

from ..stored.partitions import Group

#: Options that change no batch: a process draws each batch itself, just before use.
_INDIFFERENT = {
    "num_workers",
    "persistent_workers",
    "pin_memory",
    "pin_prefetcher",
    "prefetch_factor",
    "use_alternate_streams",
    "use_prefetch_thread",
}


def check_options(device: Any, options: Mapping[str, Any]) -> None:
    """Refuses devices and options that loaders do not support here."""
    if device is not None and str(device) != "cpu":
        raise ValueError(f"device is {device}, but blocks are on the CPU")
    unknown = sorted(name for name, value in options.items() if name not in _INDIFFERENT and value not in (None, False))
    if unknown:
        raise TypeError(f"loaders of sar_single do not take {', '.join(unknown)}: leave it out")
    if (options.get("num_workers") or 0) < 0:
        raise ValueError(f"num_workers is {options['num_workers']}, but must be 0 or more")


def share(group: Group, ids: Tensor, drop_last: bool) -> Tensor:
    """This process's share of the ids that all processes name (``use_ddp``), divided as in DGL."""
    size = len(ids) // group.world_size if drop_last else -(-len(ids) // group.world_size)
    return ids[size * group.index : size * (group.index + 1)]
