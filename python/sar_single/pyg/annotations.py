"""Annotations of the user's modules, which PyG evaluates."""

from __future__ import annotations

import sys
from typing import Any, Dict


def patch_inspector(module: Any) -> None:
    """Lets annotations name what a worker lacks: the program's ``__main__``, and modules whose classes were pickled by value, are not there."""
    cls, theirs = module.Inspector, module.Inspector.eval_type

    def eval_type(self: Any, value: Any) -> Any:
        try:
            return theirs(self, value)
        except NameError:
            return value

    def names(self: Any) -> Dict[str, Any]:
        return {name: value for known in self._modules if known in sys.modules for name, value in vars(sys.modules[known]).items()}

    cls.eval_type, cls._globals = eval_type, property(names)
