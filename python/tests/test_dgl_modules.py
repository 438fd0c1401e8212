"""Modules of ``dgl.nn`` on partitions, unmodified, against themselves on the whole graph; those of ``sar_single.nn`` beside them."""

from __future__ import annotations

import copy
import importlib
import json

import pytest

torch = pytest.importorskip("torch")
dgl = pytest.importorskip("dgl")

import dgl.nn  # noqa: E402, F811

import sar_single as sar  # noqa: E402

WIDTH = 5


def weighted(module, graph, x, weight):
    """DGL's normalisation of edge weights, which turns the graph round, and a sum with the result."""
    from dgl.nn import EdgeWeightNorm

    return module(graph, x, edge_weight=EdgeWeightNorm("both")(graph, weight))


def plain(module, graph, x, weight):
    return module(graph, x)


def with_weights(module, graph, x, weight):
    return module(graph, x, edge_weight=weight)


def typed(module, graph, x, weight):
    return module(graph, x, (weight * 10).long() % 3)


# Name of the module, its arguments, how it is called.
CASES = {
    "edge weight norm": ("GraphConv", (6, WIDTH), {"norm": "none"}, weighted),
    "gin sum": ("GINConv", (torch.nn.Linear(6, WIDTH), "sum"), {"learn_eps": True}, with_weights),
    "gin max": ("GINConv", (torch.nn.Linear(6, WIDTH), "max"), {"init_eps": 0.3}, plain),
    "gin mean": ("GINConv", (torch.nn.Linear(6, WIDTH), "mean"), {}, plain),
    "gat": ("GATConv", (6, WIDTH, 3), {"residual": True}, plain),
    "gatv2": ("GATv2Conv", (6, WIDTH, 3), {"residual": True}, plain),
    "gatv2 shared": ("GATv2Conv", (6, WIDTH, 2), {"share_weights": True, "bias": False}, plain),
    "sage with weights": ("SAGEConv", (6, WIDTH, "mean"), {}, with_weights),
    "sage gcn": ("SAGEConv", (6, WIDTH, "gcn"), {}, plain),
    "relations": ("RelGraphConv", (6, WIDTH, 3), {"regularizer": "basis", "num_bases": 2}, typed),
    "relations, plain": ("RelGraphConv", (6, WIDTH, 3), {}, typed),
}


def features(count):
    return torch.sin(torch.arange(count * 6, dtype=torch.float64) ** 1.1).reshape(count, 6)


def made(layers, case):
    name, arguments, options, call = CASES[case]
    torch.manual_seed(3)
    module = getattr(importlib.import_module(layers), name)(*copy.deepcopy(arguments), **options).double()
    with torch.no_grad():
        for i, (_, parameter) in enumerate(sorted(module.named_parameters())):
            parameter.copy_(torch.cos(torch.arange(parameter.numel()) * 0.7 + i).reshape(parameter.shape))
    return module, call


def result(module, call, graph, x, weight):
    x = x.clone().requires_grad_()
    y = call(module, graph, x, weight)
    (y * torch.linspace(-1, 1, y.numel() // len(y)).double().reshape(y.shape[1:])).square().sum().backward()
    return {"y": y.detach(), "gx": x.grad}


def worker(rank, layers, cases):
    sar.patch_dgl()
    x, weight = features(rank.num_total_nodes), rank.edata["weight"].double()
    own = slice(rank.first_node, rank.first_node + rank.graph.num_nodes())
    results = {}
    for case in cases:
        module, call = made(layers, case)
        results[case] = result(module, call, rank.graph, x[own], weight)
        rank.gather_grads(module)
        results[case]["gradients"] = {name: p.grad for name, p in module.named_parameters()}
    return results


@pytest.fixture(scope="module")
def whole(karate):
    """The whole graph in the ids of its partitions, with its weights."""
    source, destination, weight = [], [], []
    for part in range(json.loads(karate.read_text())["num_parts"]):
        graph, _, edge_data, *_ = dgl.distributed.load_partition(str(karate), part)
        inner = graph.edata["inner_edge"].bool()
        ends = graph.edges(order="eid")
        source.append(graph.ndata[dgl.NID][ends[0][inner]])
        destination.append(graph.ndata[dgl.NID][ends[1][inner]])
        weight.append(next(value for key, value in edge_data.items() if key.endswith("weight")))
    return dgl.graph((torch.cat(source), torch.cat(destination))), torch.cat(weight).double()


@pytest.mark.parametrize("layers", ["dgl.nn.pytorch", "sar_single.nn"])
def test_partitions_give_what_the_whole_graph_gives(karate, whole, spill, layers):
    ranks = sar.run(worker, karate, args=(layers, list(CASES)), memory_budget="min", spill_dir=spill)
    graph, weight = whole
    for case in CASES:
        module, call = made("dgl.nn.pytorch", case)
        expected = result(module, call, graph, features(graph.num_nodes()), weight)
        for key in ("y", "gx"):
            close(torch.cat([rank[case][key] for rank in ranks]), expected[key], f"{case} {key}")
        gradients = {name: p.grad for name, p in module.named_parameters()}
        for rank in ranks:
            assert rank[case]["gradients"].keys() == gradients.keys(), case
            for name, gradient in gradients.items():
                close(rank[case]["gradients"][name], gradient, f"{case} {name}")


def close(ours, expected, what):
    scale = max(1.0, expected.abs().max().item())
    difference = (ours - expected).abs().max().item()
    assert difference <= 1e-9 * scale, f"{what} differs by {difference}"
