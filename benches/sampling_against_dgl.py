#!/usr/bin/env python3
"""Training on sampled neighbourhoods beside DGL's, and sampling alone.

    python benches/sampling_against_dgl.py accuracy target/release/sar-single FOLDER   # needs DGL
    python benches/sampling_against_dgl.py rate g.json [--fanouts 15,10,5] [--batch-size 1024] [--workers 0]

`accuracy` generates a graph of 40,000 nodes and 800,000 edges and prints test accuracies (full neighbourhoods, last epoch) of
seeds 0 to 4, of DGL in one process and of sar-single in four partitions with a quarter of the batch each. `rate` prints the edges
that DGL's NeighborSampler draws per second, nothing else being done; examples/sampling_rate.rs does the same here.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import time

from whole_graph import whole_graph

import dgl
import torch
from dgl.nn import SAGEConv
from torch.nn.functional import cross_entropy, relu

SEEDS = range(5)
EPOCHS, HIDDEN, BATCH, FANOUTS, LR = 5, 64, 1024, [10, 10], 0.01
SIZE = ["--nodes", "40000", "--edges", "800000", "--features", "64", "--classes", "20", "--num-parts", "4"]


class Net(torch.nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.convs = torch.nn.ModuleList(SAGEConv(a, b, "mean") for a, b in zip(widths, widths[1:]))

    def forward(self, graphs, x):
        for layer, (graph, conv) in enumerate(zip(graphs, self.convs)):
            x = conv(graph, x if layer == 0 else relu(x))
        return x


def dgls(graph, columns, seed):
    torch.manual_seed(seed)
    dgl.seed(seed)
    x, y = columns["feat"].float(), columns["label"].long().flatten()
    train, test = columns["train_mask"].bool().flatten(), columns["test_mask"].bool().flatten()
    net = Net([x.shape[1], HIDDEN, int(y.max()) + 1])
    optimizer = torch.optim.Adam(net.parameters(), lr=LR)
    sampler = dgl.dataloading.NeighborSampler(FANOUTS)
    loader = dgl.dataloading.DataLoader(graph, train.nonzero().flatten(), sampler, batch_size=BATCH, shuffle=True)
    for _ in range(EPOCHS):
        for inputs, outputs, blocks in loader:
            loss = cross_entropy(net(blocks, x[inputs]), y[outputs])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        right = net([graph, graph], x).argmax(1) == y
    return 100 * right[test].double().mean().item()


def ours(binary, folder, seed):
    run = folder / "run"
    flags = ["--mode", "sample", "--layers", "2", "--hidden", str(HIDDEN), "--dropout", "0", "--lr", str(LR),
             "--epochs", str(EPOCHS), "--fanouts", ",".join(map(str, FANOUTS)), "--batch-size", str(BATCH // 4),
             "--seed", str(seed), "--overwrite", "--out", run]
    subprocess.run([binary, "--part-json", folder / "graph/g.json", *flags], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return 100 * json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])["test_acc"]


def accuracy(arguments):
    folder = pathlib.Path(arguments.folder)
    subprocess.run([arguments.binary, "generate", *SIZE, "--out", folder / "graph"], check=True, stdout=subprocess.DEVNULL)
    graph, columns = whole_graph(folder / "graph/g.json")
    for who, run in [("sar-single", lambda s: ours(arguments.binary, folder, s)), ("DGL", lambda s: dgls(graph, columns, s))]:
        found = [run(seed) for seed in SEEDS]
        mean, deviation = statistics.mean(found), statistics.stdev(found)
        print(who, *(f"{a:.2f}" for a in found), f"mean {mean:.2f} +- {deviation:.2f}", flush=True)


def rate(arguments):
    graph, columns = whole_graph(arguments.part_json)
    seeds = columns["train_mask"].bool().flatten().nonzero().flatten()
    sampler = dgl.dataloading.NeighborSampler([int(f) for f in arguments.fanouts.split(",")])
    loader = dgl.dataloading.DataLoader(graph, seeds, sampler, batch_size=arguments.batch_size, shuffle=True,
                                        num_workers=arguments.workers)
    for _ in range(3):
        edges, wall, processor = 0, time.perf_counter(), time.process_time()
        for _, _, blocks in loader:
            edges += sum(block.num_edges() for block in blocks)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        print(f"{edges} edges, {edges / wall / 1e6:.2f} million per second, {edges / processor / 1e6:.2f} per processor second")


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("accuracy")
    command.add_argument("binary")
    command.add_argument("folder")
    command.set_defaults(run=accuracy)
    command = commands.add_parser("rate")
    command.add_argument("part_json")
    command.add_argument("--fanouts", default="15,10,5")
    command.add_argument("--batch-size", type=int, default=1024)
    command.add_argument("--workers", type=int, default=0)
    command.set_defaults(run=rate)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
