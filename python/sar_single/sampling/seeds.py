"""Nodes with which a rank's batches begin."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)


def own_numbers(seeds: Any, node_ids: Any, first: int, count: int, of: str) -> Tensor:
    """The numbers of seeds among ``count`` own nodes, whose ids in the partitioned graph begin at ``first``: from a mask or numbers (``seeds``), or
    from ids (``node_ids``).

    Raises ValueError for a node that is not the rank's own or is named twice, and TypeError for anything but nodes.
    """
    if (seeds is None) == (node_ids is None):
        raise TypeError(
            "pass either seeds (a mask of the rank's nodes, or their numbers from 0 on) or node_ids (their ids in the partitioned graph)"
        )
    name, given = ("seeds", seeds) if node_ids is None else ("node_ids", node_ids)
    values = _tensor(name, given)
    if values.dtype in (torch.bool, torch.uint8) and node_ids is None:
        return _of_mask(values, count, of)
    if values.dtype not in _INTEGERS:
        raise TypeError(f"{name} has elements of type {str(values.dtype).split('.')[1]}, but nodes are integers or a mask of bool")
    numbers = values.long() - (first if node_ids is not None else 0)
    outside = (numbers < 0) | (numbers >= count)
    if bool(outside.any()):
        stranger, last = int(values[outside][0]), first + count - 1
        if node_ids is not None:
            raise ValueError(f"node_ids: {stranger} is not a node of {of}, which has {_range(first, count)}")
        hint = f"; ids in the partitioned graph ({first} to {last}) are node_ids" if first <= stranger <= last else ""
        raise ValueError(f"seeds: {stranger} is not a node of {of}, whose nodes have the numbers {_range(0, count)}{hint}")
    twice = torch.nonzero(torch.bincount(numbers, minlength=1) > 1).flatten()
    if len(twice):
        hint = "; a mask has elements of type bool: seeds.bool()" if node_ids is None and _looks_like_a_mask(values, count) else ""
        raise ValueError(f"{name}: node {int(twice[0]) + (first if node_ids is not None else 0)} occurs more than once{hint}")
    return numbers


def _tensor(name: str, given: Any) -> Tensor:
    values = torch.as_tensor(given)
    if values.dim() != 1:
        raise TypeError(f"{name} has the shape {list(values.shape)}, but must have one dimension")
    return values.long() if len(values) == 0 and values.is_floating_point() else values


def _of_mask(mask: Tensor, count: int, of: str) -> Tensor:
    if len(mask) != count:
        raise ValueError(f"seeds: a mask of {len(mask)} values, but {of} has {count} nodes")
    if mask.dtype == torch.uint8 and bool((mask > 1).any()):
        raise TypeError("seeds: a mask has 0 and 1 only; numbers of nodes have a signed type, such as int64")
    return torch.nonzero(mask).flatten()


def _looks_like_a_mask(values: Tensor, count: int) -> bool:
    return len(values) == count and bool(((values == 0) | (values == 1)).all())


def _range(first: int, count: int) -> str:
    return f"{first} to {first + count - 1}" if count else "none"
