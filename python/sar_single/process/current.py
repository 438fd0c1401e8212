"""The rank of this worker, for code of other packages, which cannot pass it."""

from __future__ import annotations

from typing import Any

_rank: Any = None


def begin(rank: Any) -> None:
    """Sets the ``Rank`` of this process, for good."""
    global _rank
    _rank = rank


def current() -> Any:
    """The ``Rank`` of this process; None outside of workers."""
    return _rank
