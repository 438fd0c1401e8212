"""Linear maps of values that need no gradient, such as features. A sum of their rows is the map of the summed values, whose backward pass needs no sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

import torch
from torch import Tensor

from .traced import is_of_pyg


@dataclass(frozen=True)
class Linear:
    """A product ``x @ weight.T``, of which only the weight gets a gradient."""

    x: Tensor
    weight: Tensor

    def of(self, x: Tensor) -> Tensor:
        """The map of other rows."""
        return torch.nn.functional.linear(x, self.weight)


def linear_of_input(module: Any, result: Tensor) -> Optional[Linear]:
    """The linear map without bias, in a module of PyG, whose result is ``result`` ``[rows, columns]``, if its input needs no gradient and has no more
    columns. None if the user can ask for the gradient of ``result``, which would lack a part.
    """
    product: Any = result.grad_fn
    if result.dim() != 2 or _name(product) != "MmBackward0" or product.next_functions[0][0] is not None:
        return None
    if result._backward_hooks or result.retains_grad or not is_of_pyg(module):
        return None
    transposed = product.next_functions[1][0]
    leaf: Any = transposed.next_functions[0][0] if _name(transposed) == "TBackward0" else None
    if _name(leaf) != "AccumulateGrad":
        return None
    x, weight = product._saved_self, leaf.variable
    own = [part for part in module.modules() if any(parameter is weight for parameter in part.parameters(recurse=False))]
    if not own or any(part._forward_hooks for part in own):
        return None
    if x is None or x.shape[1] > result.shape[1] or weight.shape != (result.shape[1], x.shape[1]) or not x.dtype == weight.dtype == result.dtype:
        return None
    return Linear(x, weight)


def _name(function: Any) -> str:
    return "" if function is None else str(function.name()).rpartition("::")[2]
