"""PyG's modules on ``rank.edge_index``: replaces their operations on edges when PyG is imported."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, Optional

import torch

from ..graph.keys import Block
from ..graph.scope import of_messages
from ..graph.unfit import Unfit, note
from ..process import current
from ..process.imports import change_when_imported, swap
from .annotations import patch_inspector
from .apart import check_apart
from .arguments import Arguments, collected, default
from .attention import RETURNED, attention
from .blocks import in_blocks
from .dropouts import DROPOUTS
from .edge_index import EdgeIndex, own_nodes
from .edge_values import EXCHANGED_LATER
from .ends import Ends
from .errors import refused
from .fused import fused
from .hooks import watched
from .joined import construct
from .norms import NORMS
from .pooling import POOLING
from .refusals import REFUSALS
from .traced import softmax_of_edges

Theirs = Callable[..., Any]


def patch_pyg() -> None:
    """Makes PyG's modules accept ``rank.edge_index``, as soon as they are imported."""
    change_when_imported(
        {
            "torch_geometric.inspector": patch_inspector,
            "torch_geometric.utils.num_nodes": lambda module: swap(module, "maybe_num_nodes", _nodes),
            "torch_geometric.utils._degree": lambda module: swap(module, "degree", _degree),
            "torch_geometric.utils.hetero": lambda module: swap(module, "construct_bipartite_edge_index", construct),
            "torch_geometric.utils._softmax": lambda module: swap(module, "softmax", softmax_of_edges),
            "torch_geometric.nn.conv.gcn_conv": lambda module: swap(module, "gcn_norm", _gcn_norm),
            "torch_geometric.nn.conv.message_passing": lambda module: _patch_modules(module.MessagePassing),
            **DROPOUTS,
            **POOLING,
            **NORMS,
            **REFUSALS,
        }
    )


def _nodes(theirs: Theirs) -> Theirs:
    """``maybe_num_nodes``, which takes the largest number as the last node."""

    @functools.wraps(theirs)
    def maybe_num_nodes(edge_index: Any, num_nodes: Any = None) -> Any:
        if num_nodes is None and isinstance(edge_index, EdgeIndex):
            topology = edge_index.columns.topology
            if edge_index.columns.changed or topology.graph is None or not _last_node_has_edges(topology.graph):
                raise _count_missing("edge_index")
            return topology.num_nodes
        known = own_nodes(edge_index) if num_nodes is None else None
        return theirs(edge_index, num_nodes) if known is None else known

    return maybe_num_nodes


def _degree(theirs: Theirs) -> Theirs:
    """``degree``, whose result has ``maybe_num_nodes`` rows."""

    @functools.wraps(theirs)
    def degree(index: Any, num_nodes: Any = None, dtype: Any = None) -> Any:
        if num_nodes is None and isinstance(index, Ends):
            raise _count_missing(index.what)
        return theirs(index, num_nodes, dtype)

    return degree


def _gcn_norm(theirs: Theirs) -> Theirs:
    """``gcn_norm``, whose weights go into a sum without an exchange of their own."""

    @functools.wraps(theirs)
    def gcn_norm(*args: Any, **kwargs: Any) -> Any:
        with EXCHANGED_LATER.of(True):
            return theirs(*args, **kwargs)

    return gcn_norm


def _last_node_has_edges(graph: Any) -> bool:
    """Whether the node with the user's largest id has an edge. One collective."""
    rank: Any = current.current()
    ids = rank.orig_ids if rank.ndata.has_original_ids() else torch.arange(graph.num_nodes()) + rank.first_node
    used = ids[(graph.in_degrees() > 0) | (graph.out_degrees() > 0)]
    return bool(rank.all_reduce(int(used.max()) if len(used) else -1, op="max") == rank.num_total_nodes - 1)


def _count_missing(what: str) -> Exception:
    why = "without num_nodes, PyG takes the largest number for the last node, but a rank has some of the nodes"
    return refused("maybe_num_nodes", what, why, "pass num_nodes=x.size(0)")


def _patch_modules(cls: Any) -> None:
    """Replaces ``propagate`` when a module is called, because PyG makes it for a class when the class's first module is made."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        _wrap(type(self))
        _wrap_own(self)
        with RETURNED.of(any(isinstance(value, bool) for value in (*args, *kwargs.values()))):
            # Looked up now: torch.fx replaces it while it traces.
            return torch.nn.Module.__call__(self, *args, **kwargs)

    cls.__call__ = call


def _wrap_own(module: Any) -> None:
    """Wraps a module's own functions, which it has with ``decomposed_layers``."""
    for name, ours in _swapped().items():
        theirs = vars(module).get(name)
        if theirs is not None and not hasattr(theirs, "_of_sar_single"):
            setattr(module, name, _either(theirs.__func__, ours).__get__(module))


def _swapped() -> Dict[str, Theirs]:
    return {"propagate": _propagate, "edge_updater": _edge_updater}


def _wrap(cls: Any) -> None:
    for base in cls.__mro__:
        for name, ours in _swapped().items():
            for kept in (name, f"_orig_{name}", f"_jinja_{name}"):
                theirs = vars(base).get(kept)
                if theirs is not None and not hasattr(theirs, "_of_sar_single") and _is_of_pyg(theirs, base, name):
                    setattr(base, kept, _either(theirs, ours))


def _is_of_pyg(function: Any, cls: Any, name: str) -> bool:
    """Whether PyG has written a function of a class, or generated it in a module. A user's own function calls PyG's."""
    made = [f"{base.__module__}_{base.__name__}_{name}" for base in cls.__mro__]
    return function.__module__ in ("torch_geometric.nn.conv.message_passing", *made)


def _either(theirs: Theirs, ours: Theirs) -> Theirs:
    @functools.wraps(theirs)
    def either(self: Any, edge_index: Any, *args: Any, **kwargs: Any) -> Any:
        with of_messages():
            if isinstance(edge_index, EdgeIndex):
                return ours(theirs, self, edge_index, *args, **kwargs)
            return theirs(self, edge_index, *args, **kwargs)

    either._of_sar_single = True  # type: ignore[attr-defined]
    return either


def _propagate(theirs: Theirs, module: Any, edges: EdgeIndex, size: Any = None, **kwargs: Any) -> Any:
    inspector = module.inspector
    update = inspector.get_param_names("update")
    _check_size(module, edges, size)
    arguments: Optional[Arguments] = None
    try:
        message, aggregate = inspector.get_param_names("message"), inspector.get_param_names("aggregate")
        names = list(dict.fromkeys(message + aggregate))
        arguments = collected(module, edges, "message", names, kwargs)
        unfit = _unfit(module, arguments, ["message", "aggregate"], update)
        out = None if unfit else fused(module, arguments, message)
        if out is None:
            run = _run(module, message, aggregate)
            if _has_own_aggregation(module):
                check_apart(module, ["message", "aggregate"], names, run, arguments)
            else:
                check_apart(module, ["message"], message, lambda given: module.message(**given), arguments)
            if unfit:
                raise Unfit(unfit)
            out = in_blocks(module, arguments, names, run, per_edge=False)
    except Unfit as problem:
        return _at_once(problem, module, "message", arguments, lambda: theirs(module, edges, size=size, **kwargs))
    return module.update(out, **_for_update(module, edges, update, kwargs))


def _run(module: Any, message: List[str], aggregate: List[str]) -> Callable[[Dict[str, Any]], Any]:
    def run(given: Dict[str, Any]) -> Any:
        values = module.message(**{name: given[name] for name in message})
        return module.aggregate(values, **{name: given[name] for name in aggregate})

    return run


def _for_update(module: Any, edges: EdgeIndex, names: List[str], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    parameters, nodes = module.inspector.get_param_dict("update"), edges.columns.topology.num_nodes
    known = {"dim_size": nodes, "size_i": nodes, "index": edges.row(0 if edges.turned else 1), "ptr": None, **kwargs}
    return {name: known[name] if name in known else default(module, "update", parameters[name]) for name in names}


def _edge_updater(theirs: Theirs, module: Any, edges: EdgeIndex, size: Any = None, **kwargs: Any) -> Any:
    names = module.inspector.get_param_names("edge_update")
    _check_size(module, edges, size)

    def run(given: Dict[str, Any]) -> Any:
        return module.edge_update(**given)

    def computed() -> Any:
        try:
            check_apart(module, ["edge_update"], names, run, arguments)
            if unfit:
                raise Unfit(unfit)
            return in_blocks(module, arguments, names, run, per_edge=True)
        except Unfit as problem:
            return at_once(problem)

    def at_once(problem: Unfit) -> Any:
        return _at_once(problem, module, "edge_update", arguments, lambda: theirs(module, edges, size=size, **kwargs))

    arguments: Any = None
    try:
        arguments = collected(module, edges, "edge_update", names, kwargs)
    except Unfit as problem:
        return at_once(problem)
    unfit = _unfit(module, arguments, ["edge_update"], [])
    weights = None if unfit else attention(module, arguments, names, computed)
    return computed() if weights is None else weights


def _at_once(problem: Unfit, module: Any, function: str, arguments: Optional[Arguments], call: Callable[[], Any]) -> Any:
    """PyG's own code on all edges of a rank."""
    note(module, str(problem))
    if arguments is None:
        return call()
    names, columns = module.inspector.get_param_names(function), arguments.columns

    def check(run: Callable[[Dict[str, Any]], Any]) -> None:
        try:
            check_apart(module, [function], names, run, arguments)
        except Unfit as problem:
            note(module, str(problem))

    rows = {columns.topology.num_nodes: columns.topology.keys_of_destinations, len(columns): columns.keys}
    with Block().of(rows), watched(module, function, check):
        return call()


def _check_size(module: Any, edges: EdgeIndex, size: Any) -> None:
    topology = edges.columns.topology
    nodes = (topology.num_nodes, topology.num_sources) if edges.turned else (topology.num_sources, topology.num_nodes)
    if size is not None and any(given not in (None, own) for given, own in zip(size, nodes)):
        why = f"size is {tuple(size)}, but edges go from {nodes[0]} to {nodes[1]} nodes of this rank"
        remedy = "leave size out; a module that takes None for x, as RGCNConv does, takes x=rank.orig_ids for rows of a table of all nodes"
        raise refused("propagate", f"edge_index in {type(module).__name__}", why, remedy)


def _has_own_aggregation(module: Any) -> bool:
    """Whether code other than PyG's aggregates messages, which the book's table is about."""
    parts = module.aggr_module.modules() if isinstance(module.aggr_module, torch.nn.Module) else []
    names = [type(module).aggregate.__module__, *(type(part).__module__ for part in parts)]
    return not all((name or "").startswith(("torch.", "torch_geometric.")) for name in names)


def _unfit(module: Any, arguments: Arguments, functions: List[str], update: List[str]) -> str:
    """Why functions of a module cannot run in blocks of edges; an empty text if they can."""
    if arguments.unfit:
        return arguments.unfit
    hooks = [name for name, value in vars(module).items() if name.endswith("_hooks") and name.startswith("_") and value]
    names = ("_propagate", "_message", "_aggregate", "_edge_update")
    if any(name.startswith(names) for name in hooks):
        return "it has hooks"
    if module.explain:
        return "it is explained"
    if module.decomposed_layers > 1:
        return "it has decomposed_layers"
    if module.node_dim not in (0, -2):
        return "nodes are not in the first dimension of its values"
    if any(name.endswith(("_i", "_j")) and name != "size_i" or name in ("edge_index", "adj_t", "size") for name in update):
        return "its update asks for edges"
    if arguments.dims and functions == ["edge_update"]:
        return "nodes are not in the first dimension of its values"
    return ""
