"""Refuses ``message`` and ``edge_update`` that relate edges to one another other than by their destinations.

They see a block of a rank's edges, so a mean over their rows is not one over all edges. They are called once with made-up edges, whose number
divides no other size: wherever a size is a multiple of it, there are edges.
"""

from __future__ import annotations

from functools import partial
from itertools import count
from traceback import walk_stack
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .._call_sites import call_site
from .._dropout import dropped
from .._keys import Block
from .arguments import Arguments
from .blocks import called
from .ends import Ends
from .errors import Refused, refused
from .places import Destinations
from .pooling import of_messages
from .stand_in import StandIn
from .unfit import INSIDE_BLOCK, Unfit

_WHY = "the code is given a block of one rank's edges, not all edges of the graph, and gives each edge a value of its own"
_REMEDY = (
    "reduce the edges of each destination, with torch_geometric.utils.softmax or scatter and index; compute a value of all edges before propagate, "
    "as rank.mean(edge_weight) does for all ranks, and pass it as an argument"
)

# Operations whose ``dim`` may be that of the edges: each edge keeps its own value, or an index says where it goes.
_ALONG = frozenset(
    "cat stack unsqueeze squeeze transpose permute index_select gather index_add index_copy index_fill index_reduce scatter scatter_add scatter_reduce "
    "repeat_interleave unfold".split()
)
# Operations that compute a row from several, unless these are in the first dimension.
_MIXING = ("attention", "convolution", "pool", "group_norm")
# Operations on matrices, which are the last two dimensions.
_MATRICES = ("linalg", "cholesky", "triangular")
# Operations that may be given the number of edges as a factor or an addend.
_WITH_NUMBERS = ("add", "sub", "rsub", "mul", "div", "pow")
# Operations that sum over the last dimension of an argument, and the argument's place.
_CONTRACTED = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "vdot": 0, "addmm": 1, "baddbmm": 1, "addbmm": 1, "addmv": 1}
# Operations that choose edges by a mask.
_CHOOSING = ("index", "index_put", "index_put_impl", "masked_select", "nonzero")
# Beginnings of operations that read no values, or ask a question whose answer is for a check.
_HARMLESS = ("new_", "empty", "zeros", "ones", "full", "rand", "any", "all", "equal", "nonzero", "is_", "local_scalar", "assert", "detach")
# Functions that give values to code other than torch's.
_READING = ("numpy", "__array__", "tolist", "__dlpack__")


def check_apart(module: Any, function: str, names: Sequence[str], arguments: Arguments) -> None:
    """Raises ``Refused`` if a function of a module relates edges to one another, and ``Unfit`` if it cannot run in blocks."""
    edges, chosen = _numbers(module, arguments)
    given = _made_up(arguments, names, edges)
    rows: Dict[int, Callable[[], Tensor]] = {number: partial(torch.zeros, number, dtype=torch.int64) for number in (edges, edges // 2)}
    watch = _Watch(edges, chosen, f"the values of edges in {type(module).__name__}.{function}")
    try:
        with torch.random.fork_rng(devices=[]), INSIDE_BLOCK.of(True), of_messages(), Block().of(rows), watch, _Reading(watch):
            called(module, lambda values: getattr(module, function)(**values), given, edges)
    except (Refused, Unfit):
        raise
    except Exception:  # Code that made-up values do not suit runs on the edges themselves, where its errors show.
        return


def _numbers(module: Any, arguments: Arguments) -> Tuple[int, int]:
    """Two primes that divide no size that the code can read: how many edges there are, and how many of them a mask chooses, more than half."""
    rows = arguments.tensors().values()
    whole = [*arguments.others.values(), *module.parameters(), *module.buffers()]
    sizes = {size for value in whole if isinstance(value, Tensor) and not torch.nn.parameter.is_lazy(value) for size in value.shape}
    sizes.update(size for value in rows for size in value.shape[1:])
    fitting = (number for number in _primes() if all(size % number or size == 0 for size in sizes))
    before = next(fitting)
    for number in fitting:
        if number < 2 * before:
            return number, before
        before = number
    raise AssertionError("there is no last prime")


def _primes() -> Iterator[int]:
    return (number for number in count(199, 2) if all(number % part for part in range(3, int(number**0.5) + 1, 2)))


def _made_up(arguments: Arguments, names: Sequence[str], edges: int) -> Dict[str, Any]:
    """Arguments for this number of edges, two or three to a destination."""
    nodes = edges // 2
    index = (torch.arange(edges) // 2).clamp(max=nodes - 1)
    of_edges = {"index": Ends(index, Destinations(nodes, 0, nodes)), "dim_size": nodes, "size_i": nodes, "ptr": None}
    given = {**arguments.others, **{name: _rows(value, edges) for name, value in arguments.tensors().items()}, **of_edges}
    return {name: given[name] for name in names}


def _rows(like: Tensor, edges: int) -> Tensor:
    """Values of the shape and type of a row per edge. It does not read ``like``, which may be deferred."""
    shape = torch.Size((edges, *like.shape[1:]))
    if not like.is_floating_point():
        return torch.zeros(shape, dtype=like.dtype)
    return ((torch.arange(shape.numel()) * 0.7 + 1).sin().reshape(shape) / 4 + 0.5).to(like.dtype)


class _Watch(TorchDispatchMode):
    """Refuses operations that compute a value from several edges. It sees the operations that torch's functions consist of."""

    def __init__(self, edges: int, chosen: int, what: str) -> None:
        super().__init__()
        self._edges, self._chosen, self._what = edges, chosen, what

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name.split("::")[-1].strip("_")
        if name in _CHOOSING:
            args = self._masked(args)
        given = [value for value in _tensors([args, *kwargs.values()]) if self.places(value)]
        watched = any(value.is_floating_point() or value.is_complex() or value.dtype == torch.bool or name in ("sum", "prod") for value in given)
        if name in _WITH_NUMBERS and any(self._counts(value) for value in args):
            self.refuse(name, f"it is given the number of edges, and {_WHY}")
        if watched and self._relates(func, name, args, kwargs):
            self.refuse(name)
        # Where each edge's value goes.
        index = any(not value.is_floating_point() and not value.is_complex() and value.dtype != torch.bool for value in given)
        result = func(*args, **kwargs)
        made = _tensors([result])
        if watched and made and (not index or name == "sum") and not name.startswith(_HARMLESS) and not any(map(self.places, made)):
            self.refuse(name)
        return result

    def places(self, value: Tensor) -> List[int]:
        """The dimensions in which there are edges."""
        return [at for at, size in enumerate(value.shape) if size and (size % self._edges == 0 or size % self._chosen == 0)]

    def refuse(self, name: str, why: str = _WHY) -> None:
        """Raises the error of an operation, unless this package's dropout does it, which draws for each row by its key."""
        if any(frame.f_globals.get("__name__") == dropped.__module__ for frame, _ in walk_stack(None)):
            return
        raise refused(name.replace("linalg_vector_", "").replace("native_", ""), f"{self._what} ({call_site()})", why, _REMEDY)

    def _counts(self, value: Any) -> bool:
        """Whether a number is that of edges, or its inverse or root."""
        if not isinstance(value, (int, float)):
            return False
        return any(value in (number, number - 1, 1 / number, number**0.5, number**-0.5) for number in (self._edges, self._chosen))

    def _masked(self, value: Any) -> Any:
        """The same with masks of edges that choose a known number of them."""
        if isinstance(value, (tuple, list)):
            return type(value)(map(self._masked, value))
        if not isinstance(value, Tensor) or value.dtype != torch.bool or not self.places(value):
            return value
        return (torch.arange(value.numel()) < self._chosen).reshape(value.shape)

    def _relates(self, func: Any, name: str, args: Any, kwargs: Dict[str, Any]) -> bool:
        """Whether an operation is one over edges, though its result may have a row for each."""
        at = _CONTRACTED.get(name)
        if at is not None:
            return args[at].dim() - 1 in self.places(args[at])
        first = next((value for value in args if isinstance(value, Tensor)), None)
        places = [] if first is None else self.places(first)
        if first is None or not places or name in _ALONG or name.startswith(_HARMLESS):
            return False
        known = {argument.name: value for argument, value in zip(func._schema.arguments, args)}
        known = {**{argument.name: argument.default_value for argument in func._schema.arguments}, **known, **kwargs}
        if any(word in name for word in _MIXING):
            return places[-1] > 0
        if "normalized_shape" in known:
            return places[-1] >= first.dim() - len(known["normalized_shape"])
        if "batch_norm" in name:
            return bool(known.get("training", known.get("train"))) and places != [1]
        if name == "slice":
            part = range(*slice(known["start"], known["end"], known["step"]).indices(first.shape[known["dim"]]))
            return known["dim"] % first.dim() in places and len(part) < first.shape[known["dim"]]
        if any(word in name for word in _MATRICES) and "dim" not in known:
            return places[-1] >= first.dim() - 2
        dims = known.get("dim", known.get("dims", ()))
        if dims is None or dims == []:
            return True
        return any(dim % first.dim() in places for dim in (dims if isinstance(dims, (tuple, list)) else [dims]))


class _Reading(TorchFunctionMode):
    """Refuses values of edges to code that a watch does not see."""

    def __init__(self, watch: _Watch) -> None:
        super().__init__()
        self._watch = watch

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in _READING and not isinstance(args[0], StandIn) and self._watch.places(args[0]):
            self._watch.refuse(name, f"their further use cannot be followed, and {_WHY}")
        return func(*args, **(kwargs or {}))


def _tensors(values: Any) -> List[Tensor]:
    return [part for value in values for part in (_tensors(value) if isinstance(value, (tuple, list)) else [value]) if isinstance(part, Tensor)]
