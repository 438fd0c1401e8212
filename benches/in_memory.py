"""Trains DGL's or PyTorch Geometric's own layers in memory on a partition directory put together again; prints seconds per epoch and
peak memory as JSON.

    python in_memory.py g.json [--library dgl|pyg] [--model sage|gat|gcn] [--layers 3] [--hidden 128] [--heads 4] [--epochs 6] [--threads 2] [--fanouts 15,10,5] [--evaluate]

With fan-outs, an epoch is a pass over batches of 1024 training nodes (DGL only). PyTorch Geometric gets a sparse CSR adjacency, its fast
path on a CPU, except for GAT, which needs the list of edges; reading the files takes DGL in either case. With `--evaluate`, the validation accuracy on the full graph follows each epoch.
"""
import argparse
import json
import os
import resource
import time

arguments = argparse.ArgumentParser()
arguments.add_argument("part_json")
arguments.add_argument("--library", default="dgl", choices=["dgl", "pyg"])
arguments.add_argument("--model", default="sage")
arguments.add_argument("--layers", type=int, default=3)
arguments.add_argument("--hidden", type=int, default=128)
arguments.add_argument("--heads", type=int, default=4)
arguments.add_argument("--epochs", type=int, default=6)
arguments.add_argument("--threads", type=int, default=2)
arguments.add_argument("--fanouts")
arguments.add_argument("--batch-size", type=int, default=1024)
arguments.add_argument("--evaluate", action="store_true")
arguments = arguments.parse_args()
os.environ["OMP_NUM_THREADS"] = str(arguments.threads)

from whole_graph import whole_graph

import dgl
import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(arguments.threads)
torch.manual_seed(0)


class Dgl:
    """DGL's layers, on its graph."""

    def graph(self, graph):
        return graph

    def layer(self, width, out, last):
        if arguments.model == "gat":
            return dgl.nn.GATConv(width, out, arguments.heads, allow_zero_in_degree=True)
        if arguments.model == "gcn":
            return dgl.nn.GraphConv(width, out, allow_zero_in_degree=True)
        return dgl.nn.SAGEConv(width, out, "mean")

    def apply(self, conv, graph, x, last):
        x = conv(graph, x)
        if arguments.model == "gat":
            return x.mean(1) if last else x.flatten(1)
        return x


class Pyg:
    """PyTorch Geometric's layers, on in-edges by destination."""

    def graph(self, graph):
        src, dst = graph.edges()
        if arguments.model == "gat":
            return torch.stack([src, dst])
        nodes = graph.num_nodes()
        return torch.sparse_coo_tensor(torch.stack([dst, src]), torch.ones(len(src)), (nodes, nodes)).coalesce().to_sparse_csr()

    def layer(self, width, out, last):
        from torch_geometric.nn import GATConv, GCNConv, SAGEConv

        if arguments.model == "gat":
            return GATConv(width, out, arguments.heads, concat=not last, add_self_loops=False)
        return GCNConv(width, out, add_self_loops=False) if arguments.model == "gcn" else SAGEConv(width, out)

    def apply(self, conv, graph, x, last):
        return conv(x, graph)


class Net(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        convs = []
        for layer in range(arguments.layers):
            last = layer + 1 == arguments.layers
            out = classes if last else arguments.hidden
            convs.append(library.layer(width, out, last))
            width = out * arguments.heads if arguments.model == "gat" else out
        self.convs = nn.ModuleList(convs)

    def forward(self, graphs, x):
        for layer, conv in enumerate(self.convs):
            last = layer + 1 == len(self.convs)
            x = library.apply(conv, graphs[layer], x, last)
            if not last:
                x = F.elu(x) if arguments.model == "gat" else F.relu(x)
        return x


library = {"dgl": Dgl, "pyg": Pyg}[arguments.library]()
graph, columns = whole_graph(arguments.part_json)
x, y = columns["feat"].float(), columns["label"].long()
train, validation = columns["train_mask"].bool(), columns["val_mask"].bool()
del columns
graph = library.graph(graph)
net = Net(x.shape[1], int(y.max()) + 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
if arguments.fanouts:
    sampler = dgl.dataloading.NeighborSampler([int(fanout) for fanout in arguments.fanouts.split(",")])
    seeds = train.nonzero().flatten()
    loader = dgl.dataloading.DataLoader(graph, seeds, sampler, batch_size=arguments.batch_size, shuffle=True)


def steps():
    """Predictions and labels of the training nodes, step by step."""
    if not arguments.fanouts:
        yield net([graph] * arguments.layers, x)[train], y[train]
        return
    for inputs, outputs, blocks in loader:
        yield net(blocks, x[inputs]), y[outputs]


@torch.no_grad()
def accuracy():
    predicted = net([graph] * arguments.layers, x)[validation].argmax(1)
    return (predicted == y[validation]).float().mean().item()


seconds, accuracies = [], []
for _ in range(arguments.epochs):
    begin = time.perf_counter()
    for predicted, labels in steps():
        loss = F.cross_entropy(predicted, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    seconds.append(time.perf_counter() - begin)
    if arguments.evaluate:
        accuracies.append(accuracy())
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
figures = {"epoch_s": seconds[1:], "all_epoch_s": seconds, "val_acc": accuracies}
print(json.dumps({**figures, "loss": float(loss.detach()), "peak_bytes": peak}))
