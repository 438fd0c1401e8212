"""Modules and functions of PyG that look at all nodes of a graph at once, which cannot be right on a rank's part."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, Callable, Dict, List, Tuple

from torch import Tensor

from ..graph.scope import MESSAGES

from ..process import current
from .errors import refused
from .stand_in import StandIn

_COARSER = ("it chooses or joins nodes over all of the graph, but a rank has only some of them", "use layers that keep the nodes")
_ATTENTION = ("every node attends to every other one, but a rank has only some of them", "use attention along edges, as in TransformerConv")
_SAMPLES = (
    "pairs without an edge are drawn from all nodes, but a rank has only some of them",
    "draw pairs of ids of the data with the same seed on every rank, and give them to rank.pairs, or train with sar-single --task link",
)
_SUMMARY = ("it computes a summary of the rank's own nodes", "add it up over the ranks with rank.all_reduce, in your own loss")
_ANSWER = ("a rank can only answer for its own edges", "ask before sar.partition")
_AROUND = ("nodes around others may be with other ranks", "draw neighbours with rank.loader, or choose nodes before sar.partition")
_HYPER = ("a column joins a node with a hyperedge, but the columns here are edges", "make a node of each hyperedge before sar.partition")

# By file below torch_geometric: names, reason and remedy. A name is a class, or a function with an edge_index.
_REFUSED: Dict[str, Tuple[str, Tuple[str, str]]] = {
    "nn.conv.gps_conv": ("GPSConv", _ATTENTION),
    "nn.models.sgformer": ("SGFormer", _ATTENTION),
    "nn.models.polynormer": ("Polynormer", _ATTENTION),
    "nn.models.lpformer": ("LPFormer", _ATTENTION),
    "nn.conv.hypergraph_conv": ("HypergraphConv", _HYPER),
    "nn.models.attentive_fp": ("AttentiveFP", ("it attends from a graph to all of its nodes, but a rank has only some of them", "use global_add_pool")),
    "nn.pool.topk_pool": ("TopKPooling", _COARSER),
    "nn.pool.sag_pool": ("SAGPooling", _COARSER),
    "nn.pool.edge_pool": ("EdgePooling", _COARSER),
    "nn.pool.cluster_pool": ("ClusterPooling", _COARSER),
    "nn.pool.asap": ("ASAPooling", _COARSER),
    "nn.pool.pan_pool": ("PANPooling", _COARSER),
    "nn.pool.graclus": ("graclus", _COARSER),
    "nn.models.graph_unet": ("GraphUNet", _COARSER),
    "nn.models.deep_graph_infomax": ("DeepGraphInfomax", _SUMMARY),
    "nn.models.correct_and_smooth": ("CorrectAndSmooth", ("its scale is a mean over all nodes", "use sar-single correct-and-smooth")),
    "utils.loop": ("contains_self_loops", _ANSWER),
    "utils._homophily": ("homophily", _ANSWER),
    "utils._assortativity": ("assortativity", _ANSWER),
    "utils.isolated": ("contains_isolated_nodes remove_isolated_nodes", _ANSWER),
    "utils._subgraph": ("k_hop_subgraph", _AROUND),
    "utils.undirected": ("is_undirected to_undirected", ("the other direction of an edge is with another rank", "make it undirected before sar.partition")),
    "utils._negative_sampling": ("negative_sampling batched_negative_sampling structured_negative_sampling", _SAMPLES),
}

_NOT_ALONE = "its result for a node depends on how many nodes there are, but a rank has only some of them"


def _equilibrium(module: ModuleType) -> None:
    """An aggregation that gets no edges but is called for them."""
    cls = vars(module)["EquilibriumAggregation"]
    theirs = cls.forward

    @functools.wraps(theirs)
    def forward(*args: Any, **kwargs: Any) -> Any:
        if current.current() is not None:
            raise refused(cls.__name__, "edge_index", _NOT_ALONE, "use another aggregation")
        return theirs(*args, **kwargs)

    cls.forward = forward


def _of_own_rows(names: str, *reason: str) -> Callable[[ModuleType], None]:
    """Refuses functions, or methods of classes (``forward`` if none is named), that relate rows to one another, if these are a rank's nodes, or those
    that the method of a class knows."""

    def change(module: ModuleType) -> None:
        for name in names.split():
            cls, _, method = name.partition(".")
            found: Any = vars(module).get(cls)
            is_class = isinstance(found, type)
            theirs: Any = getattr(found, method or "forward") if is_class else found

            def either(*args: Any, theirs: Any = theirs, name: str = name, **kwargs: Any) -> Any:
                rank: Any = current.current()
                rows = [len(value) for value in (*args, *kwargs.values()) if isinstance(value, Tensor) and value.dim() > 0][:1]
                if rank is not None and rank.world_size > 1 and not MESSAGES.value and (not rows or rank._is_own(rows[0])):
                    raise refused(name, "a rank's rows", *reason)
                return theirs(*args, **kwargs)

            if found is None:
                continue  # Another version of PyG has it.
            either = functools.wraps(theirs)(either)
            setattr(found if is_class else module, (method or "forward") if is_class else name, either)

    return change


_NEAREST = ("neighbours are looked for among the rows of this rank only", "make the graph before sar.partition")

_OF_OWN_ROWS = {
    "nn.conv.gravnet_conv": _of_own_rows("GravNetConv", *_NEAREST),
    "nn.conv.edge_conv": _of_own_rows("DynamicEdgeConv", *_NEAREST),
    "nn.conv.x_conv": _of_own_rows("XConv", *_NEAREST),
    "nn.pool": _of_own_rows("fps knn knn_graph radius radius_graph nearest voxel_grid", *_NEAREST),
    "nn.pool.max_pool": _of_own_rows("max_pool max_pool_x", *_COARSER),
    "nn.pool.avg_pool": _of_own_rows("avg_pool avg_pool_x", *_COARSER),
    "nn.unpool.knn_interpolate": _of_own_rows("knn_interpolate", *_NEAREST),
    "nn.models.autoencoder": _of_own_rows(
        "VGAE.kl_loss ARGVA.kl_loss ARGA.reg_loss ARGA.discriminator_loss InnerProductDecoder.forward_all",
        "it is over the rank's own nodes",
        "compute it from the embeddings, with rank.mean for a mean over all nodes",
    ),
    "utils._to_dense_batch": _of_own_rows("to_dense_batch", "graphs may have nodes on other ranks", "use global_add_pool, global_mean_pool or global_max_pool"),
}


def _refuse(names: List[str], why: str, remedy: str) -> Callable[[ModuleType], None]:
    def change(module: ModuleType) -> None:
        for name in names:
            found = vars(module)[name]
            if isinstance(found, type):
                methods = [method for method in ("forward", "correct", "smooth") if method in vars(found)]
                for method in methods:
                    setattr(found, method, _refusing(vars(found)[method], name, why, remedy))
            else:
                setattr(module, name, _refusing(found, name, why, remedy))

    return change


def _refusing(theirs: Callable[..., Any], name: str, why: str, remedy: str) -> Callable[..., Any]:
    @functools.wraps(theirs)
    def either(*args: Any, **kwargs: Any) -> Any:
        values = [part for value in (*args, *kwargs.values()) for part in (value.values() if isinstance(value, dict) else [value])]
        if any(isinstance(value, StandIn) for value in values):
            raise refused(name, "edge_index", why, remedy)
        return theirs(*args, **kwargs)

    return either


REFUSALS: Dict[str, Callable[[ModuleType], None]] = {
    "torch_geometric.nn.aggr.equilibrium": _equilibrium,
    **{f"torch_geometric.{file}": change for file, change in _OF_OWN_ROWS.items()},
    **{f"torch_geometric.{file}": _refuse(names.split(), *reason) for file, (names, reason) in _REFUSED.items()},
}
