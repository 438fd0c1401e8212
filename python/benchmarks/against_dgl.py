"""Times models in PyTorch on `sar.run` and on DGL in memory, in turns, on one generated graph. Prints medians and ratios.

    make build && python python/benchmarks/against_dgl.py [--parts 4,16] [--budgets 6GiB,1GiB] [--models sage,gat] [--rounds 2]
        [--layers sar_single.nn,dgl.nn]

Needs a Python with this package, dgl and torch. The graph is kept in --folder for the next time.
"""

import argparse
import json
import os
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

ROOT = Path(__file__).resolve().parents[2]


class Model(nn.Module):
    """GraphSAGE 3x128, or GAT 2x(4x32)."""

    def __init__(self, name, layer, features, classes):
        super().__init__()
        self.name = name
        if name == "sage":
            widths = [features, 128, 128, classes]
            self.convs = nn.ModuleList([layer.SAGEConv(a, b, "mean") for a, b in zip(widths, widths[1:])])
        else:
            make = [(features, 32), (128, classes)]
            self.convs = nn.ModuleList([layer.GATConv(a, b, 4, allow_zero_in_degree=True) for a, b in make])

    def forward(self, graph, x):
        for i, conv in enumerate(self.convs):
            x = conv(graph, x)
            last = i == len(self.convs) - 1
            if self.name == "gat":
                x = x.mean(1) if last else F.elu(x.flatten(1))
            elif not last:
                x = F.relu(x)
        return x


def worker(rank, name, layers, epochs):
    import importlib

    x, y, train = rank.ndata["feat"].float(), rank.ndata["label"].long(), rank.ndata["train_mask"].bool()
    classes = int(rank.all_reduce(int(y.max()), op="max")) + 1
    if layers.startswith("dgl"):
        sar.patch_dgl()
    model = Model(name, importlib.import_module(layers), x.shape[1], classes)
    rank.sync_params(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    total = rank.all_reduce(train.sum())
    times = []
    for epoch in range(epochs):
        begin = time.perf_counter()
        loss = F.cross_entropy(model(rank.graph, x)[train], y[train], reduction="sum") / total
        optimizer.zero_grad()
        loss.backward()
        rank.gather_grads(model)
        optimizer.step()
        rank.log(epoch=epoch, loss=rank.all_reduce(loss.detach()))
        times.append(time.perf_counter() - begin)
    return times


def ours(graph, name, layers, budget, arguments):
    with tempfile.TemporaryDirectory(dir=arguments.folder) as out:
        ranks = sar.run(
            worker, graph, args=(name, layers, arguments.epochs), memory_budget=budget, out=out, spill_dir=Path(out) / "spill"
        )
        lines = [json.loads(line) for line in (Path(out) / "metrics.jsonl").read_text().splitlines()]
    # The governor shares memory out after the second step.
    return {"epochs": ranks[0][3:], "peak": max(line["peak_memory_bytes"] for line in lines) >> 20}


def dgl_in_memory(graph, name, arguments):
    script = ROOT / "benches" / "in_memory.py"
    shape = ["--layers", "2", "--hidden", "32", "--heads", "4"] if name == "gat" else ["--layers", "3", "--hidden", "128"]
    flags = ["--model", name, *shape, "--epochs", str(arguments.epochs)]
    run = subprocess.run([sys.executable, str(script), graph, *flags], capture_output=True, text=True, check=True)
    return {"epochs": json.loads(run.stdout.splitlines()[-1])["epoch_s"][2:], "peak": 0}


def generated(parts, arguments):
    folder = Path(arguments.folder) / f"{arguments.nodes}-{arguments.edges}-{parts}"
    if not (folder / "g.json").exists():
        flags = ["--nodes", arguments.nodes, "--edges", arguments.edges, "--features", "128", "--classes", "40"]
        flags += ["--num-parts", str(parts), "--seed", "0", "--out", str(folder)]
        subprocess.run([str(ROOT / "target" / "release" / "sar-single"), "generate", *flags], check=True, stdout=subprocess.DEVNULL)
    return str(folder / "g.json")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default="sage,gat")
    parser.add_argument("--layers", default="sar_single.nn")
    parser.add_argument("--nodes", default="200000")
    parser.add_argument("--edges", default="4000000")
    parser.add_argument("--parts", default="4,16")
    parser.add_argument("--budgets", default="6GiB,1GiB")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), "sar-single-bench"))
    arguments = parser.parse_args()
    Path(arguments.folder).mkdir(parents=True, exist_ok=True)
    print("| model | run | s per epoch (least to most) | ratio | peak MiB |\n|---|---|---|---|---|")
    for name in arguments.models.split(","):
        results = {}
        for _ in range(arguments.rounds):
            for parts in map(int, arguments.parts.split(",")):
                graph = generated(parts, arguments)
                results.setdefault("DGL in memory", []).append(dgl_in_memory(graph, name, arguments))
                for budget in arguments.budgets.split(","):
                    for layers in arguments.layers.split(","):
                        run = ours(graph, name, layers, budget, arguments)
                        results.setdefault(f"{layers}, {parts} partitions, {budget}", []).append(run)
        reference = statistics.median(t for run in results["DGL in memory"] for t in run["epochs"])
        for what, runs in results.items():
            seconds = [t for run in runs for t in run["epochs"]]
            median, peak = statistics.median(seconds), max(run["peak"] for run in runs)
            spread = f"{median:.2f} ({min(seconds):.2f} to {max(seconds):.2f})"
            print(f"| {name} | {what} | {spread} | {median / reference:.2f} | {peak or ''} |", flush=True)


if __name__ == "__main__":
    main()
