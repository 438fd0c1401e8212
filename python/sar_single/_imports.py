"""Changes to modules of other packages, made right after the modules' code has run, whoever imports them and whenever."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Dict, Optional, Sequence

Change = Callable[[ModuleType], None]


class _Changes(MetaPathFinder):
    """A finder that leaves the search to others, and changes a module after its execution."""

    def __init__(self) -> None:
        self._changes: Dict[str, Change] = {}

    def add(self, changes: Dict[str, Change]) -> None:
        self._changes.update(changes)
        for name, change in changes.items():
            if name in sys.modules:
                change(sys.modules[name])
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[ModuleSpec]:
        change = self._changes.get(fullname)
        if change is None:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            _run_after(spec.loader, change)
        return spec


def _run_after(loader: Any, change: Change) -> None:
    theirs = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        theirs(module)
        change(module)

    loader.exec_module = exec_module


_FINDER = _Changes()


def change_when_imported(changes: Dict[str, Change]) -> None:
    """Calls ``changes[name]`` with the module of that name, now or on import."""
    _FINDER.add(changes)


def swap(module: ModuleType, name: str, made: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replaces a function of a module by ``made(function)``, once."""
    theirs = vars(module).get(name)
    if callable(theirs) and not hasattr(theirs, "_of_sar_single"):
        ours = made(theirs)
        ours._of_sar_single = True  # type: ignore[attr-defined]
        setattr(module, name, ours)
