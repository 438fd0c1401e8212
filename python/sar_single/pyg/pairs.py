"""Pairs of nodes from the user, as edges between ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Tuple

import torch
from torch import Tensor

from .asked import AskedTopology
from .columns import Columns
from .edge_index import EdgeIndex

if TYPE_CHECKING:
    from ..worker.rank import Rank


class PairTopology(AskedTopology):
    """Pairs whose second node is an own node. ``which`` are their numbers among all pairs."""

    def __init__(self, rank: "Rank", pairs: Tensor) -> None:
        self._rank = rank
        ids, rows = rank.orig_ids.sort()
        destination, own = _found(ids, rows, pairs[1])
        self.which = torch.nonzero(own)[:, 0]
        destination = destination[own]
        source, here = _found(ids, rows, pairs[0, own])
        wanted, where = torch.unique(pairs[0, own][~here], return_inverse=True)
        # Every rank is asked for every node, and says which nodes it has.
        answers = [_found(ids, rows, asked) for asked in rank.all_gather(wanted)]
        self._requests = [found[known] for found, known in answers]
        owned = torch.stack(rank.all_to_all([known for _, known in answers]))
        self._arriving = owned.sum(1).tolist()
        missing = wanted[~owned.any(0)]
        # All ranks find the mistake, because they go on together.
        found, unknown = rank.all_reduce(torch.tensor([len(self.which), len(missing)])).tolist()
        if unknown or found != pairs.shape[1]:
            named = f"{int(missing[0])} is not the id of a node" if len(missing) else "some numbers are not ids of nodes"
            raise ValueError(f"pairs: {named}, or ranks name different pairs: pass the same ids of the data on every rank")
        # Rows arrive owner by owner, in the order of ids.
        place = torch.empty(len(wanted), dtype=torch.int64)
        place[owned.int().argmax(0).argsort(stable=True)] = torch.arange(len(wanted))
        self.num_sources = self.num_nodes = rank.graph.num_nodes()
        self.num_edges, self.num_halo_rows = len(self.which), self.num_sources + len(wanted)
        source[~here] = self.num_sources + place[where]
        self._ends = {"source": source, "destination": destination}
        self.places = lambda: self.which


def _found(ids: Tensor, rows: Tensor, wanted: Tensor) -> Tuple[Tensor, Tensor]:
    """The rows of wanted ids, which are meaningless for missing ids, and whether each id exists."""
    if len(ids) == 0:
        return torch.zeros_like(wanted), torch.zeros_like(wanted, dtype=torch.bool)
    at = torch.searchsorted(ids, wanted).clamp(max=len(ids) - 1)
    return rows[at], ids[at] == wanted


@torch.inference_mode(False)
def pairs_of(rank: "Rank", pairs: Tensor) -> Tuple[EdgeIndex, Tensor]:
    """The stand-in for the pairs that end at own nodes, and their numbers."""
    if len(rank.node_types) > 1:
        raise ValueError("pairs: ids must belong to a single node type, but this graph has several")
    if pairs.dim() != 2 or len(pairs) != 2 or pairs.dtype != torch.int64:
        raise ValueError(f"pairs is int64 [2, pairs], but these are {pairs.dtype} {list(pairs.shape)}")
    topology = PairTopology(rank, pairs)
    return EdgeIndex(Columns.whole(topology)), topology.which
