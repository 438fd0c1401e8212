"""The rank of this worker, for code of other packages, which cannot pass it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ..worker.rank import Rank

_rank: "Optional[Rank]" = None


def begin(rank: "Rank") -> None:
    """Sets the rank of this process, for good."""
    global _rank
    _rank = rank


def current() -> "Optional[Rank]":
    """The rank of this process; None outside of workers."""
    return _rank


def worker() -> "Rank":
    """The rank of this process, which must be a worker."""
    assert _rank is not None, "only workers have a rank"
    return _rank
