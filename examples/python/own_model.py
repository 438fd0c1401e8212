"""From arrays to a model of your own and its predictions, on a small graph: two communities.

Needs the package (`make wheel`), torch, and the program `sar-single` on PATH.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import sar_single as sar

NODES, DEGREE = 400, 8


def graph():
    """Sources, destinations, features and labels: most edges stay inside a community."""
    generator = np.random.default_rng(0)
    label = np.arange(NODES) % 2
    source = np.repeat(np.arange(NODES), DEGREE)
    other = generator.random(len(source)) < 0.1
    destination = 2 * generator.integers(0, NODES // 2, len(source)) + np.where(other, 1 - label[source], label[source])
    features = generator.standard_normal((NODES, 16)).astype("float32") + 0.3 * label[:, None].astype("float32")
    return source, destination, features, label


class Model(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.first = sar.nn.SAGEConv(features, hidden, "mean")
        self.second = sar.nn.SAGEConv(hidden, classes, "mean")

    def forward(self, graph, x):
        return self.second(graph, F.dropout(F.relu(self.first(graph, x)), 0.2, self.training))


def worker(rank):
    x, y, train = rank.ndata["feat"], rank.ndata["label"], rank.ndata["train_mask"].bool()
    model = Model(x.shape[1], 32, 2)
    rank.sync_params(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    total = rank.all_reduce(train.sum())
    for epoch in range(20):
        loss = F.cross_entropy(model(rank.graph, x)[train], y[train], reduction="sum") / total
        optimizer.zero_grad()
        loss.backward()
        rank.gather_grads(model)
        optimizer.step()
        rank.log(epoch=epoch, loss=rank.all_reduce(loss.detach()))
    model.eval()
    with torch.no_grad():
        classes = model(rank.graph, x).argmax(1)
    return rank.orig_ids.numpy(), classes.numpy()


def main(folder):
    source, destination, features, label = graph()
    data = {"feat": features, "label": label, "train_mask": np.arange(NODES) % 3 == 0}
    parts = sar.partition(folder / "parts", edge_index=(source, destination), node_data=data, num_parts=2)
    predicted = np.empty(NODES, dtype=np.int64)
    for ids, classes in sar.run(worker, parts, memory_budget="1GiB", out=folder / "run", spill_dir=folder / "spill"):
        predicted[ids] = classes
    accuracy = (predicted == label).mean()
    print(f"accuracy {accuracy:.3f}")
    assert accuracy > 0.8


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
