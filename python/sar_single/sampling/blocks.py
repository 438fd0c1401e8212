"""Blocks of a batch."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator, List, Sequence

from torch import Tensor

from ..graph.graph import Block


class Blocks(List[Block]):
    """Blocks of a batch, the input layer's first.

    They also serve as one graph: each layer that uses the graph (in DGL's manner, inside ``graph.local_scope()``, or with ``graph.attend``) gets the
    next block. So a module written for ``rank.graph`` takes them unchanged.

    ``num_new`` is the number of seeds that are new in this epoch: all, or 0 in a batch that repeats.
    """

    num_new: int

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__(blocks)
        self._layer = 0

    @property
    def input_nodes(self) -> Tensor:
        """Ids of the sources of the first block."""
        return self[0].srcdata["_ID"]

    @property
    def output_nodes(self) -> Tensor:
        """Ids of the seeds."""
        return self[-1].dstdata["_ID"]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "num_new" or not self:
            raise AttributeError(name)
        return getattr(self[self._layer], name)

    @contextmanager
    def local_scope(self) -> Iterator[None]:
        """The scope of the layer's block. The next layer gets the next block; after the last block comes the first."""
        with self[self._layer].local_scope():
            yield
        self._next()

    def attend(self, *args: Any, **kwargs: Any) -> Tensor:
        """``Graph.attend`` on the layer's block."""
        result = self[self._layer].attend(*args, **kwargs)
        self._next()
        return result

    def _next(self) -> None:
        self._layer = (self._layer + 1) % len(self)
