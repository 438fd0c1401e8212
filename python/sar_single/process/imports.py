"""Changes to modules of other packages, made right after the modules' code has run, whoever imports them and whenever."""

from __future__ import annotations

import importlib
import re
import sys
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Callable, Dict, List, Optional, Sequence

Change = Callable[[ModuleType], None]

# Large packages of models. A worker that imports one itself takes 40 to 60 MB for it; workers share what was imported before they were forked.
_SHARED = {"dgl": "dgl.nn", "torch_geometric": "torch_geometric.nn"}


def shared_by(pickled: bytes) -> List[str]:
    """Modules that workers are likely to import: this program has imported them, or the pickled function names them."""
    # A short text has its length before it; a place in pickle's memory follows.
    named = {package: rb"\x8c.%s[.\x94]" % package.encode() for package in _SHARED}
    return [
        module
        for package, module in _SHARED.items()
        if package in sys.modules or re.search(named[package], pickled, re.DOTALL)
    ]


def import_shared(modules: Sequence[str]) -> None:
    """Imports modules before workers are forked. A module that cannot be imported fails where a worker imports it."""
    for module in modules:
        with suppress(Exception):
            importlib.import_module(module)


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
