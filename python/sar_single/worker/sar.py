"""SAR's functions, inside workers: the rank's methods under SAR's names, so that its programs run unchanged."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from torch import Tensor, nn

from .. import _absent
from ..graph.graph import Graph
from ..process.current import current
from ..stored.table import Table
from . import mfgs
from .mfgs import LayerGraph
from .rank import Rank

#: SAR's names for a rank's graph.
GraphShardManager = Graph


class PartitionData:
    """A rank's part of the graph: ``node_features`` and ``edge_features`` by key, ``node_ranges`` (first id and end of each rank's nodes)."""

    def __init__(self, rank: Rank) -> None:
        firsts = rank._stored.nodes.part_firsts.tolist()
        self.rank = rank
        self.node_features, self.edge_features = rank.ndata, rank.edata
        self.node_ranges: List[Tuple[int, int]] = list(zip(firsts, firsts[1:]))
        self.node_type_names, self.edge_type_names = rank.node_types, [":".join(etype) for etype in rank.edge_types]


def here() -> Rank:
    """The rank of this worker."""
    found = current()
    if found is None:
        raise RuntimeError("there is no rank here: call this in a worker of sar_single.run")
    return found


def rank() -> int:
    """The number of this worker."""
    return here().index


def world_size() -> int:
    """The number of workers."""
    return here().world_size


def sync_params(model: nn.Module, precall_func: Any = None, callback_func: Any = None) -> None:
    """Gives every rank the parameters and buffers of rank 0. One collective."""
    _without_hooks(precall_func, callback_func)
    here().sync_params(model)


def gather_grads(model: nn.Module, precall_func: Any = None, callback_func: Any = None) -> None:
    """Sums the gradients of a model's parameters over the ranks. One collective."""
    _without_hooks(precall_func, callback_func)
    here().gather_grads(model)


def _without_hooks(*hooks: Any) -> None:
    if any(hook is not None for hook in hooks):
        raise TypeError(f"precall_func and callback_func: {_absent.SAVED}")


def load_dgl_partition_data(partition_json_file: Union[str, "os.PathLike[str]"], own_partition_idx: int, device: Any = "cpu") -> PartitionData:
    """The rank's part of the graph that ``sar_single.run`` was given; other arguments are refused."""
    found = here()
    if str(device) != "cpu":
        raise ValueError(f"device is {device}, but tensors of workers are on the CPU")
    if own_partition_idx != found.index:
        raise ValueError(f"own_partition_idx is {own_partition_idx}, but this worker is rank {found.index}")
    if os.path.realpath(partition_json_file) != os.path.realpath(found._stored.files.path):
        raise ValueError(f"{os.fspath(partition_json_file)} is not {found._stored.files.path}, which sar_single.run was given")
    return PartitionData(found)


def construct_full_graph(partition_data: PartitionData) -> Graph:
    """The rank's graph: ``rank.graph``."""
    return partition_data.rank.graph


def construct_mfgs(
    partition_data: Union[PartitionData, Rank], seed_nodes: Any, n_layers: int, keep_seed_nodes: bool = True
) -> List[LayerGraph]:
    """The graphs of the layers, the input layer's first, with only the nodes on which ``seed_nodes`` depend. Seeds are own nodes by their ids in the
    partitioned graph. The model's input is ``features[graphs[0].input_nodes]``, and its output has a row per seed. Four collectives per layer.
    """
    if not keep_seed_nodes:
        raise ValueError("keep_seed_nodes is False, but layers look for the seeds among the sources: leave it out")
    found = partition_data.rank if isinstance(partition_data, PartitionData) else partition_data
    return mfgs.construct_mfgs(found, seed_nodes, n_layers)


def suffix_key_lookup(
    feature_dict: Union[Table, Dict[str, Tensor]], key: str, expand_to_all: bool = False, type_names: Optional[Sequence[str]] = None
) -> Tensor:
    """The array whose key is ``key`` or ends with it. Arrays of several types are always concatenated; ``expand_to_all`` gives zeros to types that
    lack the array.
    """
    if isinstance(feature_dict, Table):
        return feature_dict.expanded(key) if expand_to_all else feature_dict[key]
    found = [name for name in feature_dict if name == key or name.endswith("/" + key)]
    if len(found) != 1:
        raise KeyError(f"{key!r} is the end of {len(found)} keys: {', '.join(feature_dict)}")
    return feature_dict[found[0]]
