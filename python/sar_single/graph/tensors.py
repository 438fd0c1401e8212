"""Memory of tensors, as the engine takes it."""

from __future__ import annotations

from typing import Tuple

import numpy as np
import torch

Place = Tuple[int, int]

# Element types of files that have the same name in torch.
_NAMES = "int8 int16 int32 int64 uint8 bool float16 bfloat16 float32 float64"
_TORCH = {name: getattr(torch, name) for name in _NAMES.split()}
_WIDER = {"uint16": "int32", "uint32": "int64", "uint64": "int64"}


def place(tensor: torch.Tensor) -> Place:
    """Address and size in bytes of a contiguous tensor. Keep the tensor until the call that takes them returns."""
    if tensor.device.type != "cpu":
        raise ValueError(f"tensors of workers are on the CPU, this one is on {tensor.device}: leave .to(device) out")
    assert tensor.is_contiguous(), "only contiguous tensors have one place"
    return tensor.data_ptr(), tensor.numel() * tensor.element_size()


def empty(name: str, shape: Tuple[int, ...]) -> Tuple[torch.Tensor, Place]:
    """An unfilled tensor for stored elements of type ``name``, and its address and size."""
    if name in _TORCH:
        tensor = torch.empty(shape, dtype=_TORCH[name])
        return tensor, place(tensor)
    array = np.empty(shape, dtype=name)
    tensor = torch.from_numpy(array.view(f"int{array.itemsize * 8}"))
    return tensor, place(tensor)


def as_torch(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """The values of a filled tensor in a type that torch computes with."""
    if name in _TORCH:
        return tensor
    return torch.from_numpy(tensor.numpy().view(name).astype(_WIDER[name]))


def computable(x: torch.Tensor) -> torch.Tensor:
    """The same values in a type that the kernels compute in."""
    if x.is_complex():
        raise TypeError("operations over edges and nodes take real values, but these are complex: use torch.view_as_real")
    return x if x.dtype in (torch.float32, torch.float64) else x.float()
