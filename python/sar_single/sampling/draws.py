"""Keys of random draws: inside a batch a function of the batch, elsewhere from torch's generator."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator, Optional

import torch

_generator: Optional[torch.Generator] = None


def generator() -> Optional[torch.Generator]:
    """The generator of the batch being made; None elsewhere, for torch's."""
    return _generator


def next_key() -> int:
    """A key for one draw."""
    return int(torch.randint(1 << 62, (), generator=_generator))


@contextmanager
def drawing(key: int) -> Iterator[None]:
    """A scope in which keys depend on ``key`` alone."""
    global _generator
    before, _generator = _generator, torch.Generator().manual_seed(key)
    try:
        yield
    finally:
        _generator = before
