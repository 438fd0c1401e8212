"""Exceptions of the package."""

from __future__ import annotations

from typing import Optional


class WorkerError(RuntimeError):
    """Raised when a worker cannot go on.

    ``rank`` is the worker (None if no single one is to blame), ``traceback`` the text of its traceback. The exception itself, if it could be
    transferred, is the ``__cause__``.
    """

    def __init__(self, message: str, rank: Optional[int] = None, traceback: str = "") -> None:
        super().__init__(message)
        self.rank = rank
        self.traceback = traceback

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}\n\n{self.traceback}" if self.traceback else message
