"""Collectives of a rank, each noted with its place in the user's program."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any, Callable, List, NamedTuple, Optional, TypeVar

from ..process.call_sites import call_site

Result = TypeVar("Result")

_FILE = "calls"
# Bytes of a note, and letters of a place in it.
_NOTE, _SITE = 512, 100
# Number of notes kept: a rank can be one collective ahead of another.
_KEPT = 4

_ALIKE = "all ranks have to make the same collectives in the same order: make none in a branch or a loop that differs between ranks"

# The engine's operations over edges that wait for other ranks.
_OVER_EDGES = {
    "share_rows": "an operation over edges",
    "share_and_keep": "attention over edges",
    "send_gradients": "the gradient of an operation over edges",
    "send_select_gradients": "the gradient of a maximum or minimum over edges",
    "send_halo_gradients": "the gradient of an operation over edges",
    "send_attention_gradients": "the gradient of attention over edges",
}


class Call(NamedTuple):
    """A collective of a rank: its number, its kind, the place of its call, and whether the rank waits in it."""

    number: int
    what: str
    site: str
    waits: bool

    def __str__(self) -> str:
        return f"{self.what} at {self.site}" if self.site else self.what


class Collectives:
    """Makes a rank's collectives. A file in the folder of the run notes the collective that each rank is in."""

    def __init__(self, folder: str, rank: int, world_size: int) -> None:
        self._rank, self._world_size = rank, world_size
        self._number, self._thread = 0, threading.get_ident()
        self._notes = os.open(Path(folder) / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def call(self, what: str, collective: Callable[..., Result], *args: Any, alike: bool = False, at: Optional[str] = None) -> Result:
        """Calls a function that waits for all ranks. With ``alike``, the collectives of all ranks must have the same ``what``.

        Raises RuntimeError with the places of both ranks if another rank is in another collective.
        """
        self.check_thread()
        site = call_site() if at is None else at
        self._write(what, site, waits=True)
        result = self._explained(self._number, collective, *args)
        for rank in range(self._world_size if alike else 0):
            self._check_alike(what, rank, self._number)
        self._write(what, site, waits=False)
        self._number += 1
        return result

    def check_thread(self) -> None:
        """Refuses threads other than that of the rank."""
        if threading.get_ident() != self._thread:
            raise RuntimeError("collectives and operations over edges belong to the worker's main thread: call the model there")

    def over_edges(self, engine: Any) -> Any:
        """The engine's edges, with noted collectives."""
        return _Edges(engine, self)

    def end(self, collective: Callable[[], None]) -> None:
        """Waits until every rank has reached its end."""
        self.call("the end of the worker", collective, at="")

    def after(self, reading: Callable[..., Result], *args: Any) -> Result:
        """Calls a function that reads the arrivals of the last collective."""
        return self._explained(self._number - 1, reading, *args)

    def message(self, what: str, reading: Callable[[int], Result], rank: int) -> Result:
        """Calls a function that reads what a rank has sent to the last collective, which must be ``what`` there, too."""
        result = self.after(reading, rank)
        self._check_alike(what, rank, self._number - 1)
        return result

    def last(self, other: int) -> str:
        """Places at which this rank and another one called this rank's last collective."""
        return self._places(other, self._number - 1)

    def _explained(self, number: int, function: Callable[..., Result], *args: Any) -> Result:
        try:
            return function(*args)
        except RuntimeError as error:
            other = re.match(r"rank \d+ is in .*, but rank (\d+) sent", str(error))
            if other is None:
                raise
            raise RuntimeError(f"{error}\n{self._places(int(other[1]), number)}") from None

    def _check_alike(self, what: str, rank: int, number: int) -> None:
        other = None if rank == self._rank else self._read(rank, number)
        if other is not None and other.what != what:
            text = f"rank {self._rank} is in {what}, but rank {rank} is in {other.what}"
            raise RuntimeError(f"{text}\nhint: {_ALIKE}\n{self._places(rank, number)}")

    def _places(self, other: int, number: int) -> str:
        calls = {rank: self._read(rank, number) for rank in (self._rank, other)}
        return "\n".join(f"rank {rank}: {call}" for rank, call in calls.items() if call is not None)

    def _write(self, what: str, site: str, waits: bool) -> None:
        note = "\t".join([str(self._number), what, site[-_SITE:], "waits" if waits else ""])
        os.pwrite(self._notes, note.encode().ljust(_NOTE, b"\0"), _place(self._rank, self._number))

    def _read(self, rank: int, number: int) -> Optional[Call]:
        """A rank's collective by number; None if its note is gone."""
        call = _call(os.pread(self._notes, _NOTE, _place(rank, number)))
        return call if call is not None and call.number == number else None


class _Edges:
    """The engine's edges."""

    def __init__(self, engine: Any, collectives: Collectives) -> None:
        self._engine, self._collectives = engine, collectives

    def __getattr__(self, name: str) -> Any:
        self._collectives.check_thread()
        found = getattr(self._engine, name)
        if not callable(found):
            return found
        what = _OVER_EDGES.get(name)
        if what is None:
            return lambda *args: self._collectives.after(found, *args)
        return lambda *args: self._collectives.call(what, found, *args)


def waiting(folder: Path) -> List[str]:
    """Ranks that wait in a collective, and their places."""
    path = folder / _FILE
    content = path.read_bytes() if path.exists() else b""
    found: List[str] = []
    for rank in range(-(-len(content) // (_NOTE * _KEPT))):
        calls = [_call(content[at : at + _NOTE]) for at in (_place(rank, number) for number in range(_KEPT))]
        last = max((call for call in calls if call is not None), default=None)
        if last is not None and last.waits:
            found.append(f"rank {rank} waits: {last}")
    return found


def _place(rank: int, number: int) -> int:
    return (rank * _KEPT + number % _KEPT) * _NOTE


def _call(note: bytes) -> Optional[Call]:
    parts = note.rstrip(b"\0").decode(errors="replace").split("\t")
    return Call(int(parts[0]), parts[1], parts[2], parts[3] == "waits") if len(parts) == 4 else None
