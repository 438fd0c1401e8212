"""Blocks of destinations with all their in-edges, for functions of messages."""

from __future__ import annotations

from typing import Iterable, List, Optional, Tuple

import torch
from torch import Tensor

# Edges of a block at most, and values in the rows of their arguments. A block has at least one destination.
EDGES = 1 << 16
# Tensors of fewer values come from the allocator's heap, where they leave holes: a quarter of this size took more memory, and twice the time.
VALUES = 1 << 23

Block = Tuple[int, int, int, int]


def edges_of_block(rows: Iterable[Tensor]) -> int:
    """Number of edges that a function gets at a time, if it gets one row of each tensor per edge. A power of two."""
    width = sum(value.shape[1:].numel() for value in rows)
    return min(EDGES, 1 << max((VALUES // max(width, 1)).bit_length() - 1, 0))


def cuts(degrees: Tensor, most: Optional[int], *, apart: bool) -> List[Block]:
    """Ranges of edges in the order of destinations, with their destinations: the first edge and the one after the last, then the nodes.

    ``degrees`` is int64 ``[nodes]``. ``most`` is None for a single block. With ``apart``, nodes without edges in front of others form their own block,
    because some aggregations fail if the first node has no edge.
    """
    nodes = len(degrees)
    begins = torch.zeros(nodes + 1, dtype=torch.int64)
    begins[1:] = degrees.cumsum(0)
    most = int(begins[-1]) if most is None else most

    def behind(edge: int) -> int:
        """The last node such that all nodes before it have at most ``edge`` edges."""
        return int(torch.searchsorted(begins, edge, right=True)) - 1

    blocks: List[Block] = []
    at = 0
    while at < nodes or not blocks:
        begin = int(begins[at])
        last = behind(begin) if apart else at
        if last == at and nodes > 0:
            last = min(max(behind(begin + most), at + 1), nodes)
        blocks.append((begin, int(begins[last]), at, last))
        at = last
    return blocks
