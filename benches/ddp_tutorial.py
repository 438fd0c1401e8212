"""DGL's tutorial of training with DistributedDataParallel, on processes without GPUs: the other side of examples/from_ddp.rs.

    python ddp_tutorial.py g.json [--world-size 2] [--epochs 10] [--batch-size 1024] [--seed 0]

Puts a partition directory together again, and prints the loss of every 10th step, the validation accuracy of every 5th epoch, and the
test accuracy of the best weights.
"""
import argparse
import os
import tempfile
import time

from whole_graph import whole_graph

import dgl
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

MASKS = ("train_mask", "val_mask", "test_mask")


def load_data(part_json):
    graph, columns = whole_graph(part_json)
    nids = [columns[mask].bool().nonzero().view(-1) for mask in MASKS]
    return graph, columns["feat"].float(), columns["label"].long(), nids


def create_dataloader(rank, world_size, graph, nids, batch_size):
    size = len(nids) // world_size
    nids = nids[size * rank:size * (rank + 1)]
    sampler = dgl.dataloading.NeighborSampler([4, 4, 4])
    return dgl.dataloading.DataLoader(graph, nids, sampler, batch_size=batch_size, shuffle=True)


class GraphSAGE(nn.Module):
    def __init__(self, in_feats, n_hidden, n_classes, n_layers):
        super().__init__()
        widths = [in_feats] + [n_hidden] * (n_layers - 1) + [n_classes]
        self.layers = nn.ModuleList(dgl.nn.SAGEConv(*pair, "mean") for pair in zip(widths, widths[1:]))

    def forward(self, bipartites, x):
        for i, (layer, bipartite) in enumerate(zip(self.layers, bipartites)):
            x = layer(bipartite, x)
            if i + 1 < len(self.layers):
                x = F.relu(x)
        return x


def evaluate(model, dataloader, features, labels):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for input_nodes, output_nodes, bipartites in dataloader:
            predictions = model(bipartites, features[input_nodes]).argmax(1)
            right += int((predictions == labels[output_nodes]).sum())
            total += len(output_nodes)
    return right / total


def train(rank, data, arguments):
    graph, features, labels, (train_nids, valid_nids, test_nids) = data
    world_size, batch_size = arguments.world_size, arguments.batch_size
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    dgl.seed(arguments.seed * world_size + rank)
    store = torch.distributed.FileStore(arguments.store, world_size)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=world_size)
    train_dataloader = create_dataloader(rank, world_size, graph, train_nids, batch_size)
    valid_dataloader = create_dataloader(0, 1, graph, valid_nids, batch_size)
    model = GraphSAGE(features.shape[1], 128, int(labels.max()) + 1, 3)
    model = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters())
    best_accuracy, best = 0, None
    begin = time.perf_counter()
    for epoch in range(1, arguments.epochs + 1):
        model.train()
        for step, (input_nodes, output_nodes, bipartites) in enumerate(train_dataloader):
            loss = F.cross_entropy(model(bipartites, features[input_nodes]), labels[output_nodes])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if rank == 0 and step % 10 == 0:
                print(f"Epoch {epoch:05} Step {step:05} Loss {loss.item():.4f}", flush=True)
        if rank == 0 and (epoch % 5 == 0 or epoch == arguments.epochs):
            accuracy = evaluate(model.module, valid_dataloader, features, labels)
            print(f"Epoch {epoch} Validation Accuracy {accuracy:.4f}", flush=True)
            if best_accuracy < accuracy:
                best_accuracy = accuracy
                best = {name: value.clone() for name, value in model.module.state_dict().items()}
        torch.distributed.barrier()
    if rank == 0:
        model.module.load_state_dict(best)
        test = evaluate(model.module, create_dataloader(0, 1, graph, test_nids, batch_size), features, labels)
        print(f"Best Validation Accuracy {best_accuracy:.4f}, test {test:.4f}, {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("part_json")
    parser.add_argument("--world-size", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.store = os.path.join(tempfile.mkdtemp(), "store")
    data = load_data(arguments.part_json)
    torch.multiprocessing.spawn(train, (data, arguments), arguments.world_size)
