"""Refuses ``message``, ``edge_update`` and ``aggregate`` that relate edges to one another other than by their destinations.

They see a block of a rank's edges, so a mean over their rows is not one over all edges. They are called with made-up edges, while operations over
edges are looked for, and again with those to some of the nodes, for which they have to give the same.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from traceback import walk_stack
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from ..graph.dropout import dropped
from ..graph.keys import Block
from ..graph.scope import of_messages
from ..graph.unfit import INSIDE_BLOCK, MADE_UP, Unfit, untried
from ..process import current
from ..process.call_sites import call_site
from .arguments import Arguments
from .blocks import tried
from .errors import Refused, refused
from .made_up import MadeUp
from .stand_in import StandIn

_WHY = "the code is given a block of one rank's edges, not all edges of the graph, and gives each edge a value of its own"
_REMEDY = (
    "reduce the edges of each destination, with torch_geometric.utils.softmax or scatter and index; compute a value of all edges before propagate, "
    "as rank.mean(edge_weight) does for all ranks, and pass it as an argument"
)
_DRAWN = "use torch.nn.functional.dropout, which draws by edge, on a tensor with a row per edge"

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
# Operations over edges that are watched for whole numbers, too.
_OF_NUMBERS = frozenset("max min amax amin aminmax argmax argmin sort argsort topk mode median unique2 unique_dim unique_consecutive".split())
# Operations with one answer about all edges, which may only be for a check.
_QUESTIONS = ("any", "all", "equal")
# Operations that draw random numbers, which are functions of the place of an element.
_DRAWING = ("rand", "randn", "rand_like", "randn_like", "randint", "bernoulli", "normal", "uniform", "exponential", "native_dropout")
# Functions that give values to code other than torch's.
_READING = ("numpy", "__array__", "tolist", "__dlpack__")

# Agreement among ranks: whether functions of a class can be tried.
_AGREED: Dict[Tuple[Any, ...], bool] = {}


def check_apart(module: Any, functions: Sequence[str], names: Sequence[str], run: Callable[[Dict[str, Any]], Tensor], arguments: Arguments) -> None:
    """Raises ``Refused`` if functions of a module relate edges to one another, and ``Unfit`` if these cannot run in blocks."""
    made_up = MadeUp(module, arguments)
    watch = _Watch(made_up, f"the values of edges in {type(module).__name__}.{' and '.join(functions)}")
    trial = _Trial(module, names, run, made_up)
    problem: Optional[Exception] = None
    try:
        trial.result(0, watch)
    except (Refused, Unfit):
        raise
    except Exception as error:  # Made-up values may not suit the code, as it says itself or as a question about all edges shows.
        problem = error
    if watch.asked:
        answers = [trial.attempt(0, watch, answer) for answer in (True, False)]
        watch.answer = None
        if any(answer is not None for answer in answers):
            problem = None
        if not _same(*answers):
            watch.refuse(watch.asked, f"a block may give another answer than all edges, and {_WHY}")
    if not _agreed((type(module), *functions, *names), problem is None):
        raise untried(module, functions, problem)
    whole, part = trial.attempt(0), trial.attempt(made_up.part) if made_up.has_parts(names) else None
    if whole is not None and part is not None and not _same(made_up.part_of(whole, "aggregate" not in functions), part):
        if watch.drawn:
            watch.refuse(watch.drawn, "numbers that are drawn by the places of edges are the same on every rank and in every block", _DRAWN)
        watch.refuse(functions[-1], f"it gives other values for some of the nodes, with all of their edges, than for all; {_WHY}")
    if trial.unfit:
        raise Unfit(trial.unfit[0])
    for name in [name for name, value in vars(module).items() if isinstance(value, Tensor)]:
        without = trial.attempt(0, without=name)
        if whole is None or without is None or not _same(whole, without):
            raise Unfit(f"it reads the tensor self.{name}, which may have a row per edge")


def _agreed(key: Tuple[Any, ...], fine: bool) -> bool:
    """Whether functions can be tried on every rank: code for a tensor with a row per edge of the rank fits made-up edges where that is one row.

    One collective when functions of a class are first tried with these arguments."""
    rank = current.current()
    if key not in _AGREED:
        _AGREED[key] = fine if rank is None else bool(rank.all_reduce(int(fine), op="min"))
    return fine and _AGREED[key]


class _Trial:
    """Calls functions of a module with made-up edges."""

    def __init__(self, module: Any, names: Sequence[str], run: Callable[[Dict[str, Any]], Tensor], made_up: MadeUp) -> None:
        self._module, self._names, self._run, self._made_up = module, names, run, made_up
        self.unfit: List[str] = []

    def result(self, first: int, watch: "Optional[_Watch]" = None, without: str = "") -> Tensor:
        """The output for the edges to nodes from ``first`` on, of a module without an attribute."""
        made_up = self._made_up
        edges = made_up.edges - made_up.begin(first)
        rows: Dict[int, Callable[[], Tensor]] = {number: partial(torch.zeros, number, dtype=torch.int64) for number in (edges, made_up.nodes - first)}
        given, attributes = made_up.given(self._names, first), vars(self._module)
        before = dict(attributes)
        attributes.update(made_up.own_rows(first))
        attributes.pop(without, None)
        try:
            with torch.random.fork_rng(devices=[]), INSIDE_BLOCK.of(True), MADE_UP.of(self.unfit), of_messages(), Block().of(rows), ExitStack() as modes:
                # torch.manual_seed asks for a traceback per kind of accelerator, which takes longer than the trial.
                torch.default_generator.manual_seed(0)
                for mode in () if watch is None else (watch, _Reading(watch)):
                    modes.enter_context(mode)
                output, _, unfit = tried(self._module, self._run, given, edges)
                self.unfit.extend([] if unfit is None else [unfit])
                return output.detach()
        finally:
            attributes.update(before)

    def attempt(self, first: int, watch: "Optional[_Watch]" = None, answer: Optional[bool] = None, without: str = "") -> Optional[Tensor]:
        """The same, with an ``answer`` to questions about all edges; None if it fails, as it does where the question is for a check."""
        if watch is not None:
            watch.answer, watch.refusals = answer, []
        try:
            result = self.result(first, watch, without)
        except Exception:
            return None
        if watch is not None and watch.refusals:
            raise watch.refusals[0]
        return result


def _same(one: Optional[Tensor], other: Optional[Tensor]) -> bool:
    """Whether two results are equal but for rounding errors, or one of them is not known."""
    if one is None or other is None or one.shape != other.shape:
        return one is None or other is None
    if not one.is_floating_point():
        return torch.equal(one, other)
    near = 1e-7 if one.dtype == torch.float64 else 1e-3 if one.dtype == torch.float32 else 0.1
    largest = other.nan_to_num().abs().max().item() if other.numel() else 0.0
    return torch.allclose(one, other, near, near * largest, equal_nan=True)


class _Watch(TorchDispatchMode):
    """Refuses operations that compute a value from several edges. It sees the operations that torch's functions consist of."""

    def __init__(self, made_up: MadeUp, what: str) -> None:
        super().__init__()
        self._edges, self._chosen, self._index, self._what = made_up.edges, made_up.chosen, made_up.index, what
        # The last question and the last draw, by their names.
        self.asked = self.drawn = ""
        self.answer: Optional[bool] = None
        # With an answer: errors that are raised unless the code fails, which may then have computed a value for a message only.
        self.refusals: List[Refused] = []
        # Whether a function runs that checks its arguments.
        self.paused = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name.split("::")[-1].strip("_")
        if self.paused:
            return func(*args, **kwargs)
        if name in _CHOOSING:
            args = self._masked(args)
        given = [value for value in _tensors([args, *kwargs.values()]) if self.places(value)]
        watched = any(value.is_floating_point() or value.is_complex() or value.dtype == torch.bool or name in ("sum", "prod") for value in given)
        if name in _WITH_NUMBERS and any(self._counts(value) for value in args):
            self.refuse(name, f"it is given the number of edges, and {_WHY}")
        if watched and self._relates(func, name, args, kwargs) or name in _OF_NUMBERS and self._orders(func, args, kwargs):
            self.refuse(name)
        # Where each edge's value goes.
        index = any(not value.is_floating_point() and not value.is_complex() and value.dtype != torch.bool for value in given)
        result = func(*args, **kwargs)
        made = _tensors([result])
        if name in _DRAWING and any(map(self.places, made)):
            self.drawn = name
        if name in _QUESTIONS and given and not any(map(self.places, made)):
            self.asked = name
            if self.answer is not None:
                return self.answer if isinstance(result, bool) else torch.full_like(result, self.answer)
        if watched and made and (not index or name == "sum") and not name.startswith(_HARMLESS) and not any(map(self.places, made)):
            self.refuse(name)
        return result

    def places(self, value: Tensor) -> List[int]:
        """The dimensions in which there are edges."""
        return [at for at, size in enumerate(value.shape) if size and (size % self._edges == 0 or size % self._chosen == 0)]

    def refuse(self, name: str, why: str = _WHY, remedy: str = _REMEDY) -> None:
        """Raises the error of an operation, or keeps it, unless this package's dropout does it, which draws for each row by its key."""
        if any(frame.f_globals.get("__name__") == dropped.__module__ for frame, _ in walk_stack(None)):
            return
        error = refused(name.replace("linalg_vector_", "").replace("native_", ""), f"{self._what} ({call_site()})", why, remedy)
        if self.answer is None:
            raise error
        self.refusals.append(error)

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
        known = _known(func, args, kwargs)
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


    def _orders(self, func: Any, args: Any, kwargs: Dict[str, Any]) -> bool:
        """Whether an operation on whole numbers is one over edges. Where edges end is known in each block."""
        known, first = _known(func, args, kwargs), args[0]
        places = self.places(first)
        if not places or "other" in known or first.is_floating_point() or first.shape == self._index.shape and torch.equal(first, self._index):
            return False
        dims = known.get("dim")
        return dims is None or dims == [] or any(dim % first.dim() in places for dim in (dims if isinstance(dims, (tuple, list)) else [dims]))


def _known(func: Any, args: Any, kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """The arguments of an operation by their names."""
    given = {argument.name: value for argument, value in zip(func._schema.arguments, args)}
    return {**{argument.name: argument.default_value for argument in func._schema.arguments}, **given, **kwargs}


class _Reading(TorchFunctionMode):
    """Refuses values of edges to code that a watch does not see, and lets functions of torch check their arguments."""

    def __init__(self, watch: _Watch) -> None:
        super().__init__()
        self._watch = watch

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in _READING and not isinstance(args[0], StandIn) and self._watch.places(args[0]):
            self._watch.refuse(name, f"their further use cannot be followed, and {_WHY}")
        if name == "one_hot" and {"num_classes": -1, **dict(zip(("tensor", "num_classes"), args)), **(kwargs or {})}["num_classes"] != -1:
            return self._checked(func, args, kwargs)
        return func(*args, **(kwargs or {}))

    def _checked(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The result of a function that looks at all edges to check them."""
        self._watch.paused = True
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self._watch.paused = False


def _tensors(values: Any) -> List[Tensor]:
    return [part for value in values for part in (_tensors(value) if isinstance(value, (tuple, list)) else [value]) if isinstance(part, Tensor)]
