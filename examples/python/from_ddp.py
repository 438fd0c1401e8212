"""DGL's tutorial of GraphSAGE with ``DistributedDataParallel``, in which ranks take the place of GPUs.

    python examples/python/from_ddp.py
"""

import communities
import sar_single as sar
import torch
import torch.nn.functional as F
from sar_single import dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

NUM_EPOCHS, N_LAYERS = 10, 2


class MultiLayerNeighborSampler(sar.BlockSampler):
    def __init__(self, fanouts):
        super().__init__(len(fanouts), return_eids=False)
        self.fanouts = fanouts

    def sample_frontier(self, layer_id, g, seed_nodes):
        fanout = self.fanouts[layer_id]
        return sar.sample_neighbors(g, seed_nodes, fanout)


def create_dataloader(rank, world_size, graph, nids):
    partition_size = len(nids) // world_size
    partition_offset = partition_size * rank
    nids = nids[partition_offset : partition_offset + partition_size]
    sampler = MultiLayerNeighborSampler([4] * N_LAYERS)
    return sar.NodeDataLoader(graph, nids, sampler, batch_size=64, shuffle=True, drop_last=False, num_workers=0)


def load_data(rank, data):
    # utils_KDD.prepare_mp(graph), data.pkl: the graph lies in files, which all ranks read; ids are those of the partitioned graph.
    g = dist.DistGraph("g", data)
    train_nids, valid_nids = (torch.nonzero(g.ndata[mask][:]).flatten() for mask in ("train_mask", "val_mask"))
    return rank.graph, g.ndata["features"], g.ndata["labels"], train_nids, valid_nids


class GraphSAGE(nn.Module):
    def __init__(self, in_feats, n_hidden, n_classes, n_layers):
        super().__init__()
        widths = [in_feats, *[n_hidden] * (n_layers - 1), n_classes]
        self.layers = nn.ModuleList([sar.nn.SAGEConv(a, b, "mean") for a, b in zip(widths, widths[1:])])

    def forward(self, bipartites, x):
        for i, (layer, bipartite) in enumerate(zip(self.layers, bipartites)):
            x = layer(bipartite, x)
            if i != len(self.layers) - 1:
                x = F.relu(x)
        return x


# @utils_KDD.fix_openmp: workers have one thread for OpenMP, and numpy's libraries one each.
def train(rank, data):
    torch.distributed.init_process_group(backend="gloo")
    graph, node_features, node_labels, train_nids, valid_nids = load_data(rank, data)
    torch.manual_seed(0)
    train_dataloader = create_dataloader(rank.index, rank.world_size, graph, train_nids)
    model = GraphSAGE(node_features.shape[1], 32, communities.CLASSES, N_LAYERS)
    model = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(NUM_EPOCHS):
        model.train()
        for input_nodes, output_nodes, bipartites in train_dataloader:
            inputs = node_features[input_nodes]
            labels = node_labels[output_nodes].long()
            loss = F.cross_entropy(model(bipartites, inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    hits = []
    with torch.no_grad():
        for input_nodes, output_nodes, bipartites in create_dataloader(rank.index, rank.world_size, graph, valid_nids):
            hits.append(model(bipartites, node_features[input_nodes]).argmax(1) == node_labels[output_nodes])
    return float(rank.mean(torch.cat(hits))), [p.detach().numpy() for p in model.parameters()]


if __name__ == "__main__":
    # mp.spawn(train, args=(world_size, data), nprocs=world_size)
    (accuracy, weights), (_, others) = communities.run(train)
    print(f"validation accuracy {accuracy:.3f}")
    assert accuracy > 0.7
    assert all((a == b).all() for a, b in zip(weights, others)), "all ranks have the same parameters"
