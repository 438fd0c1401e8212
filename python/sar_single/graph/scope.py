"""Facts about the running code, which hold for everything called inside a ``with`` block."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Generic, Iterator, Optional, TypeVar

T = TypeVar("T")


class Scope(Generic[T]):
    """A value that holds inside ``with scope.of(value)`` in this thread; outside, another value holds."""

    def __init__(self, outside: T) -> None:
        self._outside, self._state = outside, threading.local()

    @property
    def value(self) -> T:
        """The value here."""
        value: T = getattr(self._state, "value", self._outside)
        return value

    @contextmanager
    def of(self, value: T) -> Iterator[None]:
        """A scope in which code finds this value."""
        before = self.value
        self._state.value = value
        try:
            yield
        finally:
            self._state.value = before


# Whether the running code receives messages, all of which are on this rank.
MESSAGES = Scope(False)
# The largest number of messages per node, to which some aggregations pad all nodes' messages.
WIDEST: Scope[Optional[int]] = Scope(None)


@contextmanager
def of_messages(widest: Optional[int] = None) -> Iterator[None]:
    """A scope in which aggregations get messages, all of which are on this rank. Some pad each node's messages to the ``widest`` node's number."""
    with MESSAGES.of(True), WIDEST.of(widest):
        yield
