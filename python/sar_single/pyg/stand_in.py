"""Tensors without values, whose operations are limited to those that are right across partitions."""

from __future__ import annotations

from typing import Any, Callable, ClassVar, Dict, Iterator, Optional, Sequence, Tuple

import torch
from torch import Tensor

from .errors import name_of, refused

# Facts known without values: the same for any tensor of that shape, or absent from every tensor of whole numbers.
_OF_SHAPE = frozenset(
    "size dim ndimension numel nelement __len__ shape ndim dtype device layout is_sparse is_sparse_csr is_cuda is_cpu is_mps is_meta is_mkldnn "
    "is_quantized is_nested is_xpu is_ipu is_vulkan is_floating_point is_complex is_contiguous "
    "is_shared is_inference is_signed element_size get_device __hash__ names itemsize nbytes is_conj is_neg is_coalesced".split()
)
_SHAPE = _OF_SHAPE | frozenset("requires_grad grad_fn is_leaf grad".split())
_NEW = frozenset("new_zeros new_ones new_full new_empty new_tensor zeros_like ones_like full_like empty_like rand_like randn_like".split())

Operation = Callable[..., Any]


class StandIn(Tensor):
    """A tensor that stands for edges. It has no storage, so code outside Python (C++, TorchScript) cannot read it."""

    # The supported operations, by the name of torch's function.
    operations: ClassVar[Dict[str, Operation]] = {}
    # A noun for errors.
    what: str

    @staticmethod
    def made(cls: type, shape: Sequence[int], dtype: torch.dtype = torch.int64) -> Any:
        """A new stand-in, without attributes."""
        make = Tensor._make_wrapper_subclass  # type: ignore[attr-defined]  # The stubs of torch 2.2 lack it.
        return make(cls, tuple(shape), dtype=dtype, device=torch.device("cpu"))

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def known_attributes(self) -> "frozenset[str]":
        """The attributes that are known without values."""
        return _SHAPE

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs = kwargs or {}
        name = name_of(func)
        first = _first([*args, *kwargs.values()])
        assert first is not None, "torch calls this for stand-ins only"
        if getattr(func, "__name__", "") == "__set__":
            if name == "requires_grad" and args[1] is False:
                return None  # torch.utils.checkpoint says so of what it gives to a function again.
            raise refused(f"setting {name}", first.what)
        if name in first.known_attributes():
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        if name in _NEW:
            return func(torch.empty((), dtype=first.dtype).expand(first.shape), *args[1:], **kwargs)
        if name in ("__getitem__", "__setitem__") and isinstance(args[1], tuple) and len(args[1]) == 1:
            # Old versions of torch turn an index into a tuple.
            args = (args[0], args[1][0], *args[2:])
        if any(isinstance(value, Deferred) for value in _all([*args, *kwargs.values()])):
            return _on_deferred(func, name, args, kwargs)
        operation = first.operations.get(name)
        result = NotImplemented if operation is None else operation(func, *args, **kwargs)
        if result is NotImplemented:
            raise refused(name, first.what)
        return result

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Optional[Dict[str, Any]] = None
    ) -> Any:
        first = _first([*args, *(kwargs or {}).values()])
        what = "edge_index" if first is None else first.what
        raise refused(
            str(func).replace("aten.", ""), what, "compiled code reads the numbers themselves, but sources lie in other partitions"
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"{self.what} of this rank, {list(self.shape)}"

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)


class Deferred(StandIn):
    """Edge values that are computed when something reads them. Code that knows their computation need not read them."""

    _known: Optional[Tensor] = None

    def computed(self) -> Tensor:
        """The values."""
        raise NotImplementedError

    def read(self) -> Tensor:
        """The values, computed once. Afterwards they are an ordinary tensor, which may be changed in place."""
        if self._known is None:
            self._known = self.computed()
        return self._known

    def known_attributes(self) -> "frozenset[str]":
        """The attributes that are known without values."""
        return _OF_SHAPE


def read(value: Any) -> Any:
    """The arguments with the values of everything deferred."""
    if isinstance(value, Deferred):
        return value.read()
    if isinstance(value, (tuple, list)) and any(isinstance(part, Deferred) for part in _all(value)):
        return type(value)(map(read, value))
    return value


def _on_deferred(func: Any, name: str, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    for value in _all([*args, *kwargs.values()]):
        operation = value.operations.get(name) if isinstance(value, Deferred) else None
        result = NotImplemented if operation is None else operation(func, *args, **kwargs)
        if result is not NotImplemented:
            return result
    return func(*map(read, args), **{key: read(value) for key, value in kwargs.items()})


def _all(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _all(value)
        else:
            yield value


def _first(values: Sequence[Any]) -> Optional[StandIn]:
    return next((value for value in _all(values) if isinstance(value, StandIn)), None)
