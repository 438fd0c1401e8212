"""Dropout in workers as a function of the node or edge: the same for any partitioning, and different on each rank."""

from __future__ import annotations

import functools
from typing import Optional, Tuple

import torch
from torch import Tensor

from .functions import WithAdjoint
from .keys import Keyed, drawn, keyed


# Elements drawn at a time: few enough for their 64-bit numbers to stay in the cache.
_PIECE = 1 << 13

# Odd constants of 64 bits.
_ROW, _COLUMN = -0x61C8864680B583EB, 0x2545F4914F6CDD1D
_FACTORS = -0x40A7B892E31B1A47, -0x6B2FB644ECCEEE15


def _dropout(x: Tensor, keys: Tensor, probability: float, seed: int) -> Tensor:
    """Dropout that keeps only keys and seed for the backward pass."""
    how = functools.partial(_dropped, keys=keys.contiguous(), probability=probability, seed=seed)
    result: Tensor = WithAdjoint.apply(how, how, x)
    return result


def _dropped(x: Tensor, keys: Tensor, probability: float, seed: int) -> Tensor:
    y = x.clone(memory_format=torch.contiguous_format)
    rows = y.flatten(1) if y.dim() > 1 else y.unsqueeze(1)
    columns = torch.arange(rows.shape[1]) * _COLUMN + seed
    piece = max(1, _PIECE // max(1, rows.shape[1]))
    for part, of in zip(rows.split(piece), keys.split(piece)):
        part.mul_(_mixed(of.unsqueeze(1) * _ROW + columns) >= int(probability * 2**32)).div_(1 - probability)
    return y


def _mixed(x: Tensor) -> Tensor:
    """32 bits of each number that depend on all of its bits (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014)."""
    for factor, shift in zip(_FACTORS, (30, 27)):
        x = (x ^ (x >> shift) & (1 << 64 - shift) - 1) * factor
    return (x >> 31 ^ x) & (1 << 32) - 1


def dropped(x: Tensor, keys: Tensor, probability: float) -> Tensor:
    """``x`` after dropout, drawn by the keys of its rows."""
    return _dropout(x, keys, probability, drawn())


def keyed_rows(x: Tensor) -> Optional[Tuple[Keyed, int]]:
    """Keys of a tensor's rows, and their dimension: the first one, or the last but one, as in ``[stacks, nodes, width]``. Parameters have no rows
    there.
    """
    for dim in (0, -2) if x.dim() > 2 and not isinstance(x, torch.nn.Parameter) else (0,)[: x.dim()]:
        rows = keyed(x.shape[dim])
        if rows is not None:
            return rows, dim
    return None


def patch_dropout() -> None:
    """Makes ``torch.nn.functional.dropout`` draw by node and edge in workers. Tensors with other rows are left to torch, whose draws are the same on
    all ranks.
    """
    theirs = torch.nn.functional.dropout

    @functools.wraps(theirs)
    def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        fits = training and 0 < p < 1 and isinstance(input, Tensor) and type(input) in (Tensor, torch.nn.Parameter)
        found = keyed_rows(input) if fits and input.is_floating_point() else None
        if found is None:
            return theirs(input, p, training, inplace)
        rows, dim = found
        result = _dropout(input.movedim(dim, 0), rows.keys, p, rows.seed).movedim(0, dim).contiguous()
        return input.copy_(result) if inplace else result

    torch.nn.functional.dropout = dropout
