"""The program of DGL's guide to distributed training. It imports ``sar_single.dist`` in place of ``dgl.distributed``.

    python examples/python/from_dgl_distributed.py
"""

import communities
import sar_single as sar
import torch as th
import torch.nn.functional as F
from sar_single import dist
from sar_single.dist import DistDataLoader, DistGraph, NeighborSampler, node_split
from torch import nn, optim

NUM_EPOCHS, BATCH_SIZE = 10, 64


class SAGE(nn.Module):
    def __init__(self, in_feats, n_hidden, n_classes, activation):
        super().__init__()
        self.layers = nn.ModuleList([sar.nn.SAGEConv(in_feats, n_hidden, "mean"), sar.nn.SAGEConv(n_hidden, n_classes, "mean")])
        self.activation = activation

    def forward(self, blocks, x):
        return self.layers[1](blocks[1], self.activation(self.layers[0](blocks[0], x)))


def load_subtensor(g, input_nodes, seeds):
    return g.ndata["features"][input_nodes], g.ndata["labels"][seeds].long()


def run(rank, part_config):
    # initialize distributed contexts
    dist.initialize("ip_config.txt")
    th.distributed.init_process_group(backend="gloo")
    # load distributed graph
    g = DistGraph("g", part_config)
    pb = g.get_partition_book()
    # get training workload, i.e., training node IDs
    train_nid = node_split(g.ndata["train_mask"], pb, force_even=True)

    # Create sampler
    sampler = NeighborSampler(g, [10, 25], dist.sample_neighbors, "cpu")
    dataloader = DistDataLoader(dataset=train_nid.numpy(), batch_size=BATCH_SIZE, collate_fn=sampler.sample_blocks, shuffle=True, drop_last=False)

    # Define model and optimizer
    th.manual_seed(0)
    model = SAGE(g.ndata["features"].shape[1], 32, communities.CLASSES, F.relu)
    model = th.nn.parallel.DistributedDataParallel(model)
    loss_fcn = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    # training loop
    for epoch in range(NUM_EPOCHS):
        with model.join():
            for step, blocks in enumerate(dataloader):
                batch_inputs, batch_labels = load_subtensor(g, blocks[0].srcdata[dist.NID], blocks[-1].dstdata[dist.NID])
                batch_pred = model(blocks, batch_inputs)
                loss = loss_fcn(batch_pred, batch_labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    # Accuracy on the test nodes, by the same model on the whole graph
    features, labels, test = (rank.ndata[name] for name in ("features", "labels", "test_mask"))
    with th.no_grad():
        hits = model([rank.graph] * 2, features).argmax(1) == labels
    return float(rank.mean(hits[test.bool()])), [p.detach().numpy() for p in model.parameters()]


if __name__ == "__main__":
    (accuracy, _), (other, _) = communities.run(run)
    print(f"test accuracy {accuracy:.3f}")
    assert accuracy > 0.75 and accuracy == other
