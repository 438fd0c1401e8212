"""Reasons why a module computes all edges of a rank at once."""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from ..process import current
from .scope import Scope

_SAID: Set[Tuple[str, str]] = set()

# Whether the running code sees only some of a rank's edges.
INSIDE_BLOCK = Scope(False)
# While code is tried with made-up edges: the reasons why it needs all edges.
MADE_UP: Scope[Optional[List[str]]] = Scope(None)


class Unfit(Exception):
    """A module cannot run in blocks of edges. All ranks find out together, because it depends only on the program."""


class Attributes:
    """A module's attributes at one time, and what its lists and dicts have in them."""

    def __init__(self, module: Any) -> None:
        self._of = vars(module)
        self.before: Dict[str, Any] = dict(self._of)
        self._contents = {name: value.copy() for name, value in self.before.items() if isinstance(value, (list, dict))}

    def changed_inside(self) -> Optional[str]:
        """The name of a list or dict whose contents have changed, if there is one."""
        return next((name for name, content in self._contents.items() if not _same(self.before[name], content)), None)

    def restore(self) -> None:
        """Sets the module's attributes to what they were."""
        self._of.clear()
        self._of.update(self.before)
        for name, content in self._contents.items():
            value = self.before[name]
            if not _same(value, content):
                value.clear()
                (value.extend if isinstance(value, list) else value.update)(content)


def _same(one: Any, other: Any) -> bool:
    """Whether two lists (dicts) have the same objects in the same places."""
    pairs = zip(one, other) if isinstance(one, list) else zip((*one, *one.values()), (*other, *other.values()))
    return len(one) == len(other) and all(a is b for a, b in pairs)


def needs_all(reason: str) -> bool:
    """Called by code that must see all edges of a rank at once, because it adds up over them. True for made-up edges: the code then has to return
    what it is given.
    """
    reasons = MADE_UP.value
    if reasons is not None:
        reasons.append(reason)
        return True
    if INSIDE_BLOCK.value:
        raise Unfit(reason)
    return False


def untried(module: Any, functions: Sequence[str], error: Optional[Exception]) -> Unfit:
    """The reason for functions of a module that fail with made-up edges, here or (without an ``error``) on another rank."""
    name = f"{type(module).__name__}.{' and '.join(functions)}"
    text = "on another rank" if error is None else f"{type(error).__name__}: {error}".splitlines()[0]
    return Unfit(
        f"{name} could not be tried with made-up edges ({text}); if it relates edges to one another, other than by "
        "their destinations, its values are wrong: compare it with one partition by sar.check"
    )


def note(module: Any, reason: str) -> None:
    """Says once, on rank 0, that a module of this class, or a function, holds messages of all edges."""
    rank = current.current()
    name = getattr(module, "__qualname__", type(module).__name__)
    if rank is None or rank.index > 0 or (name, reason) in _SAID:
        return
    _SAID.add((name, reason))
    print(f"sar_single: {name} computes the messages of all edges of a rank at once: {reason}", file=sys.stderr, flush=True)
