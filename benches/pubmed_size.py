#!/usr/bin/env python3
"""Accuracy on a generated graph of PubMed's size (19,717 nodes, 88,648 edges, 500 features, 3 classes; 20 nodes per class to train on,
500 to validate, 1,000 to test), seeds 0 to 4, of DGL and of sar-single in four partitions, with floats and with bfloat16s.

    python benches/pubmed_size.py target/release/sar-single FOLDER        # needs DGL
"""
import json
import pathlib
import statistics
import subprocess
import sys

import dgl
import torch
from dgl.nn import GATConv, GraphConv
from torch.nn.functional import cross_entropy, dropout, elu, relu

SEEDS = range(5)
GCN = ["--model", "gcn", "--hidden", "16", "--dropout", "0.5", "--weight-decay", "5e-4", "--epochs", "200"]
GAT = ["--model", "gat", "--heads", "8", "--hidden", "8", "--dropout", "0.6", "--attention-dropout", "0.6",
       "--weight-decay", "1e-3", "--epochs", "100"]


def make(binary, folder):
    size = ["--nodes", "19717", "--edges", "88648", "--features", "500", "--classes", "3", "--num-parts", "1"]
    subprocess.run([binary, "generate", *size, "--out", folder / "one"], check=True, stdout=subprocess.DEVNULL)
    graph, nodes, *_ = dgl.distributed.load_partition(str(folder / "one/g.json"), 0)
    graph = dgl.graph(graph.edges(order="eid"), num_nodes=graph.num_nodes())
    columns = {key.split("/")[1]: value for key, value in nodes.items()}
    graph.ndata["feat"], label = columns["feat"].float(), columns["label"].long().flatten()
    graph.ndata["label"] = label
    order = torch.randperm(graph.num_nodes(), generator=torch.Generator().manual_seed(0))
    train = torch.cat([order[label[order] == c][:20] for c in range(3)])
    rest = order[~torch.isin(order, train)]
    for name, ids in [("train", train), ("val", rest[:500]), ("test", rest[500:1500])]:
        graph.ndata[f"{name}_mask"] = torch.zeros(graph.num_nodes(), dtype=torch.bool).index_fill(0, ids, True)
    graph = dgl.add_self_loop(dgl.remove_self_loop(graph))
    dgl.distributed.partition_graph(graph, "g", 4, str(folder / "four"), part_method="metis")
    return graph


class Gcn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = torch.nn.ModuleList([GraphConv(500, 16), GraphConv(16, 3)])

    def forward(self, graph, x):
        return self.convs[1](graph, dropout(relu(self.convs[0](graph, x)), 0.5, self.training))


class Gat(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = torch.nn.ModuleList([GATConv(500, 8, 8, 0.6, 0.6), GATConv(64, 3, 8, 0.6, 0.6)])

    def forward(self, graph, x):
        return self.convs[1](graph, elu(self.convs[0](graph, x).flatten(1))).mean(1)


def dgls(graph, net, epochs, decay, seed):
    torch.manual_seed(seed)
    net = net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=decay)
    train, test = graph.ndata["train_mask"], graph.ndata["test_mask"]
    for _ in range(epochs):
        net.train()
        loss = cross_entropy(net(graph, graph.ndata["feat"])[train], graph.ndata["label"][train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        right = net(graph, graph.ndata["feat"]).argmax(1) == graph.ndata["label"]
    return 100 * right[test].double().mean().item()


def ours(binary, folder, flags, seed):
    command = [binary, "--part-json", folder / "four/g.json", "--layers", "2", "--seed", str(seed), "--overwrite", "--out", folder / "run"]
    subprocess.run(command + flags, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    last = json.loads((folder / "run/metrics.jsonl").read_text().splitlines()[-1])
    return 100 * last["test_acc"]


def main():
    binary, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    graph = make(binary, folder)
    for name, net, flags, epochs, decay in [("GCN", Gcn, GCN, 200, 5e-4), ("GAT", Gat, GAT, 100, 1e-3)]:
        narrow = [*flags, "--compute-dtype", "bf16"]
        for who, accuracy in [("sar-single", lambda s: ours(binary, folder, flags, s)),
                              ("sar-single with bf16", lambda s: ours(binary, folder, narrow, s)),
                              ("DGL", lambda s: dgls(graph, net, epochs, decay, s))]:
            all_seeds = [accuracy(seed) for seed in SEEDS]
            mean, deviation = statistics.mean(all_seeds), statistics.stdev(all_seeds)
            print(name, who, *(f"{a:.1f}" for a in all_seeds), f"mean {mean:.1f} +- {deviation:.1f}", flush=True)


if __name__ == "__main__":
    main()
