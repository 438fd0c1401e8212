"""Threads of the process from which workers are forked. A worker has none of them, and what they hold stays locked there."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, Dict, List, Optional, Tuple

# Seconds for which threads are observed, and seconds that a thread has to sleep to count as idle.
_PATIENCE = 1.0
_IDLE = 0.02


class Watch:
    """A module finder that finds no module; it records which import has started a thread."""

    def __init__(self) -> None:
        self._import = ""
        self._started_by: Dict[str, str] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Records threads that started since the previous import."""
        self.look()
        self._import = name

    def look(self) -> None:
        """Records new threads."""
        for thread in _others():
            self._started_by.setdefault(thread, self._import)

    def check(self) -> None:
        """Waits until all other threads sleep.

        Raises RuntimeError, which names the threads that do not, and the imports that started them.
        """
        self.look()
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        end = time.monotonic() + _PATIENCE
        while True:
            before = _runs()
            if not before:
                return
            time.sleep(_IDLE)
            after = _runs()
            busy = [thread for thread, runs in after.items() if runs is None or before.get(thread) != runs]
            if not busy:
                return
            if time.monotonic() > end:
                names = ", ".join(self._described(thread) for thread in busy)
                raise RuntimeError(
                    f"workers cannot be forked while another thread works: {names}\n"
                    "hint: import that inside the worker, or start the thread there"
                )

    def _described(self, thread: str) -> str:
        for known in threading.enumerate():
            if str(known.native_id) == thread:
                module = getattr(getattr(known, "_target", None), "__module__", None) or type(known).__module__
                return f"{known.name!r} of the module {module!r}"
        return f"{_name(thread)!r}, which the import of {self._started_by.get(thread, '')!r} started"


def watch() -> Watch:
    """Starts to watch imports."""
    finder = Watch()
    finder.look()
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    return finder


def _others() -> List[str]:
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:  # The system does not report it.
        return []
    return [thread for thread in threads if thread != str(os.getpid())]


def _runs() -> Dict[str, Optional[Tuple[str, ...]]]:
    """Number of times that each other thread has run; None for a running thread."""
    runs: Dict[str, Optional[Tuple[str, ...]]] = {}
    for thread in _others():
        try:
            with open(f"/proc/self/task/{thread}/status") as file:
                lines = dict(line.split(":", 1) for line in file if ":" in line)
        except OSError:  # It has ended.
            continue
        switches = lines.get("voluntary_ctxt_switches", ""), lines.get("nonvoluntary_ctxt_switches", "")
        runs[thread] = switches if lines.get("State", "").strip().startswith("S") else None
    return runs


def _name(thread: str) -> str:
    try:
        with open(f"/proc/self/task/{thread}/comm") as file:
            return file.read().strip()
    except OSError:
        return thread
