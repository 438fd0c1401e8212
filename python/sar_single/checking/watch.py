"""Records a worker's computation, step by step, for comparison with other cuts of the graph."""

from __future__ import annotations

import random
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode

from ..graph.dropout import keyed_rows
from ..graph.scope import MESSAGES
from ..process.call_sites import call_site, called_by_package, called_by_user
from ..pyg.stand_in import StandIn
from ..worker.rank import Rank

_NARROW = (torch.float32, torch.float16, torch.bfloat16)
_DROPOUT = frozenset("dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout feature_alpha_dropout dropout_".split())
# Functions that draw random numbers by place of element.
_DRAWING = frozenset(
    "rand randn randint randperm rand_like randn_like randint_like normal bernoulli multinomial poisson binomial gumbel_softmax rrelu "
    "normal_ uniform_ random_ bernoulli_ exponential_ cauchy_ geometric_ log_normal_".split()
)
# Functions without a computed value.
_IGNORED = frozenset("__get__ __set__ empty empty_like new_empty".split())


@dataclass
class Event:
    """A value of the program: ``kind`` is parameter, output, operation, draw, loss, gradient, log or result."""

    kind: str
    name: str
    site: str = ""
    values: List[Tensor] = field(default_factory=list)
    # Numbers of the events whose values the operation received.
    inputs: List[int] = field(default_factory=list)
    # Whether it comes after the watched steps.
    late: bool = False

    @property
    def key(self) -> Tuple[str, str, str]:
        """Values that are the same on all ranks."""
        return self.kind, self.name, self.site


class Watch(TorchFunctionMode):
    """Computes in float64 without dropout, and notes the results of the user's operations, modules and losses."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._steps = steps
        self.events: List[Event] = []
        self._paused = False
        self._stack: List[nn.Module] = []
        self._names: Dict[int, str] = {}
        self._parameters: Dict[int, str] = {}
        # Numbers of the events that made each tensor. The tensors are kept so that no others take their places.
        self._made: Dict[int, int] = {}
        self._kept: List[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs = kwargs or {}
        name = str(getattr(func, "__name__", func))
        if name in _DROPOUT:
            return self._dropped(False, *args, **kwargs)  # Those by node or edge do not come here.
        if name == "backward" and args and isinstance(args[0], Tensor):
            return self._backward(*args, **kwargs)
        if name in ("float", "half", "bfloat16") and isinstance(args[0], Tensor) and not isinstance(args[0], StandIn):
            return args[0].double()
        if called_by_package():
            return func(*args, **kwargs)
        state = _state(kwargs.get("generator")) if name in _DRAWING and self._watches() else None
        result = func(*map(_wide, args), **{key: _wide(value) for key, value in kwargs.items()})
        if state is not None:
            self._note(Event("draw", name, call_site(), [state, *_tensors(result)]))
        elif name not in _IGNORED and self._watches() and called_by_user():
            self._operation(name, args, kwargs, result)
        return result

    def _watches(self) -> bool:
        return not self._paused and self._steps > 0 and not MESSAGES.value

    def dropout(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Replaces ``torch.nn.functional.dropout``: gives the values unchanged."""
        if not self._watches():
            return input
        with torch.random.fork_rng(devices=[]):
            by_key = keyed_rows(input) is not None
        return self._dropped(by_key, input, *args, **kwargs)

    def _dropped(self, by_key: bool, input: Tensor, p: float = 0.5, training: bool = True, *_: Any, train: bool = True, **__: Any) -> Tensor:
        """Notes whether a dropout draws by node or edge, and if not, the number of its elements."""
        if training and train and p > 0 and self._watches():
            self._note(Event("draw", "dropout", call_site(), [torch.tensor([] if by_key else input.shape, dtype=torch.int64)]))
        return input

    def _operation(self, name: str, args: Any, kwargs: Dict[str, Any], result: Any) -> None:
        values = _tensors(result)
        if values:
            given = [self._made[id(value)] for value in _tensors([*args, *kwargs.values()]) if id(value) in self._made]
            self._note(Event("operation", name, call_site(), values, given))

    def _note(self, event: Event) -> None:
        for value in event.values:
            self._made[id(value)] = len(self.events)
        self._kept.append(event.values)
        event.values = [value.detach().clone() for value in event.values]
        event.late = self._steps <= 0
        self.events.append(event)

    def _backward(self, loss: Tensor, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None) -> None:
        if self._watches() and loss.numel() == 1:
            self._note(Event("loss", "backward", call_site(), [loss]))
        before, self._paused = self._paused, True
        try:
            with self:  # What the backward pass computes again has no dropout either.
                torch.autograd.backward(loss, gradient, retain_graph, create_graph, inputs=inputs)
        finally:
            self._paused = before

    def module_called(self, module: nn.Module, _: Any) -> None:
        """A hook before a module's forward pass."""
        if not self._stack:
            for name, part in module.named_modules():
                self._names.setdefault(id(part), name)
                _without_dropout(part)
            if any(tensor.dtype in _NARROW for tensor in (*module.parameters(), *module.buffers())):
                module.double()
            self._parameters_of(module)
        self._stack.append(module)

    def module_returned(self, module: nn.Module, _: Any, output: Any) -> None:
        """A hook after a module's forward pass."""
        while self._stack and self._stack.pop() is not module:
            pass
        values = _tensors(output)
        if values and self._watches():
            self._note(Event("output", self._names.get(id(module)) or type(module).__name__, "", values))

    def optimizer_steps(self, optimizer: Any, *_: Any) -> None:
        """A hook before an optimizer's step."""
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        names = [self._parameters.get(id(parameter), f"parameter {i}") for i, parameter in enumerate(parameters)]
        self._gradients("at the optimizer's step", zip(names, parameters))
        self._steps -= 1

    def gradients_gathered(self, module: nn.Module) -> None:
        """Notes the gradients of a module, which are the same on all ranks."""
        self._remember(module)
        self._gradients("after gather_grads", module.named_parameters())

    def _gradients(self, when: str, named: Any) -> None:
        if self._steps > 0:
            for name, parameter in named:
                if parameter.grad is not None:
                    self._note(Event("gradient", name, when, [parameter.grad]))

    def _remember(self, module: nn.Module) -> None:
        for name, parameter in module.named_parameters():
            self._parameters.setdefault(id(parameter), name)

    def _parameters_of(self, module: nn.Module) -> None:
        """Notes the parameters of a module on its first call."""
        for name, parameter in module.named_parameters():
            if id(parameter) not in self._parameters and self._watches() and not nn.parameter.is_lazy(parameter):
                self._note(Event("parameter", name, "", [parameter]))
        self._remember(module)

    def logged(self, values: Dict[str, Any]) -> None:
        """Notes rank 0's reports."""
        for name, value in values.items():
            if isinstance(value, (float, Tensor)) and torch.as_tensor(value).numel() == 1:
                self._note(Event("log", name, "", [torch.as_tensor(value).double().reshape(())]))

    def returned(self, result: Any, name: str = "result") -> None:
        """Notes the worker's result."""
        parts: Any = result.items() if isinstance(result, dict) else enumerate(result) if isinstance(result, (list, tuple)) else None
        if parts is not None:
            for key, part in parts:
                self.returned(part, f"{name}[{key!r}]")
        elif isinstance(result, (float, np.ndarray, Tensor)) and not isinstance(result, StandIn):
            if not isinstance(result, np.ndarray) or result.dtype.kind in "fiub":
                self._note(Event("result", name, "", [torch.as_tensor(result)]))


@dataclass
class Seen:
    """Values that a worker's program has computed, and its nodes' numbers in the small graph."""

    events: List[Event]
    node_ids: Dict[str, Tensor]


def watched(rank: Rank, worker: Callable[..., Any], args: Sequence[Any], steps: int) -> Seen:
    """Runs a worker's program in float64 and without dropout; returns what it computes."""
    watch = Watch(steps)
    with _float64(), _hooks(watch), _methods(rank, watch), _dropout(watch), watch:
        result = worker(rank, *args)
    watch.returned(result)
    return Seen(watch.events, rank.ndata.original_ids())


@contextmanager
def _float64() -> Iterator[None]:
    """The same random numbers on all ranks, and float64 where a program names no type."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def _hooks(watch: Watch) -> Iterator[None]:
    handles = [
        register_module_forward_pre_hook(watch.module_called),
        register_module_forward_hook(watch.module_returned),
        register_optimizer_step_pre_hook(watch.optimizer_steps),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _methods(rank: Rank, watch: Watch) -> Iterator[None]:
    """Lets the watch see a rank's gathered gradients and logs."""

    def gather_grads(module: nn.Module) -> None:
        type(rank).gather_grads(rank, module)
        watch.gradients_gathered(module)

    ours: Dict[str, Any] = {"gather_grads": gather_grads, "log": lambda **values: watch.logged(values), "loader": _no_loader}
    vars(rank).update(ours)
    try:
        yield
    finally:
        for name in ours:
            delattr(rank, name)


@contextmanager
def _dropout(watch: Watch) -> Iterator[None]:
    """Lets the watch see dropout before its keys are looked up."""
    before, nn.functional.dropout = nn.functional.dropout, watch.dropout
    try:
        yield
    finally:
        nn.functional.dropout = before


def _state(generator: Optional[torch.Generator]) -> Tensor:
    """A number that distinguishes states of a random generator."""
    state = torch.get_rng_state() if generator is None else generator.get_state()
    return torch.tensor(zlib.crc32(state.numpy().tobytes()))


def _without_dropout(module: nn.Module) -> None:
    """Sets the dropout rate of another torch function, or of this package's attention."""
    if type(module).__module__.startswith("sar_single.nn"):
        for part in module.children():
            if isinstance(part, nn.Dropout):
                part.p = 0.0
    if isinstance(module, (nn.RNNBase, nn.MultiheadAttention)):
        module.dropout = 0.0


def _no_loader(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("sar.check compares programs on all nodes of a rank: batches of rank.loader are drawn in another way for each cut")


def _wide(value: Any) -> Any:
    """The argument with float64 in place of narrower types."""
    if isinstance(value, torch.dtype):
        return torch.float64 if value in _NARROW else value
    return value


def _tensors(value: Any) -> List[Tensor]:
    if isinstance(value, Tensor):
        return [] if isinstance(value, StandIn) else [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else []
    return [tensor for part in parts for tensor in _tensors(part)]
