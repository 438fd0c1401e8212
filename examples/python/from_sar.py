"""SAR's guide to single-node training, line by line. A comment is a line of the guide that needs nothing here, and says why.

    python examples/python/from_sar.py
"""

import communities
import sar_single as sar
import torch
import torch.nn.functional as F
from torch import nn

NUM_EPOCHS, HIDDEN = 30, 32


class GNNModel(nn.Module):
    def __init__(self, in_dim, hidden_dim, out_dim):
        super().__init__()
        self.convs = nn.ModuleList([sar.nn.SAGEConv(in_dim, hidden_dim, "mean"), sar.nn.SAGEConv(hidden_dim, out_dim, "mean")])

    def forward(self, graph, features):
        return self.convs[1](graph, F.relu(self.convs[0](graph, features)))


def run(rank, part_json):
    # sar.nfs_ip_init, sar.initialize_comms(..., shared_file, barrier): sar.run starts the ranks and connects them.
    # lock.acquire(): a worker begins with its turn, and gives it up whenever it waits for the others.
    # PartitionDataManager(rank, lock): all tensors of a worker are saved while it waits, whoever holds them.
    partition_data = sar.load_dgl_partition_data(part_json, sar.rank(), torch.device("cpu"))
    features = sar.suffix_key_lookup(partition_data.node_features, "features")
    labels = sar.suffix_key_lookup(partition_data.node_features, "labels").long()
    masks = {f"{name}_indices": torch.nonzero(partition_data.node_features[f"{name}_mask"]).flatten() for name in ("train", "val", "test")}
    full_graph_manager = sar.construct_full_graph(partition_data)
    n_train_points = rank.all_reduce(len(masks["train_indices"]))

    torch.manual_seed(0)
    gnn_model = GNNModel(features.shape[1], HIDDEN, int(rank.all_reduce(labels.max(), op="max")) + 1)
    # precall_func, callback_func, pause_process, resume_process: every collective saves the worker's memory and takes it back.
    sar.sync_params(gnn_model)
    optimizer = torch.optim.Adam(gnn_model.parameters(), lr=0.01)

    losses = []
    for epoch in range(NUM_EPOCHS):
        # PointerTensor(features, pointer=..., linked=...): there are no lists of tensors; whole mappings are saved.
        logits = gnn_model(full_graph_manager, features)
        train = masks["train_indices"]
        loss = F.cross_entropy(logits[train], labels[train], reduction="sum") / n_train_points

        optimizer.zero_grad()
        loss.backward()
        sar.gather_grads(gnn_model)
        optimizer.step()
        losses.append(rank.all_reduce(loss.item()))
        # pointer_list = [], linked_list = [], remove_files(): a file goes with the memory that it holds.

    with torch.no_grad():
        right = gnn_model(full_graph_manager, features).argmax(1) == labels
    counts = [rank.all_reduce(torch.tensor([int(right[own].sum()), len(own)])) for own in (masks["train_indices"], masks["test_indices"])]
    # lock.release(): the turn ends with the worker.
    return losses, [int(hits) / int(total) for hits, total in counts]


if __name__ == "__main__":
    # Process(target=run, args=(args, rank, lock, barrier)).start() for each rank
    losses, (train, test) = communities.run(run)[0]
    print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}, accuracy {train:.3f} in training, {test:.3f} in the test")
    assert losses[-1] < 0.7 * losses[0] and test > 0.75
