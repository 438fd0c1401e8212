"""The models of the golden cases, with layers of ``sar_single.nn`` or ``dgl.nn``."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """A stack of ``layers`` convolutions of a golden kind, with the parameters' names of the golden files."""

    def __init__(self, layer, kind, sizes, heads=0, num_rels=0):
        super().__init__()
        self.kind, self.convs = kind, nn.ModuleList()
        for i, (width_in, width_out) in enumerate(zip(sizes, sizes[1:])):
            if kind.startswith("sage"):
                conv = layer.SAGEConv(width_in, width_out, kind.split("_")[1])
            elif kind.startswith("gcn"):
                norm = "both" if kind == "gcn" else "none"
                conv = layer.GraphConv(width_in, width_out, norm=norm, allow_zero_in_degree=True)
            elif kind == "gat":
                conv = layer.GATConv(width_in * (heads if i else 1), width_out, heads, allow_zero_in_degree=True)
            else:
                conv = layer.RelGraphConv(width_in, width_out, num_rels)
            self.convs.append(conv)

    def forward(self, graph, x, weight=None, etypes=None):
        for i, conv in enumerate(self.convs):
            last = i == len(self.convs) - 1
            if self.kind == "rgcn":
                x = conv(graph, x, etypes)
            elif self.kind == "gcn_ew":
                x = conv(graph, x, edge_weight=weight)
            else:
                x = conv(graph, x)
            if self.kind == "gat":
                x = x.mean(1) if last else F.elu(x.flatten(1))
            elif not last:
                x = F.relu(x)
        return x


class Stack(nn.Module):
    """A stack of GraphSAGE or GCN layers with an aggregator or a norm, as in ``tests/fixtures/karate_steps.py``."""

    def __init__(self, layer, kind, how, sizes):
        super().__init__()
        self.convs = nn.ModuleList()
        for a, b in zip(sizes, sizes[1:]):
            sage = kind == "sage"
            self.convs.append(layer.SAGEConv(a, b, how) if sage else layer.GraphConv(a, b, norm=how, allow_zero_in_degree=True))

    def forward(self, graph, x, weight=None):
        for i, conv in enumerate(self.convs):
            x = conv(graph, F.relu(x) if i else x, edge_weight=weight)
        return x
