"""A folder as the Open Graph Benchmark lays it out -> partitions -> your own model -> predictions in the original ids, and plots.

    python examples/python/ogb_folder.py [FOLDER]

Without a folder it makes a small one in that form. Needs the package (`make wheel`), torch and matplotlib.
"""

import gzip
import json
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import sar_single as sar

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

# %% The folder


def make_folder(folder, nodes=600, degree=8):
    """Three communities; features say little about them, edges much."""
    generator = np.random.default_rng(0)
    label = generator.integers(0, 3, nodes)
    members = [np.flatnonzero(label == c) for c in range(3)]
    source = np.repeat(np.arange(nodes), degree)
    community = np.where(generator.random(len(source)) < 0.15, generator.integers(0, 3, len(source)), label[source])
    destination = np.array([generator.choice(members[c]) for c in community])
    features = generator.standard_normal((nodes, 16)) + np.eye(3, 16)[label]
    parts = np.split(generator.permutation(nodes), [nodes // 2, nodes * 3 // 4])
    write(folder / "raw" / "edge.csv.gz", np.stack([source, destination], 1), "%d")
    write(folder / "raw" / "node-feat.csv.gz", features, "%.6f")
    write(folder / "raw" / "node-label.csv.gz", label[:, None], "%d")
    for name, part in zip(["train", "valid", "test"], parts):
        write(folder / "split" / "random" / f"{name}.csv.gz", np.sort(part)[:, None], "%d")


def write(path, array, form):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        np.savetxt(file, array, fmt=form, delimiter=",")


def read(path, dtype):
    return np.loadtxt(path, delimiter=",", dtype=dtype, ndmin=2)


# %% Partitions


def partition(folder, out):
    edges = read(folder / "raw" / "edge.csv.gz", np.int64)
    label = read(folder / "raw" / "node-label.csv.gz", np.int64)[:, 0]
    data = {"feat": read(folder / "raw" / "node-feat.csv.gz", np.float32), "label": label}
    (split,) = (folder / "split").iterdir()
    for name, key in [("train", "train_mask"), ("valid", "val_mask"), ("test", "test_mask")]:
        data[key] = np.zeros(len(label), dtype=bool)
        data[key][read(split / f"{name}.csv.gz", np.int64)[:, 0]] = True
    both = np.concatenate([edges, edges[:, ::-1]]).T
    return sar.partition(out, edge_index=(both[0], both[1]), node_data=data, num_parts=4), data


# %% The model


class Model(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.attention = sar.nn.GATConv(features, 16, 2)
        self.last = sar.nn.SAGEConv(32, classes, "mean")

    def forward(self, graph, x):
        x = F.elu(self.attention(graph, x).flatten(1))
        return self.last(graph, F.dropout(x, 0.3, self.training))


def worker(rank):
    x, y = rank.ndata["feat"], rank.ndata["label"]
    masks = [rank.ndata[f"{name}_mask"].bool() for name in ("train", "val", "test")]
    counts = [rank.all_reduce(mask.sum()) for mask in masks]
    torch.manual_seed(rank.index)
    model = Model(x.shape[1], 3)
    rank.sync_params(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(30):
        logits = model(rank.graph, x)
        loss = F.cross_entropy(logits[masks[0]], y[masks[0]], reduction="sum") / counts[0]
        optimizer.zero_grad()
        loss.backward()
        rank.gather_grads(model)
        optimizer.step()
        right = torch.stack([(logits.argmax(1) == y)[mask].sum() for mask in masks])
        train, val, test = (rank.all_reduce(right) / torch.stack(counts)).tolist()
        rank.log(epoch=epoch, loss=rank.all_reduce(loss.detach()), train=train, val=val, test=test)
    model.eval()
    with torch.no_grad():
        return rank.orig_ids.numpy(), model(rank.graph, x).argmax(1).numpy()


# %% Training, predictions, plots


def main(folder, results):
    part_json, data = partition(folder, results / "parts")
    predicted = np.empty(len(data["label"]), dtype=np.int64)
    for ids, classes in sar.run(worker, part_json, memory_budget="1GiB", out=results / "run", spill_dir=results / "spill"):
        predicted[ids] = classes
    np.save(results / "predictions.npy", predicted)
    accuracy = (predicted == data["label"])[data["test_mask"]].mean()
    lines = [json.loads(line) for line in (results / "run" / "metrics.jsonl").read_text().splitlines()]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
    left.plot([line["loss"] for line in lines])
    left.set(xlabel="epoch", ylabel="loss")
    for key in ("train", "val", "test"):
        right.plot([line[key] for line in lines], label=key)
    right.set(xlabel="epoch", ylabel="accuracy")
    right.legend()
    figure.tight_layout()
    figure.savefig(results / "curves.png")
    print(f"test accuracy {accuracy:.3f}; curves in {results / 'curves.png'}")
    return accuracy


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        if len(sys.argv) > 1:
            main(Path(sys.argv[1]), Path("ogb-results"))
        else:
            make_folder(Path(made) / "graph")
            assert main(Path(made) / "graph", Path(made)) > 0.7
