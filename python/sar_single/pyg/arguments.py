"""Arguments of a module's ``message``, ``aggregate`` and ``edge_update``, for all edges of a rank or for a block of them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any, Dict, Sequence, Tuple

import torch
from torch import Tensor

from ..graph.destinations import edges_of_block
from ..graph.rows import Rows, Which
from ..graph.unfit import Unfit
from ..process import current
from .columns import Columns
from .edge_index import EdgeIndex
from .ends import Ends
from .errors import refused
from .places import Destinations
from .stand_in import Deferred, StandIn, read

# Arguments that PyG passes and that are known for a block.
_OF_BLOCK = ("index", "dim_size", "size_i", "ptr")
# Attributes that describe all edges.
_OF_ALL = ("edge_index", "adj_t", "edge_index_i", "edge_index_j", "size", "size_j")

# Edges to one more node, placed before the others in a block with fewer than two edges, because some aggregations fail on these.
PADDING = 2

# Agreement among ranks: which arguments of which function have a row per edge.
_AGREED: Dict[Tuple[Any, ...], Tuple[bool, ...]] = {}


@dataclass
class Arguments:
    """Values by the name of the argument. Those of sources and destinations have a row per node; ``dims`` has the dimension in which functions
    get these, where it is not the first one."""

    columns: Columns
    sources: Dict[str, Tensor] = field(default_factory=dict)
    destinations: Dict[str, Tensor] = field(default_factory=dict)
    edges: Dict[str, Tensor] = field(default_factory=dict)
    others: Dict[str, Any] = field(default_factory=dict)
    dims: Dict[str, int] = field(default_factory=dict)
    # Why these functions cannot run in blocks of edges.
    unfit: str = ""

    def tensors(self) -> Dict[str, Tensor]:
        """The arguments with a row per source, destination or edge."""
        return {**self.sources, **self.destinations, **self.edges}

    def in_rows(self) -> "BlockArguments":
        """The arguments for blocks. One pause per argument of sources."""
        topology = self.columns.topology
        sources = {name: Rows(topology.halo(self.sources[name])) for name in sorted(self.sources)}
        destinations = {name: Rows(value) for name, value in self.destinations.items()}
        edges = {name: Rows(read(value)) for name, value in self.edges.items()}
        return BlockArguments(self.columns, sources, destinations, edges, self.others, self.dims)


@dataclass
class BlockArguments:
    """Values by the name of the argument, of which blocks take rows. ``sources`` have the rows of other ranks, too."""

    columns: Columns
    sources: Dict[str, Rows]
    destinations: Dict[str, Rows]
    edges: Dict[str, Rows]
    others: Dict[str, Any]
    dims: Dict[str, int]

    def edges_of_block(self) -> int:
        """Number of edges of a block."""
        return edges_of_block([rows.tensor for values in (self.sources, self.destinations, self.edges) for rows in values.values()])

    def of_block(self, names: Sequence[str], which: Which, first: int, last: int) -> Dict[str, Any]:
        """The arguments for a block of edges to the destinations from ``first`` to ``last``."""
        source, destination = self.columns.source[which], self.columns.destination[which]
        ends = (self.edges, which), (self.sources, source), (self.destinations, destination)
        given: Dict[str, Any] = {**self.others, **{name: rows[of_edges] for values, of_edges in ends for name, rows in values.items()}}
        index = destination - first
        if len(index) > 1:
            return self._with_index(given, names, index, first, last - first)
        for values, _ in ends:
            given.update({name: torch.cat([_some_rows(rows.tensor), given[name]]) for name, rows in values.items()})
        return self._with_index(given, names, torch.cat([torch.zeros(PADDING, dtype=torch.int64), index + 1]), first - 1, last - first + 1)

    def _with_index(self, given: Dict[str, Any], names: Sequence[str], index: Tensor, first: int, count: int) -> Dict[str, Any]:
        place = Destinations(self.columns.topology.num_nodes, first, count)
        known = {"index": Ends(index, place), "dim_size": count, "size_i": count, "ptr": None}
        given.update({name: value for name, value in known.items() if name in names})
        given.update({name: given[name].movedim(0, dim) for name, dim in self.dims.items()})
        return given


def _some_rows(like: Tensor) -> Tensor:
    """Rows without zeros and equal values, at which functions have gradients; zeros of whole numbers.

    They depend on ``like``, so that the backward pass comes to the same collectives as on other ranks.
    """
    rows = torch.zeros((PADDING, *like.shape[1:]), dtype=like.dtype)
    if not like.is_floating_point():
        return rows
    return rows + like[:0].sum(0) + (torch.arange(rows.numel()) * 0.7 + 1).sin().reshape(rows.shape).to(like.dtype) / 4 + 0.5


def collected(module: Any, edges: EdgeIndex, function: str, names: Sequence[str], kwargs: Dict[str, Any]) -> Arguments:
    """Sorts the arguments of ``propagate`` or ``edge_updater`` by the meaning of their rows."""
    result = Arguments(edges.columns)
    special = [name for name in names if name in _OF_ALL]
    if edges.turned != (module.flow == "target_to_source"):
        result.unfit = "messages go from destinations to sources"
    elif special:
        result.unfit = f"its {function} asks for {special[0]}"
    functions = [function] if function == "edge_update" else [function, "aggregate"]
    flat = module.inspector.get_flat_param_dict(functions, exclude=[*_OF_BLOCK, *_OF_ALL])
    unclear: Dict[str, Tensor] = {}
    for name in names:
        if name in _OF_BLOCK or name in _OF_ALL:
            continue
        if name.endswith(("_i", "_j")):
            _of_ends(module, result, name, kwargs.get(name[:-2]))
        elif name not in kwargs:
            result.others[name] = default(module, function, flat[name])
        elif isinstance(kwargs[name], Deferred) and len(kwargs[name]) == len(edges.columns):
            result.edges[name] = kwargs[name]
        elif isinstance(kwargs[name], StandIn):
            result.others[name], result.unfit = kwargs[name], result.unfit or f"its {function} is given edges"
        elif isinstance(kwargs[name], Tensor) and kwargs[name].dim() > 0:
            unclear[name] = kwargs[name]
        else:
            result.others[name] = kwargs[name]
    for name, of_edges in _agreed(module, function, unclear, len(edges.columns)).items():
        (result.edges if of_edges else result.others)[name] = unclear[name]
    return result


def default(module: Any, function: str, parameter: Any) -> Any:
    """The default of an argument that ``propagate`` or ``edge_updater`` did not get."""
    if parameter.default is inspect.Parameter.empty:
        caller = "edge_updater" if function == "edge_update" else "propagate"
        raise TypeError(f"{type(module).__name__}.{function} needs {parameter.name!r}: pass it to {caller}")
    return parameter.default


def _of_ends(module: Any, result: Arguments, name: str, value: Any) -> None:
    source = name.endswith("_j")
    topology = result.columns.topology
    sizes = topology.num_sources, topology.num_nodes
    if isinstance(value, (tuple, list)):
        for part, rows in () if result.unfit else zip(value, sizes if module.flow == "source_to_target" else sizes[::-1]):
            _check(module, name, part, rows)
        value = value[0 if source == (module.flow == "source_to_target") else 1]
    if not isinstance(value, Tensor):
        result.others[name] = None
        return
    if value.dim() == 0 or not -value.dim() <= module.node_dim < value.dim():
        raise Unfit("nodes are not in a dimension of its values")
    if not result.unfit:
        _check(module, name, value, sizes[0 if source else 1])
    dim = module.node_dim % value.dim()
    # A value shared by two functions stays shared.
    if dim != 0:
        result.dims[name], value = dim, value.movedim(dim, 0)
    (result.sources if source else result.destinations)[name] = value


def _check(module: Any, name: str, value: Any, rows: int) -> None:
    dim = module.node_dim
    if isinstance(value, Tensor) and -value.dim() <= dim < value.dim() and value.shape[dim] != rows:
        raise refused(
            "propagate",
            f"edge_index in {type(module).__name__}",
            f"{name[:-2]!r} has {value.shape[dim]} rows, but this rank has {rows} nodes there",
            "use values with a row per own node, as rank.x has them",
        )


def _agreed(module: Any, function: str, values: Dict[str, Tensor], edges: int) -> Dict[str, bool]:
    """The values with a row per edge. One collective when a class is first called with such arguments, and whenever one of them had no row per edge:
    on one rank, a table may have as many rows as there are edges."""
    key = (type(module), function, *[(name, value.shape[1:]) for name, value in values.items()])
    found = tuple(len(value) == edges for value in values.values())
    rank = current.current()
    if values and not all(_AGREED.get(key, (False,))):
        _AGREED[key] = found if rank is None else tuple(rank.all_reduce(torch.tensor(found).long(), op="min").bool().tolist())
    agreed = dict(zip(values, _AGREED.get(key, ())))
    for (name, of_edges), here in zip(agreed.items(), found):
        if of_edges and not here:
            remedy = "pass a row per edge, as before, or a number, or a tensor without dimensions"
            raise ValueError(f"{type(module).__name__}: {name!r} has {len(values[name])} rows, but there are {edges} edges: {remedy}")
    return agreed
