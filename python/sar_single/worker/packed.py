"""Tensors as the messages of collectives."""

from __future__ import annotations

import json
from typing import Any, List, Tuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def packed(tensor: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """A tensor as a message: bytes of its description, the description, its elements, and zeros up to a multiple of 16 bytes."""
    text = json.dumps([str(tensor.dtype).split(".")[1], list(tensor.shape)]).encode()
    header = torch.frombuffer(bytearray(text.ljust(-(-len(text) // 16) * 16)), dtype=torch.uint8)
    rest = torch.zeros(-tensor.numel() * tensor.element_size() % 16, dtype=torch.uint8)
    return torch.tensor([len(header), 0]), header, tensor.detach().contiguous(), rest


def unpacked(message: bytearray) -> List[Tensor]:
    """The tensors of a message, whose memory they share."""
    tensors, at = [], 0
    while at < len(message):
        length = int.from_bytes(message[at : at + 8], "little")
        dtype, shape = json.loads(bytes(message[at + 16 : at + 16 + length]))
        at += 16 + length
        element: torch.dtype = getattr(torch, dtype)
        count = 1
        for size in shape:
            count *= size
        if count == 0:
            tensors.append(torch.empty(shape, dtype=element))
            continue
        part = torch.frombuffer(message, dtype=element, count=count, offset=at)
        tensors.append(part.reshape(shape))
        at += -(-count * part.element_size() // 16) * 16
    return tensors


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


def without_gradient(what: str, sent: Tensor, received: Tensor) -> Tensor:
    """The result of a collective. If what was sent needs a gradient, ``backward`` through the result raises an error."""
    if not torch.is_grad_enabled() or not sent.requires_grad:
        return received
    # Not the sent tensor, whose graph a list of losses would keep.
    return _WithoutGradient.apply(torch.empty(0, requires_grad=True), [received], what)
