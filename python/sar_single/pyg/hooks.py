"""Hooks on messages and edge updates, called with all edges of a rank."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List

from torch import Tensor

Hook = Callable[..., Any]


@contextmanager
def watched(module: Any, function: str, check: Callable[[Callable[[Dict[str, Any]], Any]], None]) -> Iterator[None]:
    """A scope in which hooks of ``function`` may see edges; if they change something, ``check`` gets the function with its hooks.

    Hooks that only look are not called with the made-up edges of a check, which they might keep.
    """
    names = [f"_{function}_forward_{kind}" for kind in ("pre_hooks", "hooks")]
    before, after = (list(vars(module)[name].values()) for name in names)

    def run(given: Dict[str, Any], others: Any) -> Any:
        for hook in before:
            result = hook(module, (*others, given))
            given = given if result is None else _arguments(result)
        output = getattr(module, function)(**given)
        for hook in after:
            result = hook(module, (*others, given), output)
            output = output if result is None else result
        return output

    def watching(hook: Hook) -> Hook:
        def either(module: Any, inputs: Any, *output: Any) -> Any:
            seen = [*_arguments(inputs).values(), *output]
            versions = _versions(seen)
            result = hook(module, inputs, *output)
            made = [] if result is None else [result] if output else _arguments(result).values()
            if _versions(seen) != versions or any(all(value is not known for known in seen) for value in made):
                check(lambda given: run(given, inputs[:-1]))
            return result

        return either

    theirs = {name: vars(module)[name] for name in names}
    vars(module).update({name: OrderedDict((key, watching(hook)) for key, hook in hooks.items()) for name, hooks in theirs.items()})
    try:
        yield
    finally:
        vars(module).update(theirs)


def _arguments(inputs: Any) -> Dict[str, Any]:
    """The arguments of the function, which a hook is given after ``edge_index`` and ``size`` or alone."""
    return inputs[-1] if isinstance(inputs, tuple) else inputs


def _versions(values: List[Any]) -> List[int]:
    return [value._version for value in values if type(value) is Tensor]
