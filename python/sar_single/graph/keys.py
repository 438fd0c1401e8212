"""Numbers of nodes and edges that no partitioning changes, for random draws."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional

import torch
from torch import Tensor

from ..process import current

# Distance of types, or of ranks, in bits; the engine takes keys below 2^48.
BITS = 40

_STATE = threading.local()


def keys_of_nodes(rank: Any) -> Tensor:
    """A key per own node, int64 ``[nodes]``: the user's id and the type, or the id in the partitioned graph if nothing else is known."""
    if rank._node_keys is None:
        if rank.ndata.has_original_ids():
            ids = rank.ndata.original_ids().values()
            rank._node_keys = torch.cat([own + (ty << BITS) for ty, own in enumerate(ids)])
        else:
            rank._node_keys = torch.arange(rank.graph.num_nodes()) + rank.first_node
    return rank._node_keys


class Block:
    """Code that sees rows of some nodes and edges: keys by number of rows, and a seed that all blocks of a call share."""

    def __init__(self) -> None:
        self.keys: Dict[int, Callable[[], Tensor]] = {}
        self._seed: Optional[int] = None
        self._draws = 0

    @contextmanager
    def of(self, keys: Dict[int, Callable[[], Tensor]]) -> Iterator[None]:
        """A scope in which code sees these rows."""
        before = getattr(_STATE, "block", None)
        self.keys, self._draws, _STATE.block = keys, 0, self
        try:
            yield
        finally:
            _STATE.block = before

    def seed(self) -> int:
        """A new seed for each draw inside a block, in the same sequence in each block."""
        if self._seed is None:
            self._seed = drawn()
        self._draws += 1
        return (self._seed + self._draws) % (1 << 62)


def drawn() -> int:
    """A seed from torch's generator, the same on all ranks unless the program makes them differ."""
    return int(torch.randint(1 << 62, ()).item())


class Keyed(NamedTuple):
    """The keys of a tensor's rows, and the seed of a draw."""

    keys: Tensor
    seed: int


def keyed(rows: int) -> Optional[Keyed]:
    """The keys of random draws for a tensor with this number of rows; None if its rows are neither nodes nor edges of this rank."""
    block: Optional[Block] = getattr(_STATE, "block", None)
    if block is not None:
        make = block.keys.get(rows)
        return None if make is None else Keyed(make(), block.seed())
    rank = current.current()
    if rank is None:
        return None
    if rows == rank.graph.num_nodes():
        return Keyed(keys_of_nodes(rank), drawn())
    for name in rank.node_types:
        begin, end = rank.node_range(name)
        if rows == end - begin:
            return Keyed(keys_of_nodes(rank)[begin:end], drawn())
    if rows == rank.graph.num_edges():
        return Keyed(rank.edge_index.columns.keys(), drawn())
    return None
