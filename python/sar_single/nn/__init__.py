"""Layers with the parameters, state-dict keys and results of ``dgl.nn``."""

from .batch_norm import BatchNorm
from .gat import GATConv
from .gatv2 import GATv2Conv
from .gin import GINConv
from .graph_conv import GraphConv
from .rel_graph import RelGraphConv
from .sage import SAGEConv

__all__ = ["BatchNorm", "GATConv", "GATv2Conv", "GINConv", "GraphConv", "RelGraphConv", "SAGEConv"]
