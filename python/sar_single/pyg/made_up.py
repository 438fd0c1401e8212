"""Made-up edges, with which functions of a module are tried."""

from __future__ import annotations

from itertools import count
from typing import Any, Dict, Iterator, Sequence, Tuple

import torch
from torch import Tensor

from .arguments import Arguments
from .edge_mask import EdgeMask
from .ends import Ends
from .places import Destinations
from .stand_in import StandIn

# What a part of the edges lacks: sources may lie outside of it.
_OF_SOURCES = frozenset("edge_index edge_index_j adj_t size size_j".split())


class MadeUp:
    """Edges, two or three to a destination, whose number divides no size that the code can read: wherever a size is a multiple of it,
    there are edges. ``chosen``: how many of them a mask chooses, more than half."""

    def __init__(self, module: Any, arguments: Arguments) -> None:
        self._module, self._arguments = module, arguments
        self.edges, self.chosen = _numbers(module, arguments)
        self.nodes = self.edges // 2
        # The first node has one edge more, so that a part behind it has neither its number of edges nor the largest values.
        self.index = (torch.arange(self.edges) - 1).clamp(min=0) // 2
        self._rows = {name: rows_like(value, self.edges) for name, value in arguments.tensors().items()}

    @property
    def part(self) -> int:
        """The first node of a part that has all edges of its nodes."""
        return self.nodes // 3

    def begin(self, first: int) -> int:
        """The first edge to the nodes from ``first`` on."""
        return 2 * first + (first > 0)

    def has_parts(self, names: Sequence[str]) -> bool:
        """Whether the edges to some of the nodes can be tried alone with these arguments."""
        return not _OF_SOURCES.intersection(names)

    def given(self, names: Sequence[str], first: int = 0) -> Dict[str, Any]:
        """Arguments for the edges to the nodes from ``first`` on."""
        nodes, begin = self.nodes - first, self.begin(first)
        place = Destinations(self.nodes, first, nodes, made_up=True)
        ends = Ends(self.index[begin:] - first, place)
        known: Dict[str, Any] = {"index": ends, "edge_index_i": ends, "dim_size": nodes, "size_i": nodes, "ptr": None}
        if first == 0:
            known.update(edge_index_j=Ends(self.index * 7 % nodes, place), size_j=nodes, size=[nodes, nodes])
        for name, value in self._arguments.others.items():
            known[name] = ends if isinstance(value, Ends) else EdgeMask.of(self.index[begin:] % 3 > 0) if isinstance(value, EdgeMask) else value
        # Code may change its arguments in place.
        dims = self._arguments.dims
        known.update({name: rows[begin:].movedim(0, dims.get(name, 0)).clone() for name, rows in self._rows.items()})
        return {name: known[name] for name in names}

    def own_rows(self, first: int = 0) -> Dict[str, Tensor]:
        """In place of tensors of the module that have a row per edge or per node of the rank."""
        columns = self._arguments.columns
        rows = {columns.topology.num_nodes: (self.nodes, 0), len(columns): (self.edges, self.begin(first))}
        found = {name: value for name, value in vars(self._module).items() if isinstance(value, Tensor) and not isinstance(value, StandIn)}
        made = {name: (value, *rows[len(value)]) for name, value in found.items() if value.dim() > 0 and len(value) in rows}
        return {name: rows_like(value, count)[begin:] for name, (value, count, begin) in made.items()}

    def part_of(self, output: Tensor, per_edge: bool) -> Tensor:
        """The values of an output that belong to the part."""
        dim = self._module.node_dim
        size = self.edges if per_edge else self.nodes
        if not -output.dim() <= dim < output.dim() or output.shape[dim] != size:
            dim = 0
        begin = self.begin(self.part) if per_edge else self.part
        return output.narrow(dim, begin, output.shape[dim] - begin)


def rows_like(like: Tensor, edges: int) -> Tensor:
    """Values of the shape and type of a row per edge. It does not read ``like``, which may be deferred."""
    shape = torch.Size((edges, *like.shape[1:]))
    if not like.is_floating_point():
        return torch.zeros(shape, dtype=like.dtype)
    # Those of the first edges are the largest and the smallest.
    scale = torch.full((edges, *[1] * (like.dim() - 1)), 0.25)
    scale[: edges // 4] = 0.375
    return ((torch.arange(shape.numel()) * 0.7 + 1).sin().reshape(shape) * scale + 0.5).to(like.dtype)


def _numbers(module: Any, arguments: Arguments) -> Tuple[int, int]:
    """Two primes that divide no size that the code can read."""
    whole = [*arguments.others.values(), *module.parameters(), *module.buffers()]
    sizes = {size for value in whole if isinstance(value, Tensor) and not torch.nn.parameter.is_lazy(value) for size in value.shape}
    sizes.update(size for value in arguments.tensors().values() for size in value.shape[1:])
    # Tensors of the rank's edges and nodes do not fit made-up ones. There are twice as many edges as nodes, and one more.
    nodes = arguments.columns.topology.num_nodes
    sizes.update((len(arguments.columns), nodes, 2 * nodes + 1))
    fitting = (number for number in _primes() if all(size % number or size == 0 for size in sizes))
    before = next(fitting)
    for number in fitting:
        if number < 2 * before:
            return number, before
        before = number
    raise AssertionError("there is no last prime")


def _primes() -> Iterator[int]:
    return (number for number in count(199, 2) if all(number % part for part in range(3, int(number**0.5) + 1, 2)))
