"""Layers and how they are called, for tests that compare partitions with the whole graph.

    python layer_cases.py PARTITION_JSON

writes ``karate_layers.safetensors``: what DGL computes on the whole graph. Needs DGL and this package.
"""

from __future__ import annotations

import copy
import importlib
import json
import sys
from pathlib import Path

import torch

import sar_single as sar

FILE = Path(__file__).parent / "karate_layers.safetensors"
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
    """The output and the gradient of the input."""
    x = x.clone().requires_grad_()
    y = call(module, graph, x, weight)
    (y * torch.linspace(-1, 1, y.numel() // len(y)).double().reshape(y.shape[1:])).square().sum().backward()
    return {"y": y.detach(), "gx": x.grad}


def gradients(module):
    return {f"gradient of {name}": parameter.grad for name, parameter in module.named_parameters()}


def worker(rank, layers, cases, patch=True):
    if patch and (layers.startswith("dgl") or "edge weight norm" in cases):
        sar.patch_dgl()
    x, weight = features(rank.num_total_nodes), rank.edata["weight"].double()
    own = slice(rank.first_node, rank.first_node + rank.graph.num_nodes())
    results = {}
    for case in cases:
        module, call = made(layers, case)
        values = result(module, call, rank.graph, x[own], weight)
        rank.gather_grads(module)
        results[case] = {**values, **gradients(module)}
    return results


def compare(ranks, expected):
    """Compares what the workers gave with results on the whole graph, by case."""
    for case, values in expected.items():
        assert ranks[0][case].keys() == values.keys(), case
        for key, value in values.items():
            if key in ("y", "gx"):
                close(torch.cat([rank[case][key] for rank in ranks]), value, f"{case}: {key}")
                continue
            for rank in ranks:
                close(rank[case][key], value, f"{case}: {key}")


def close(ours, expected, what):
    scale = max(1.0, expected.abs().max().item())
    difference = (ours - expected).abs().max().item()
    assert difference <= 1e-9 * scale, f"{what} differs by {difference}"


def whole_graph(karate):
    """The graph of DGL, in the ids of its partitions, and the weights of its edges."""
    import dgl

    source, destination, weight = [], [], []
    for part in range(json.loads(Path(karate).read_text())["num_parts"]):
        graph, _, edge_data, *_ = dgl.distributed.load_partition(str(karate), part)
        inner = graph.edata["inner_edge"].bool()
        ends = graph.edges(order="eid")
        source.append(graph.ndata[dgl.NID][ends[0][inner]])
        destination.append(graph.ndata[dgl.NID][ends[1][inner]])
        weight.append(next(value for key, value in edge_data.items() if key.endswith("weight")))
    return dgl.graph((torch.cat(source), torch.cat(destination))), torch.cat(weight).double()


def of_dgl(karate):
    """Results of DGL's layers on the whole graph."""
    graph, weight = whole_graph(karate)
    results = {}
    for case in CASES:
        module, call = made("dgl.nn.pytorch", case)
        values = result(module, call, graph, features(graph.num_nodes()), weight)
        results[case] = {**values, **gradients(module)}
    return results


def recorded():
    """The same, from the file."""
    import safetensors.torch

    results = {}
    for name, value in safetensors.torch.load_file(FILE).items():
        case, key = name.split(": ")
        results.setdefault(case, {})[key] = value
    return results


if __name__ == "__main__":
    from safetensors.torch import save_file

    found = of_dgl(sys.argv[1])
    save_file({f"{case}: {key}": value.contiguous() for case, values in found.items() for key, value in values.items()}, FILE)
