"""Attention and dropout of PyG's modules: the same for any partitioning, with self loops of all kinds."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import cloudpickle  # noqa: E402
import pyg_graphs  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch_geometric import nn  # noqa: E402

import sar_single as sar  # noqa: E402

cloudpickle.register_pickle_by_value(pyg_graphs)


class Mine(nn.MessagePassing):
    """GAT of a user's own, whose factors are those of sources and destinations."""

    # PyG looks the module up, and workers have none of this name.
    __module__ = "__main__"

    def __init__(self):
        super().__init__(aggr="add", node_dim=0)
        self.score = torch.nn.Linear(6, 2)

    def forward(self, x, edge_index):
        score = self.score(x)
        alpha = self.edge_updater(edge_index, alpha=(score, score))
        degree = torch.ones(x.size(0), dtype=x.dtype).index_add(0, edge_index[1], x.new_ones(edge_index.size(1)))
        weight = degree[edge_index[0]] * degree.pow(-0.5)[edge_index[1]]
        weight[edge_index[0] == edge_index[1]] += 2
        return self.propagate(edge_index, x=x.view(-1, 2, 3), alpha=alpha * weight.view(-1, 1)).flatten(1)

    def edge_update(self, alpha_j, alpha_i, index, ptr, size_i):
        from torch_geometric.utils import softmax

        return softmax(F.leaky_relu(alpha_j + alpha_i), index, ptr, size_i)

    def message(self, x_j, alpha):
        return x_j * alpha.unsqueeze(-1)


def models(dropout):
    """Modules by name, and how each is called."""

    def plain(module, x, e, attr):
        return module(x, e)

    def attributed(module, x, e, attr):
        return module(x, e, attr)

    def returned(module, x, e, attr):
        out, (edges, weights) = module(x, e, return_attention_weights=True)
        return out + x.new_zeros(len(x), weights.shape[1]).index_add(0, edges[1], weights.square()).sum(1, keepdim=True)

    def without_nodes(module, x, e, attr):
        from torch_geometric.utils import dropout_node

        return module(x, dropout_node(e, dropout, x.size(0))[0])

    def bipartite(module, x, e, attr):
        return module((x, x * 2), e)

    def without(module, x, e, attr):
        return module(x, e[:, e[0] != e[1]])

    def twice(module, x, e, attr):
        return module(x, torch.cat([e, torch.arange(x.size(0)).repeat(2, 1)], 1))

    kwargs = {"heads": 2, "dropout": dropout}
    return {
        "GAT": (nn.GATConv(6, 3, **kwargs), plain),
        "GAT, mean of heads": (nn.GATConv(6, 3, concat=False, negative_slope=0.01, **kwargs), plain),
        "GAT, edge features": (nn.GATConv(6, 3, edge_dim=3, **kwargs), attributed),
        "GAT, one edge feature": (nn.GATConv(6, 3, edge_dim=1, **kwargs), lambda m, x, e, attr: m(x, e, attr[:, 0])),
        "GAT, weights returned": (nn.GATConv(6, 3, **kwargs), returned),
        "GAT, bipartite": (nn.GATConv((6, 6), 3, add_self_loops=False, **kwargs), bipartite),
        "GAT, sources only": (nn.GATConv((6, 6), 3, add_self_loops=False, **kwargs), lambda m, x, e, attr: m((x, None), e, size=(len(x), len(x)))),
        "GAT, loops left out": (nn.GATConv(6, 3, add_self_loops=False, **kwargs), without),
        "GAT, loops twice": (nn.GATConv(6, 3, add_self_loops=False, **kwargs), twice),
        "GATv2": (nn.GATv2Conv(6, 3, **kwargs), plain),
        "GATv2, edge features": (nn.GATv2Conv(6, 3, edge_dim=3, **kwargs), attributed),
        "GATv2, weights returned": (nn.GATv2Conv(6, 3, share_weights=True, **kwargs), returned),
        "GCN": (nn.GCNConv(6, 6), lambda m, x, e, attr: m(F.dropout(x, dropout), e)),
        "GCN, weights": (nn.GCNConv(6, 6, improved=True), lambda m, x, e, attr: m(x, e, F.dropout(attr[:, 0], dropout))),
        "GCN, nodes dropped": (nn.GCNConv(6, 6), without_nodes),
        "ARMA": (nn.ARMAConv(6, 6, num_stacks=3, num_layers=2, dropout=dropout), plain),
        "Transformer": (nn.TransformerConv(6, 3, **kwargs), plain),
        "Transformer, all edges at once": (watched(nn.TransformerConv(6, 3, **kwargs)), plain),
        "own": (Mine(), plain),
    }


def watched(module):
    """With a hook, messages of all edges of a rank are computed at once."""
    module.register_message_forward_hook(lambda module, inputs, output: None)
    return module


def result(name, x, e, attr, dropout):
    """The output, and gradients of features and parameters; the output is computed once more without gradients."""
    torch.manual_seed(3)
    module, call = models(dropout)[name]
    module = module.double()
    with torch.no_grad():
        for i, parameter in enumerate(module.parameters()):
            parameter.copy_(torch.cos(torch.arange(parameter.numel()) * 0.7 + i).reshape(parameter.shape))
    x = x.clone().requires_grad_()
    torch.manual_seed(4)
    out = call(module, x, e, attr)
    out.sin().sum().backward()
    torch.manual_seed(4)
    with torch.no_grad():
        again = call(module, x, e, attr)
    return out.detach(), x.grad, again, module


def worker(rank, names, dropout):
    found = {}
    for name in names:
        out, gx, again, module = result(name, rank.x, rank.edge_index, rank.edata["attr"], dropout)
        rank.gather_grads(module)
        found[name] = out, gx, again, [parameter.grad for parameter in module.parameters()]
    drops = F.dropout(torch.ones(len(rank.x), 3)), F.dropout(torch.ones(7, 3))
    return found, rank.orig_ids, drops


def graph(loops):
    """The graph of the other tests, with ``loops`` self loops of some nodes."""
    data = pyg_graphs.graph()
    nodes = torch.arange(0, pyg_graphs.NODES, 7)
    keep = data["edge_index"][0] != data["edge_index"][1]
    added = nodes[data["part"][nodes] != 2].repeat(loops)
    data["edge_index"] = torch.cat([data["edge_index"][:, keep], added.repeat(2, 1)], 1)
    for key in pyg_graphs.EDGE_KEYS:
        more = data[key][: len(added)] * 2
        data[key] = torch.cat([data[key][keep], more])
    return data


def run(data, tmp_path, num_parts, dropout, names, budget="2GiB", block=16):
    from functools import partial

    cloudpickle.register_pickle_by_value(__import__(__name__))
    parts = pyg_graphs.cut(data, tmp_path, num_parts)
    work = partial(in_small_blocks, block=block)
    return sar.run(work, parts, args=(names, dropout), memory_budget=budget, spill_dir=tmp_path / f"spill-{num_parts}")


def in_small_blocks(rank, names, dropout, block):
    from sar_single.graph import destinations

    destinations.EDGES = block
    return worker(rank, names, dropout)


def joined(ranks, name, place):
    return pyg_graphs.joined([found[name][place] for found, _, _ in ranks], [ids for _, ids, _ in ranks])


@pytest.mark.parametrize("loops, num_parts, budget", [(0, 4, "2GiB"), (1, 4, "min"), (2, 4, "2GiB"), (1, 1, "2GiB")])
def test_attention_is_that_in_memory_whatever_self_loops_there_are(tmp_path, loops, num_parts, budget):
    data = graph(loops)
    # Which of a node's loops gives the weight of its new one is not defined.
    names = [name for name in models(0) if loops < 2 or name != "GCN, weights"]
    ranks = run(data, tmp_path, num_parts, 0.0, names, budget)
    for name in names:
        out, gx, _, module = result(name, data["x"], data["edge_index"], data["attr"], 0.0)
        for place, expected in enumerate((out, gx, out)):
            assert pyg_graphs.difference(joined(ranks, name, place), expected) < 1e-9, (name, place)
        for i, parameter in enumerate(module.parameters()):
            assert all(pyg_graphs.difference(found[name][3][i], parameter.grad) < 1e-9 for found, _, _ in ranks), (name, i)


def test_dropout_is_the_same_for_any_partitioning_and_another_one_on_each_rank(tmp_path):
    data, names = graph(1), list(models(0))
    one, four = run(data, tmp_path, 1, 0.5, names, block=1 << 16), run(data, tmp_path, 4, 0.5, names)
    for name in names:
        for place in range(3):
            ours, expected = joined(four, name, place), joined(one, name, place)
            assert pyg_graphs.difference(ours, expected) < 1e-9, (name, place)
            assert place or name == "own" or not torch.equal(expected, result(name, data["x"], data["edge_index"], data["attr"], 0.0)[0])
    masks = [drops[0][:10] for _, _, drops in four]
    assert not any(torch.equal(mask, masks[0]) for mask in masks[1:])
    # Rows that are neither nodes nor edges are the same on all ranks, and so is what is dropped of them.
    assert all(torch.equal(drops[1], four[0][2][1]) for _, _, drops in four)
