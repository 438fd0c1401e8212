"""DGL's distributed interface on the files of a partitioned graph: ``dgl.distributed`` without servers.

In a worker of ``sar_single.run`` it works for that rank. In a plain script it works for the single process, or for the processes of
``torch.distributed`` if that is initialised.
"""

from .._absent import OF_DIST
from ..sampling.edge_loader import Uniform
from ..sampling.frontier import to_block
from . import optim
from .book import GraphPartitionBook, PartitionPolicy
from .embedding import DistEmbedding
from .graph import DistGraph
from .group import exit_client, initialize
from .loaders import DistDataLoader, DistEdgeDataLoader, DistNodeDataLoader, MultiLayerNeighborSampler, NeighborSampler
from .services import find_edges, in_degrees, in_subgraph, out_degrees, sample_etype_neighbors, sample_neighbors
from .split import edge_split, node_split
from .tensor import DistTensor

#: Names under which frontiers, blocks and graphs of pairs keep ids of nodes and edges.
NID = EID = "_ID"

__all__ = [
    "EID",
    "NID",
    "DistDataLoader",
    "DistEdgeDataLoader",
    "DistEmbedding",
    "DistGraph",
    "DistNodeDataLoader",
    "DistTensor",
    "GraphPartitionBook",
    "MultiLayerNeighborSampler",
    "NeighborSampler",
    "PartitionPolicy",
    "Uniform",
    "edge_split",
    "exit_client",
    "find_edges",
    "in_degrees",
    "in_subgraph",
    "initialize",
    "node_split",
    "optim",
    "out_degrees",
    "sample_etype_neighbors",
    "sample_neighbors",
    "to_block",
]


def __getattr__(name: str) -> object:
    """Explains why a DGL name is missing."""
    reason = OF_DIST.get(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}" + (f": {reason}" if reason else ""))
