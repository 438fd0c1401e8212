"""SAR's guide to sampling-based training: training on sampled blocks, and inference on the whole graph with the same model.

    python examples/python/sampling_then_full_inference.py
"""

import communities
import sar_single as sar
import torch
import torch.nn.functional as F
from torch import nn

N_EPOCHS, BATCH_SIZE, FANOUTS = 12, 64, [15, 10, 5]


class GNNModel(nn.Module):
    def __init__(self, in_dim, hidden_dim, out_dim):
        super().__init__()
        widths = [in_dim, hidden_dim, hidden_dim, out_dim]
        self.convs = nn.ModuleList([sar.nn.SAGEConv(a, b, aggregator_type="mean") for a, b in zip(widths, widths[1:])])

    def forward(self, blocks, features):
        for idx, conv in enumerate(self.convs):
            features = conv(blocks[idx], features)
            if idx < len(self.convs) - 1:
                features = F.relu(features, inplace=True)
        return features


def run(rank, part_json):
    partition_data = sar.load_dgl_partition_data(part_json, sar.rank(), torch.device("cpu"))
    features = sar.suffix_key_lookup(partition_data.node_features, "features")
    labels = sar.suffix_key_lookup(partition_data.node_features, "labels").long()
    full_graph_manager = sar.construct_full_graph(partition_data)
    train_mask, test_mask = (partition_data.node_features[name].bool() for name in ("train_mask", "test_mask"))
    train_nodes = torch.nonzero(train_mask).flatten() + partition_data.node_ranges[sar.rank()][0]

    neighbor_sampler = sar.DistNeighborSampler(
        FANOUTS,  # Fanout for every layer
        input_node_features={"features": features},  # Input features to add to srcdata of first layer's sampled block
        output_node_features={"labels": labels},  # Output features to add to dstdata of last layer's sampled block
    )
    dataloader = sar.DataLoader(full_graph_manager, train_nodes, neighbor_sampler, BATCH_SIZE, shuffle=True)

    torch.manual_seed(0)
    gnn_model = GNNModel(features.shape[1], 32, communities.CLASSES)
    optimizer = torch.optim.Adam(gnn_model.parameters(), lr=0.01)
    sar.sync_params(gnn_model)

    accuracies = []
    for epoch in range(N_EPOCHS):
        gnn_model.train()
        for blocks in dataloader:
            block_features = blocks[0].srcdata["features"]
            block_labels = blocks[-1].dstdata["labels"]
            logits = gnn_model(blocks, block_features)
            loss = F.cross_entropy(logits, block_labels)
            assert loss.isfinite()
            optimizer.zero_grad()
            loss.backward()
            sar.gather_grads(gnn_model)
            optimizer.step()

        gnn_model.eval()
        with torch.no_grad():
            logits = gnn_model([full_graph_manager] * len(FANOUTS), features)
            # Layer-specific graphs compute nothing that the test nodes do not need.
            test_nodes = torch.nonzero(test_mask).flatten() + rank.first_node
            mfgs = sar.construct_mfgs(partition_data, test_nodes, len(FANOUTS))
            test_logits = gnn_model(mfgs, features[mfgs[0].input_nodes])
        assert torch.allclose(test_logits, logits[test_mask], atol=1e-4)
        accuracies.append(float(rank.mean(test_logits.argmax(1) == labels[test_mask])))
    return accuracies, [p.detach().numpy() for p in gnn_model.parameters()]


if __name__ == "__main__":
    accuracies, _ = communities.run(run)[0]
    print("test accuracy by epoch:", ", ".join(f"{accuracy:.3f}" for accuracy in accuracies))
    assert accuracies[-1] > 0.75
