"""Learned rows, one per node or edge, on disk."""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Tuple

import torch
from torch import Tensor

from .book import PartitionPolicy, as_ids
from .tensor import DistTensor


class DistEmbedding:
    """A row of float32 per node (edge) of a type. An optimizer of ``dist.optim`` updates the rows that batches have used."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        name: Optional[str] = None,
        init_func: Optional[Callable[[Any, torch.dtype], Tensor]] = None,
        part_policy: Optional[PartitionPolicy] = None,
    ) -> None:
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self._tensor = DistTensor((num_embeddings, embedding_dim), torch.float32, name, init_func, part_policy)
        self._trace: List[Tuple[Tensor, Tensor]] = []

    def __call__(self, idx: Any, device: Any = "cpu") -> Tensor:
        """The rows of the given nodes; their gradients go to the optimizer's next ``step``."""
        if str(device) != "cpu":
            raise ValueError(f"device is {device}, but rows are on the CPU")
        ids = as_ids(idx)
        rows = self._tensor[ids]
        if torch.is_grad_enabled():
            rows.requires_grad_()
            self._trace.append((ids, rows))
        return rows

    def reset_trace(self) -> None:
        """Forgets which rows batches have used."""
        self._trace = []

    def forget_gradients(self) -> None:
        """Forgets gradients, but keeps rows that a coming ``backward`` may give gradients."""
        for _, rows in self._trace:
            rows.grad = None

    @property
    def weight(self) -> DistTensor:
        """The rows."""
        return self._tensor

    @property
    def name(self) -> str:
        """The name of the rows."""
        return self._tensor.name

    @property
    def part_policy(self) -> PartitionPolicy:
        """The nodes or edges with these rows."""
        return self._tensor.part_policy
