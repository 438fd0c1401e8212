"""Compares modules of PyTorch Geometric on `rank.edge_index` with the package's own layers, and with PyG in memory, in turns.

    python python/benchmarks/against_pyg.py layers [--parts 4,16] [--models sage,gcn,gat,gatv2] [--rounds 3]
    python python/benchmarks/against_pyg.py memory [--parts 4] [--models transformer,edge,own] [--budget 1GiB] [--nodes 50000 --edges 1000000]

Needs a Python with this package and torch_geometric. Partitions are kept in --folder for the next time. A ratio is of the same round's runs;
processor seconds are those of all workers in an epoch.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

import sar_single as sar

WIDTH, HEADS, CLASSES = 128, 4, 40


def layers(library, name):
    """Two layers: those of PyG ("pyg") or of the package ("sar"); each is made of its number of input and output columns."""
    if library == "sar":
        make = {
            "sage": lambda a, b, h: sar.nn.SAGEConv(a, b, "mean"),
            "gcn": lambda a, b, h: sar.nn.GraphConv(a, b, "both", allow_zero_in_degree=True),
            "gat": lambda a, b, h: sar.nn.GATConv(a, b // h, h, allow_zero_in_degree=True),
            "gatv2": lambda a, b, h: sar.nn.GATv2Conv(a, b // h, h, allow_zero_in_degree=True),
        }[name]
    else:
        from torch_geometric import nn as pyg

        class Own(pyg.MessagePassing):
            def __init__(self, a, b):
                super().__init__(aggr="mean")
                self.of_ends, self.gate = nn.Linear(a, b), nn.Linear(a, b)

            def forward(self, x, edge_index):
                return self.propagate(edge_index, x=self.of_ends(x), gate=self.gate(x))

            def message(self, x_j, gate_i, gate_j):
                return x_j * torch.sigmoid(gate_i + gate_j)

        make = {
            "sage": lambda a, b, h: pyg.SAGEConv(a, b),
            "gcn": lambda a, b, h: pyg.GCNConv(a, b),
            "gat": lambda a, b, h: pyg.GATConv(a, b // h, h),
            "gatv2": lambda a, b, h: pyg.GATv2Conv(a, b // h, h),
            "transformer": lambda a, b, h: pyg.TransformerConv(a, b // h, h),
            "edge": lambda a, b, h: pyg.EdgeConv(nn.Sequential(nn.Linear(2 * a, b), nn.ReLU())),
            "own": lambda a, b, h: Own(a, b),
        }[name]
    return nn.ModuleList([make(WIDTH, WIDTH, HEADS), make(WIDTH, WIDTH, HEADS)])


def step(model, optimizer, x, edges, y, train, gather):
    """An epoch: its seconds, and its processor seconds."""

    def call(layer, x):
        return layer(x, edges) if isinstance(edges, torch.Tensor) else layer(edges, x).flatten(1)

    begin, used = time.perf_counter(), time.process_time()
    out = call(model[1], F.relu(call(model[0], x)))
    loss = F.cross_entropy(out[train], y[train], reduction="sum") / len(y)
    optimizer.zero_grad()
    loss.backward()
    gather()
    optimizer.step()
    return time.perf_counter() - begin, time.process_time() - used


def worker(rank, library, name, epochs):
    x, y, train = rank.x.float(), rank.y.long(), rank.train_mask
    torch.manual_seed(0)
    model = layers(library, name)
    rank.sync_params(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    edges = rank.graph if library == "sar" else rank.edge_index
    times = []
    for epoch in range(epochs):
        times.append(step(model, optimizer, x, edges, y, train, lambda: rank.gather_grads(model)))
        rank.log(epoch=epoch)
    return times


def partitioned(library, name, parts, budget, arguments):
    with tempfile.TemporaryDirectory(dir=arguments.folder) as out:
        graph = cut(parts, arguments)
        ranks = sar.run(worker, graph, args=(library, name, arguments.epochs), memory_budget=budget, out=out, spill_dir=Path(out) / "spill")
        lines = [json.loads(line) for line in (Path(out) / "metrics.jsonl").read_text().splitlines()]
    processor = [sum(times[epoch][1] for times in ranks) for epoch in range(arguments.epochs)]
    # The governor shares memory out after the second step.
    return {"s": [t for t, _ in ranks[0][3:]], "cpu": processor[3:], "mib": max(line["peak_memory_bytes"] for line in lines) >> 20}


def in_memory(name, arguments):
    """PyG on the whole graph in a process of its own."""
    flags = ["child", "--models", name, *(f"--{key}={getattr(arguments, key)}" for key in ("nodes", "edges", "epochs", "folder"))]
    run = subprocess.run([sys.executable, __file__, *flags], capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def child(name, arguments):
    torch.set_num_threads(2)
    edges, x, y, train = (torch.load(file) for file in files(arguments))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    torch.manual_seed(0)
    model = layers("pyg", name)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    times = [step(model, optimizer, x, edges, y, train, lambda: None) for _ in range(arguments.epochs)]
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10) - before
    print(json.dumps({"s": [t for t, _ in times[1:]], "cpu": [t for _, t in times[1:]], "mib": peak}))


def files(arguments):
    """Files of the generated graph: half a percent of the nodes are a community, in which four of five edges stay."""
    folder = Path(arguments.folder) / f"{arguments.nodes}-{arguments.edges}"
    found = [folder / f"{name}.pt" for name in ("edges", "x", "y", "train")]
    if not found[-1].exists():
        folder.mkdir(parents=True, exist_ok=True)
        draw = torch.Generator().manual_seed(0)
        nodes, edges, size = arguments.nodes, arguments.edges, arguments.nodes // 200
        source = torch.randint(0, nodes, (edges,), generator=draw)
        near = source // size * size + torch.randint(0, size, (edges,), generator=draw)
        far = torch.randint(0, nodes, (edges,), generator=draw)
        end = torch.where(torch.rand(edges, generator=draw) < 0.8, near.clamp(max=nodes - 1), far)
        # The engine's attention takes no graph in which a node has two self loops.
        ends = torch.stack([source, torch.where(end == source, (end + 1) % nodes, end)])
        y = torch.arange(nodes) // size % CLASSES
        x = torch.randn(nodes, WIDTH, generator=draw) + F.one_hot(y, WIDTH)
        for file, value in zip(found, (ends, x, y, torch.rand(nodes, generator=draw) < 0.5)):
            torch.save(value, file)
    return found


def cut(parts, arguments):
    folder = Path(arguments.folder) / f"{arguments.nodes}-{arguments.edges}" / f"parts-{parts}"
    if not folder.exists():
        edges, x, y, train = (torch.load(file) for file in files(arguments))
        data = {"x": x, "y": y, "train_mask": train}
        sar.partition(folder, edge_index=edges, num_nodes=arguments.nodes, num_parts=parts, node_data=data)
    return str(next(folder.glob("*.json")))


def compared(name, parts, ours, theirs):
    """A row of the table: the ratios of ours to theirs, and what they are of."""
    of = {key: ([v for run in ours for v in run[key]], [v for run in theirs for v in run[key]]) for key in ("s", "cpu")}
    ratios = [how(a) / how(b) for a, b in of.values() for how in (min, statistics.median)]
    mib = [max(run["mib"] for run in runs) for runs in (ours, theirs)]
    seconds = [f"{statistics.median(values):.2f} ({min(values):.2f})" for values in of["s"]]
    processor = [f"{statistics.median(values):.2f}" for values in of["cpu"]]
    cells = [name, str(parts), *(f"{ratio:.2f}" for ratio in ratios), f"{mib[0] / max(mib[1], 1):.2f}"]
    return " | ".join([*cells, " / ".join(seconds), " / ".join(processor), f"{mib[0]} / {mib[1]}"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("layers", "memory", "child"))
    parser.add_argument("--models")
    parser.add_argument("--nodes", type=int, default=200000)
    parser.add_argument("--edges", type=int, default=4000000)
    parser.add_argument("--parts", default="4,16")
    parser.add_argument("--budget")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), "sar-single-bench-pyg"))
    arguments = parser.parse_args()
    Path(arguments.folder).mkdir(parents=True, exist_ok=True)
    if arguments.what == "child":
        return child(arguments.models, arguments)
    files(arguments)
    of_layers = arguments.what == "layers"
    budget = arguments.budget or ("6GiB" if of_layers else "1GiB")
    print("| module | partitions | fastest | median | cpu, fastest | cpu, median | memory | s per epoch (fastest) | processor s | MiB |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in (arguments.models or ("sage,gcn,gat,gatv2" if of_layers else "transformer,edge,own")).split(","):
        for parts in map(int, arguments.parts.split(",")):
            ours, theirs = [], []
            for _ in range(arguments.rounds):
                theirs.append(partitioned("sar", name, parts, budget, arguments) if of_layers else in_memory(name, arguments))
                ours.append(partitioned("pyg", name, parts, budget, arguments))
            print(f"| {compared(name, parts, ours, theirs)} |", flush=True)


if __name__ == "__main__":
    main()
