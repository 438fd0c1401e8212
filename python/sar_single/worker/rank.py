"""A worker's view of the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

import torch
from torch import Tensor

from .._engine import Rank as Engine
from ..graph.over_ranks import mean, mean_loss
from ..graph.tensors import place
from ..pyg.data import RankData
from ..pyg.edge_index import EdgeIndex
from ..pyg.pairs import pairs_of
from ..sampling.frontier import RankGraph
from ..sampling.loader import Loader
from ..sampling.node_loader import SampledNodes
from ..sampling.samplers import DistNeighborSampler
from ..sampling.seeds import own_numbers
from ..sampling.subgraphs import SubgraphLoader, SubgraphSampler
from ..stored.stored import StoredGraph
from ..stored.table import Table
from .collectives import Collectives
from .packed import packed, unpacked, without_gradient


class Rank(RankData):
    """A worker of a run: its part of the graph, and the operations that involve all ranks (collectives).

    All ranks must call the same collectives in the same order. Each collective is one pause: while the rank waits, its memory may be on disk.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.index: int = engine.index
        self.world_size: int = engine.world_size
        self._collectives = Collectives(engine.folder, engine.index, engine.world_size)
        self._stored = StoredGraph(engine.files(), Path(engine.folder), [engine.index], self)
        self.num_total_nodes = self._stored.nodes.count
        self.graph = RankGraph(self._collectives.over_edges(engine.edges()), self._stored, self._places_if_one_type)
        self._node_keys: Optional[Tensor] = None
        # Numbers of rows of the last batch of a loader of PyG's batches, until its iteration ends; None before the first of these loaders.
        self._batch_sizes: Optional[Set[int]] = None
        self.ndata = Table(engine, self._stored, self.graph, "node")
        self.edata = Table(engine, self._stored, self.graph, "edge")

    @property
    def orig_ids(self) -> Tensor:
        """Original ids of the own nodes, int64 ``[nodes]``; in a heterogeneous graph, ids inside each type."""
        return torch.cat(list(self.ndata.original_ids().values()))

    @property
    def first_node(self) -> int:
        """Id of this rank's first node in the partitioned graph. Each rank has consecutive ids."""
        return int(self._stored.nodes.part_firsts[self.index])

    @property
    def first_edge(self) -> int:
        """Id of this rank's first edge in the partitioned graph."""
        return int(self._stored.edges.part_firsts[self.index])

    def rows(self, key: str, nodes: Tensor) -> Tensor:
        """Rows of a node feature for nodes of any partition, by their ids in the partitioned graph: ``[len(nodes), *]``. No collective."""
        return self._stored.rows("node", key, nodes)

    def edge_rows(self, key: str, edges: Tensor) -> Tensor:
        """Rows of an edge feature for edges of any partition, by their ids in the partitioned graph (a block's ``edata["_ID"]``):
        ``[len(edges), *]``. No collective. ``"_TYPE"`` gives the edges' types, int64 ``[len(edges)]``.
        """
        return self._stored.rows("edge", key, edges)

    def loader(
        self,
        *,
        batch_size: int,
        fanouts: Optional[Sequence[int]] = None,
        num_neighbors: Any = None,
        seeds: Any = None,
        node_ids: Any = None,
        form: str = "dgl",
        attributes: Optional[Sequence[str]] = None,
        shuffle: bool = True,
        seed: Optional[int] = None,
    ) -> Loader:
        """Mini-batches of sampled neighbours: ``for input_nodes, output_nodes, blocks in rank.loader(...)``.

        ``fanouts`` has the number of in-edges to draw per node and layer, the input layer's first; -1 takes all, and a dict has a number
        per edge type. ``seeds`` are own nodes: a mask ``[nodes]``, or their numbers from 0. ``node_ids`` takes ids in the partitioned graph instead.
        ``rank.rows`` reads features of ``input_nodes``, ``rank.edge_rows`` features of the edges ``edata["_ID"]`` of a block.

        ``form="pyg"`` gives batches like PyG's ``NeighborLoader``: ``Data``, or ``HeteroData`` for a graph with several types, whose
        seeds are ``("paper", mask)``. ``num_neighbors`` is PyG's argument, from the seeds outwards: a list, or one per edge type.
        ``attributes`` selects the attributes to read (``x``, ``y``, ``edge_attr``, ...), by default all. Order and draws depend on ``seed``, by default
        that of ``torch.manual_seed``.

        All ranks make a loader together and get the same number of batches: a rank with fewer seeds repeats its batches, and
        ``batch.num_new`` is 0 there. The first loader writes the in-edges of each partition to the spill folder. One collective, or two the first time.
        """
        if form not in ("dgl", "pyg"):
            raise ValueError(f"unknown form {form!r}: use dgl or pyg")
        if (fanouts is None) == (num_neighbors is None):
            raise TypeError("pass either fanouts, the input layer's first, or num_neighbors, from the seeds outwards")
        if not (num_neighbors if fanouts is None else fanouts):
            raise ValueError("fanouts has a number for each layer")
        ntype: Optional[str] = None
        if isinstance(seeds, (tuple, list)) and len(seeds) == 2 and isinstance(seeds[0], str):
            ntype, seeds = seeds
        begin, end = (0, self.graph.num_nodes()) if ntype is None else self.node_range(ntype)
        of = f"rank {self.index}" if ntype is None else f"type {ntype} on rank {self.index}"
        first = self.first_node + begin
        ids = own_numbers(seeds, node_ids, first, end - begin, of) + first
        if form == "pyg":
            outwards = num_neighbors if fanouts is None else list(fanouts)[::-1]
            sampler = SubgraphSampler(self, ids, outwards, ntype, attributes)
            return SubgraphLoader(self, ids, sampler, batch_size, shuffle=shuffle, seed=seed)
        if attributes is not None:
            raise TypeError('attributes belongs to form="pyg"; rank.rows reads the features of a block\'s nodes')
        inwards = list(num_neighbors)[::-1] if fanouts is None else fanouts
        make = SampledNodes(self.graph, DistNeighborSampler(inwards), triples=True)
        return Loader(self, ids, make, batch_size, shuffle=shuffle, seed=seed)

    def pairs(self, pairs: Tensor) -> Tuple[EdgeIndex, Tensor]:
        """Pairs of nodes, int64 ``[2, pairs]`` of ids in the data, the same on every rank. Returns two values for the pairs whose second node is own:
        a stand-in for PyG's ``edge_label_index`` or negative samples, and the pairs' numbers, which select their labels. Three collectives.
        """
        return pairs_of(self, pairs)

    def barrier(self) -> None:
        """Waits until every rank has called it."""
        self._received("barrier", [])

    def all_gather(self, x: Tensor) -> List[Tensor]:
        """The tensors of all ranks, by rank; shapes may differ. They have no gradient."""
        return self._received("all_gather", [x])

    def all_to_all(self, messages: Sequence[Tensor]) -> List[Tensor]:
        """Sends ``messages[p]`` to rank p; returns the received tensors, by rank. They have no gradient."""
        if len(messages) != self.world_size:
            raise ValueError(f"{len(messages)} tensors for {self.world_size} ranks")
        return self._received("all_to_all", messages)

    def broadcast(self, x: Optional[Tensor], root: int = 0) -> Tensor:
        """The tensor of ``root``; other ranks may pass None. It has no gradient."""
        received = self._received("broadcast", [x] if self.index == root and x is not None else [])
        if len(received) != 1:
            remedy = f"root must be the same on all ranks, below {self.world_size}, and its rank must pass a tensor"
            raise ValueError(f"broadcast: {len(received)} ranks pass a tensor as root; here root is {root}: {remedy}")
        return received[0]

    def all_reduce(self, x: Any, op: str = "sum") -> Any:
        """The sum, maximum (``max``) or minimum (``min``) over ranks; of a number, a number. The bits are the same on every rank."""
        tensor = x if isinstance(x, Tensor) else torch.as_tensor(x, dtype=torch.float64 if isinstance(x, float) else None)
        if op not in _REDUCE:
            raise ValueError(f"all_reduce: unknown operation {op!r}: use sum, max or min")
        if tensor.is_complex():
            raise TypeError("all_reduce: the value is complex: pass torch.view_as_real(x), and use torch.view_as_complex on the result")
        what = "all_reduce" if op == "sum" else f"all_reduce({op})"
        wide = torch.float64 if tensor.is_floating_point() else torch.int64
        totals: List[Tensor] = []

        def add(rank: int, parts: List[Tensor]) -> None:
            (part,) = parts
            if (part.shape, part.dtype) != (tensor.shape, tensor.dtype):
                ours, theirs = (f"{list(t.shape)} of {t.dtype}" for t in (tensor, part))
                places = self._collectives.last(rank)
                raise ValueError(f"all_reduce: rank {self.index} brings {ours}, but rank {rank} {theirs}\n{places}")
            if totals:
                _REDUCE[op](totals[0], part.to(wide), out=totals[0])
            else:
                totals.append(part.to(wide))

        self._exchange(what, [tensor], add)
        if not isinstance(x, Tensor):
            return totals[0].item()
        total = totals[0].to(tensor.dtype)
        # Only a sum is likely to be part of a loss.
        return without_gradient(what, x, total) if op == "sum" else total

    def mean_loss(self, loss: Tensor, count: Any) -> Tensor:
        """The mean of a loss over the rows of all ranks, the same on each; ``loss`` is the mean over ``count`` own rows (a number, or the mask that
        selects them), which may be 0. After ``backward`` on every rank, ``gather_grads`` gives the gradient of this mean. One collective.
        """
        return mean_loss(self, loss, count)

    def mean(self, x: Tensor) -> Tensor:
        """The mean of rows ``[rows, *]`` over all ranks, ``[*]``, like ``x.mean(0)`` in a single process. One collective, and one for the gradient."""
        return mean(self, x)

    def sync_params(self, module: torch.nn.Module) -> None:
        """Gives every rank the parameters and buffers of rank 0. One collective."""
        lazy = [name for name, parameter in module.named_parameters() if torch.nn.parameter.is_lazy(parameter)]
        if lazy:
            raise ValueError(
                f"sync_params: parameters have no shape yet ({', '.join(lazy[:3])}{', ...' if len(lazy) > 3 else ''}): "
                "call the model once before, as in `with torch.no_grad(): model(rank.x, rank.edge_index)`"
            )
        tensors = [*module.parameters(), *module.buffers()]
        values = self._received("sync_params", tensors if self.index == 0 else [], together=True)
        with torch.no_grad():
            for tensor, value in zip(tensors, values):
                if tensor.shape != value.shape:
                    raise ValueError(
                        f"sync_params: a parameter is {list(tensor.shape)} on rank {self.index}, but {list(value.shape)} on rank 0: {_SIZES}"
                    )
                tensor.copy_(value)

    def gather_grads(self, module: torch.nn.Module) -> None:
        """Sums the gradients of a module's parameters over the ranks. One collective."""
        self._add_grads("gather_grads", module, 1)

    def _add_grads(self, what: str, module: torch.nn.Module, divisor: int) -> None:
        """Sets a module's gradients to their sums over the ranks that take part, by a divisor."""
        named = {name: p for name, p in module.named_parameters() if p.requires_grad}
        for name, parameter in named.items():
            if parameter.is_complex():
                raise TypeError(f"{what}: {name} is complex: use a real parameter, and torch.view_as_complex where it is read")
            if parameter.grad is not None and parameter.grad.is_sparse:
                raise TypeError(f"{what}: the gradient of {name} is sparse: use sparse=False, or dist.DistEmbedding")
        known = torch.tensor([p.grad is not None for p in named.values()], dtype=torch.uint8)
        sums = self._sums(what, [known, *(torch.zeros_like(p) if p.grad is None else p.grad for p in named.values())])
        for parameter, anyone, total in zip(named.values(), sums[0].tolist(), sums[1:]):
            if anyone:
                parameter.grad = (total / divisor).to(parameter.dtype)
        self._engine.step()

    def _sums(self, what: str, tensors: Sequence[Tensor]) -> List[Tensor]:
        """The sums of tensors, float64, over the ranks that bring any. The order is that of ranks. One collective."""
        sums: List[Tensor] = []

        def add(rank: int, parts: List[Tensor]) -> None:
            if not sums:
                sums.extend(part.double() for part in parts)
                return
            if parts and [part.shape for part in parts] != [total.shape for total in sums]:
                raise ValueError(f"{what}: parameters of rank {rank} have other shapes than those of ranks before it: {_SIZES}\n{self._collectives.last(rank)}")
            for total, part in zip(sums, parts):
                total += part

        self._exchange(what, tensors, add, together=True)
        return sums

    def log(self, **values: Any) -> None:
        """Reports rank 0's numbers of an epoch. Each call is a line of ``metrics.jsonl``."""
        epoch = values.get("epoch")
        if isinstance(epoch, int):
            self._engine.set_epoch(epoch + 1)
        if self.index == 0:
            plain = {key: v.item() if hasattr(v, "item") else v for key, v in values.items()}
            self._engine.log(json.dumps(plain))

    def _received(self, what: str, tensors: Sequence[Tensor], together: bool = False) -> List[Tensor]:
        """The tensors that the ranks have sent here, rank by rank."""
        received: List[Tensor] = []
        self._exchange(what, tensors, lambda _, parts: received.extend(parts), together)
        return received

    def _exchange(self, what: str, tensors: Sequence[Tensor], receive: Callable[[int, List[Tensor]], None], together: bool = False) -> None:
        """Sends one tensor to all ranks, one tensor to each, or with ``together`` all tensors to all. ``receive`` gets what each rank has sent here,
        in the order of ranks: only one message at a time is in memory unless it is kept.
        """
        messages = [packed(tensor) for tensor in tensors]
        places = [[place(part) for part in parts] for parts in messages]
        if together and places:
            places = [[where for parts in places for where in parts]]
        self._collectives.call(what, self._engine.exchange, places)
        del messages
        for rank in range(self.world_size):
            receive(rank, unpacked(self._collectives.message(what, self._engine.message, rank)))


_SIZES = "sizes of a model must be the same on all ranks, such as rank.num_total_nodes"
_REDUCE: Dict[str, Callable[..., Tensor]] = {"sum": torch.add, "max": torch.maximum, "min": torch.minimum}
