"""Tensors as the messages of collectives."""

from __future__ import annotations

import json
from typing import Any, List, Sequence, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def packed(tensor: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    """A tensor as a message: bytes of its description, the description, and its elements."""
    text = json.dumps([str(tensor.dtype).split(".")[1], list(tensor.shape)]).encode()
    header = torch.frombuffer(bytearray(text.ljust(-(-len(text) // 16) * 16)), dtype=torch.uint8)
    return torch.tensor([len(header), 0]), header, tensor.detach().contiguous()


def all_unpacked(message: bytearray) -> List[Tensor]:
    tensors, at = [], 0
    while at < len(message):
        length = int.from_bytes(message[at : at + 8], "little")
        dtype, shape = json.loads(bytes(message[at + 16 : at + 16 + length]))
        at += 16 + length
        element: torch.dtype = getattr(torch, dtype)
        size_of = torch.empty(0, dtype=element).element_size()
        count = 1
        for size in shape:
            count *= size
        if count == 0:
            tensors.append(torch.empty(shape, dtype=element))
            continue
        part = torch.frombuffer(message, dtype=torch.uint8, count=count * size_of, offset=at)
        tensors.append(part.clone().view(element).reshape(shape))
        at += count * size_of
    return tensors


def unpacked(message: bytearray) -> Tensor:
    (tensor,) = all_unpacked(message)
    return tensor


class _WithoutGradient(torch.autograd.Function):
    """A value that another one leads to, which must not be without a gradient silently."""

    @staticmethod
    def forward(ctx: Any, _: Tensor, value: List[Tensor], what: str) -> Tensor:
        ctx.what = what
        return value[0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gy: Tensor) -> Any:
        raise RuntimeError(f"{ctx.what} has no gradient: use rank.mean, or pass x.detach()")


def without_gradient(what: str, sent: Sequence[Tensor], received: List[Tensor]) -> List[Tensor]:
    """The received tensors of a collective. If what was sent needs a gradient, ``backward`` through them raises an error."""
    if not torch.is_grad_enabled() or not any(tensor.requires_grad for tensor in sent):
        return received
    # Not the sent tensors, whose graphs a list of losses would keep.
    start = torch.empty(0, requires_grad=True)
    return [_WithoutGradient.apply(start, [tensor], what) if tensor.is_floating_point() or tensor.is_complex() else tensor for tensor in received]
