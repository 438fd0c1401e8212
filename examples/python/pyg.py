#!/usr/bin/env python3
"""A GAT of PyTorch Geometric on Cora, in memory and out of core: the same modules, the same losses, the same classes.

    python examples/python/pyg.py [EPOCHS]

``train`` is the program out of core. It is the one in memory with four changes, which comments mark.
"""

import copy
import pathlib
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GATConv

import sar_single as sar

CORA = pathlib.Path(__file__).resolve().parents[2] / "data" / "cora" / "cora.npz"


class Net(torch.nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.first, self.second = GATConv(features, 8, heads=8), GATConv(64, classes)

    def forward(self, x, edge_index):
        return self.second(F.elu(self.first(x, edge_index)), edge_index)


def cora():
    """2,708 papers with a word vector each, a topic, and citations in both directions."""
    file = np.load(CORA)
    ties, label = torch.from_numpy(file["ties"].astype(np.int64)), torch.from_numpy(file["labels"].astype(np.int64))
    x = torch.zeros(len(label), int(file["words"].max()) + 1)
    paper = np.repeat(np.arange(len(label)), file["words_per_paper"])
    x[paper, file["words"].astype(np.int64)] = 1
    split = torch.from_numpy(file["split"])
    return Data(
        x=F.normalize(x, p=1.0),
        edge_index=torch.cat([ties, ties.flip(0)], 1),
        y=label,
        train_mask=split == 1,
        val_mask=split == 2,
        test_mask=split == 3,
    )


def in_memory(data, net, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
    losses = []
    for _ in range(epochs):
        out = net(data.x, data.edge_index)
        loss = F.cross_entropy(out[data.train_mask], data.y[data.train_mask])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return losses, net(data.x, data.edge_index)


def train(rank, net, epochs):
    rank.sync_params(net)  # 1: every rank starts from the weights of the first.
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
    x, y, train_mask = rank.x, rank.y, rank.train_mask  # 2: `rank` stands where `data` stood.
    losses = []
    for epoch in range(epochs):
        out = net(x, rank.edge_index)
        # 3: the mean over the nodes of all ranks; some ranks may have no node to train on.
        loss = rank.mean_loss(F.cross_entropy(out[train_mask], y[train_mask]), train_mask)
        optimizer.zero_grad()
        loss.backward()
        rank.gather_grads(net)  # 4: the sum of all ranks' gradients.
        optimizer.step()
        losses.append(loss.item())
        rank.log(epoch=epoch, loss=loss.detach())
    with torch.no_grad():
        return losses, rank.orig_ids, net(x, rank.edge_index)


def main():
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    data = cora()
    torch.manual_seed(0)
    net = Net(data.num_features, int(data.y.max()) + 1)
    start = copy.deepcopy(net)
    losses, expected = in_memory(data, net, epochs)

    with tempfile.TemporaryDirectory() as folder:
        parts = sar.partition(f"{folder}/parts", data, num_parts=4)
        ranks = sar.run(train, parts, args=(start, epochs), memory_budget="min", spill_dir=f"{folder}/spill")
    out = torch.empty_like(expected)
    for _, ids, rows in ranks:
        out[ids] = rows

    ours = ranks[0][0]
    assert max(abs(a - b) / b for a, b in zip(ours, losses)) < 1e-3, "the losses differ"
    assert (out - expected).abs().max() < 1e-2 * expected.abs().max(), "the logits differ"
    accuracy = [(rows.argmax(1) == data.y)[data.test_mask].float().mean().item() for rows in (expected, out)]
    assert abs(accuracy[0] - accuracy[1]) <= 0.005, accuracy
    assert accuracy[1] > 0.7, accuracy
    print(f"test accuracy after {epochs} epochs: {accuracy[0]:.1%} in memory, {accuracy[1]:.1%} out of core in 4 partitions")


if __name__ == "__main__":
    main()
