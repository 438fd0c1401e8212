"""The nodes and edges that each process works on. Masks are read in pieces: memory holds one piece and the ids found."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import numpy as np
import torch
from torch import Tensor

from .book import GraphPartitionBook
from .group import check_trainers
from .tensor import BLOCK, DistTensor


def node_split(
    nodes: Any,
    partition_book: Optional[GraphPartitionBook] = None,
    ntype: str = "_N",
    rank: Optional[int] = None,
    force_even: bool = True,
    node_trainer_ids: Any = None,
) -> Tensor:
    """This process's share of the nodes in a mask, a ``DistTensor`` or a tensor: exactly DGL's cut.

    With ``force_even`` every process gets the same number, or one fewer; otherwise its partition's nodes. Several processes of a partition divide its
    nodes at random, or by ``node_trainer_ids``, the ``trainer_id`` of partitions made by DGL.
    """
    book = _book(nodes, partition_book)
    return _split(nodes, book, book._num_nodes(ntype), lambda part: book.partid2nids(part, ntype), rank, force_even, node_trainer_ids)


def edge_split(
    edges: Any,
    partition_book: Optional[GraphPartitionBook] = None,
    etype: Any = "_E",
    rank: Optional[int] = None,
    force_even: bool = True,
    edge_trainer_ids: Any = None,
) -> Tensor:
    """Like ``node_split``, for edges."""
    book = _book(edges, partition_book)
    return _split(edges, book, book._num_edges(etype), lambda part: book.partid2eids(part, etype), rank, force_even, edge_trainer_ids)


def _book(mask: Any, book: Optional[GraphPartitionBook]) -> GraphPartitionBook:
    if book is not None:
        return book
    if not isinstance(mask, DistTensor):
        raise TypeError("a mask that is not a DistTensor needs partition_book")
    return mask.part_policy.partition_book


def _split(mask: Any, book: GraphPartitionBook, count: int, own: Any, rank: Optional[int], force_even: bool, trainer_ids: Any) -> Tensor:
    if len(mask) != count:
        raise ValueError(f"a mask of {len(mask)} values for {count} nodes or edges")
    group, parts = book._graph.group, book.num_partitions()
    check_trainers(group.world_size, parts)
    number = group.index if rank is None else rank
    if not 0 <= number < group.world_size:
        raise ValueError(f"rank is {number}, but there are {group.world_size} processes")
    # A process works on one piece, on a share of one, or on several.
    pieces, shares = min(parts, group.world_size), max(group.world_size // parts, 1)
    piece, share = divmod(number, shares)
    if not force_even:
        each = parts // pieces
        chosen = torch.cat([_chosen(mask, own(part)) for part in range(piece * each, (piece + 1) * each)])
        size = len(chosen) // shares
        return chosen[size * share : size * (share + 1) if share + 1 < shares else len(chosen)]
    found = _numbered(mask, pieces, piece)
    if shares == 1:
        return found
    if trainer_ids is not None:
        return _by_trainer(found, trainer_ids, count, group.world_size, shares, number)
    order = np.random.RandomState(piece).permutation(len(found))
    begin, end = _even(len(found), shares, share)
    return found[torch.from_numpy(np.sort(order[begin:end]))]


def _by_trainer(found: Tensor, trainer_ids: Any, count: int, processes: int, shares: int, number: int) -> Tensor:
    """A process's share: of the nodes that partitioning gave its partition by trainer, and of the remainder, each cut evenly."""
    if len(trainer_ids) != count:
        raise ValueError(f"trainer ids: {len(trainer_ids)} values for {count} nodes or edges")
    blocks = [(begin, min(begin + BLOCK, count)) for begin in range(0, count, BLOCK)]
    trainers = max([int(_block(trainer_ids, block).max()) + 1 for block in blocks], default=0)
    if trainers > processes and trainers % processes:
        raise ValueError(f"trainer ids: {trainers} trainers were assigned, which is not a multiple of {processes} processes")
    ids = _values(trainer_ids, found).long() // max(trainers // processes, 1)
    piece, share = divmod(number, shares)
    local = ids // shares == piece
    order = torch.argsort(ids[local] % shares, stable=True)
    parts = [found[local][order], found[~local]]
    ranges = [_even(len(part), shares, share) for part in parts]
    return torch.cat([part[begin:end] for part, (begin, end) in zip(parts, ranges)])


def _chosen(mask: Any, ids: Tensor) -> Tensor:
    parts = [block[_values(mask, block) != 0] for block in ids.split(BLOCK)]
    return torch.cat(parts) if parts else ids


def _numbered(mask: Any, pieces: int, piece: int) -> Tensor:
    """The ids in one of several equal pieces of the mask's ids."""
    blocks = [(begin, min(begin + BLOCK, len(mask))) for begin in range(0, len(mask), BLOCK)]
    counts = [int(torch.count_nonzero(_block(mask, block))) for block in blocks]
    begin, end = _even(sum(counts), pieces, piece)
    found: List[Tensor] = []
    before = 0
    for block, count in zip(blocks, counts):
        if before < end and before + count > begin:
            ids = torch.nonzero(_block(mask, block)).flatten() + block[0]
            found.append(ids[max(begin - before, 0) : end - before])
        before += count
    return torch.cat(found) if found else torch.empty(0, dtype=torch.int64)


def _even(count: int, pieces: int, piece: int) -> Tuple[int, int]:
    """One of several pieces whose lengths differ by at most 1, the longer ones first."""
    begins = [count // pieces * i + min(i, count % pieces) for i in (piece, piece + 1)]
    return begins[0], begins[1]


def _block(mask: Any, block: Tuple[int, int]) -> Tensor:
    return torch.as_tensor(mask[block[0] : block[1]])


def _values(mask: Any, ids: Tensor) -> Tensor:
    return mask[ids] if isinstance(mask, DistTensor) else torch.as_tensor(mask)[ids]
