"""The table of the book that says how modules of DGL run.

    python dgl_table.py > docs/src/dgl-modules.md

computes it from runs on small graphs. Needs DGL.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pyg_graphs
import torch
from torch import nn as tnn

import sar_single as sar

PAGE = Path(__file__).resolve().parents[2] / "docs" / "src" / "dgl-modules.md"
TOLERANCE = 1e-9
WIDTH, OUT = 6, 4

HEAD = """# Modules of DGL

This page lists how each convolution of `dgl.nn` {version} runs on `rank.graph`. A test runs all of them in float64 on the whole graph in memory and in workers, on one partition
and on four, one of which has no edges; outputs and all gradients agree to 1e-9. The same test makes this page.

* **fused**: the engine adds messages up; only factors that the module computes itself have a row per edge.
* **blocks**: messages and reducers run on blocks of destinations with at most 65,536 edges and 8 million values (one destination may have more), which the backward pass computes again.
* **edge values**: values of all edges of a rank are in memory, because the module computes them with `apply_edges`.
* **refused**: the module raises an error with the given text.

`GatedGraphConv` is missing: it computes the smallest edge type, and therefore fails on a rank without edges. `EGATConv` refuses nodes without in-edges.

| module | how it runs |
|---|---|
"""


def plain(m, g, d):
    return m(g, d.x)


def weighted(m, g, d):
    return m(g, d.x, edge_weight=d.w)


def attributed(m, g, d):
    return m(g, d.x, d.attr)


def typed(m, g, d):
    return m(g, d.x, d.kind)


def heads(module):
    return lambda g: getattr(g, module)(WIDTH, OUT, 2, allow_zero_in_degree=True)


def sage(how):
    return lambda g: g.SAGEConv(WIDTH, OUT, how)


def nnconv(how):
    return lambda g: g.NNConv(WIDTH, OUT, tnn.Linear(3, WIDTH * OUT), how)


def pna(**options):
    # Of a node with one message, std and the moments take the root of rounding errors.
    aggregators = ["mean", "max", "min", "var", "sum"]
    return lambda g: g.PNAConv(WIDTH, OUT, aggregators, ["identity", "amplification", "attenuation"], 1.5, **options)


# How each is made from dgl.nn, and how it is called. Several lines of a class are its ways of computing.
CASES = {
    "GraphConv": (lambda g: g.GraphConv(WIDTH, OUT, allow_zero_in_degree=True), weighted),
    "EdgeWeightNorm": (lambda g: g.EdgeWeightNorm("both"), lambda m, g, d: d.x * 0 + m(g, d.w).sum() * 0 + 0),
    "RelGraphConv": (lambda g: g.RelGraphConv(WIDTH, OUT, 3, "basis", 2), typed),
    "RelGraphConv(bdd)": (lambda g: g.RelGraphConv(WIDTH, OUT, 3, "bdd", 2), typed),
    "TAGConv": (lambda g: g.TAGConv(WIDTH, OUT, k=2), plain),
    "GATConv": (heads("GATConv"), plain),
    "GATv2Conv": (heads("GATv2Conv"), plain),
    "EGATConv": (lambda g: g.EGATConv(WIDTH, 3, OUT, 2, 2), attributed),
    "EdgeGATConv": (lambda g: g.EdgeGATConv(WIDTH, 3, OUT, 2, allow_zero_in_degree=True), attributed),
    "SAGEConv(mean)": (sage("mean"), weighted),
    "SAGEConv(gcn)": (sage("gcn"), plain),
    "SAGEConv(pool)": (sage("pool"), plain),
    "SAGEConv(lstm)": (sage("lstm"), plain),
    "GMMConv": (lambda g: g.GMMConv(WIDTH, OUT, 3, 2, "max", allow_zero_in_degree=True), attributed),
    "GINConv(max)": (lambda g: g.GINConv(tnn.Linear(WIDTH, OUT), "max"), plain),
    "GINConv with weights": (lambda g: g.GINConv(tnn.Linear(WIDTH, OUT), "sum", learn_eps=True), weighted),
    "GINConv(max) with weights": (lambda g: g.GINConv(tnn.Linear(WIDTH, OUT), "max"), weighted),
    "GINEConv": (lambda g: g.GINEConv(tnn.Linear(3, OUT)), lambda m, g, d: m(g, d.x[:, :3], d.attr)),
    "ChebConv": (lambda g: g.ChebConv(WIDTH, OUT, 3), plain),
    "AGNNConv": (lambda g: g.AGNNConv(allow_zero_in_degree=True), plain),
    "NNConv(sum)": (nnconv("sum"), attributed),
    "NNConv(mean)": (nnconv("mean"), attributed),
    "NNConv(max)": (nnconv("max"), attributed),
    "AtomicConv": (
        lambda g: g.AtomicConv(torch.tensor([0.2, 0.8]), torch.tensor([0.1, 0.5]), torch.tensor([1.0, 2.0])),
        lambda m, g, d: m(g, d.x[:, :1], d.w.unsqueeze(1)),
    ),
    "CFConv": (lambda g: g.CFConv(WIDTH, 3, 8, OUT), attributed),
    "DotGatConv": (lambda g: g.DotGatConv(WIDTH, OUT, 2, allow_zero_in_degree=True), plain),
    "TWIRLSConv": (lambda g: g.TWIRLSConv(WIDTH, OUT, 8, prop_step=2), plain),
    "GCN2Conv": (lambda g: g.GCN2Conv(WIDTH, 1, allow_zero_in_degree=True), lambda m, g, d: m(g, d.x, d.start)),
    "HGTConv": (lambda g: g.HGTConv(WIDTH, 3, 2, 2, 3, dropout=0.0), lambda m, g, d: m(g, d.x, (d.x[:, 0] > 0).long(), d.kind)),
    "GroupRevRes": (lambda g: g.GroupRevRes(g.SAGEConv(WIDTH // 2, WIDTH // 2, "mean"), 2), plain),
    "EGNNConv": (lambda g: g.EGNNConv(WIDTH, 8, OUT, 3), lambda m, g, d: m(g, d.x, d.pos, d.attr)),
    "PNAConv": (pna(), plain),
    "PNAConv with edge features": (pna(edge_feat_size=3, num_towers=2), attributed),
    "DGNConv": (
        lambda g: g.DGNConv(WIDTH, OUT, ["dir1-av", "dir1-dx", "sum"], ["identity", "amplification"], 2.5),
        lambda m, g, d: m(g, d.x, eig_vec=d.pos),
    ),
    "GatedGCNConv": (lambda g: g.GatedGCNConv(WIDTH, 3, OUT), attributed),
    "GatedGCNConv(batch_norm=False)": (lambda g: g.GatedGCNConv(WIDTH, 3, OUT, batch_norm=False), attributed),
    "EdgeConv": (lambda g: g.EdgeConv(WIDTH, OUT, allow_zero_in_degree=True), plain),
    "EdgeConv(batch_norm)": (lambda g: g.EdgeConv(WIDTH, OUT, batch_norm=True, allow_zero_in_degree=True), plain),
    "APPNPConv": (lambda g: g.APPNPConv(3, 0.1), plain),
    "SGConv": (lambda g: g.SGConv(WIDTH, OUT, k=2, allow_zero_in_degree=True), plain),
    "a Python reducer": (lambda g: Spread(), plain),
    "a message with batch normalisation": (lambda g: Normalised(), plain),
}


# DGL computes a part of these in float32, whatever the type of the features.
SINGLE = {"TWIRLSConv", "APPNPConv"}


class Spread(tnn.Module):
    """A user's reducer, of the messages and the values of their destination."""

    def forward(self, g, x):
        def reduce(nodes):
            return {"y": (nodes.mailbox["m"] - nodes.data["h"].unsqueeze(1)).abs().max(1).values, "z": nodes.mailbox["m"].cumsum(1)[:, -1]}

        with g.local_scope():
            g.ndata["h"] = x
            g.update_all(lambda edges: {"m": edges.src["h"] * edges.dst["h"].sin()}, reduce)
            return g.ndata["y"] + g.ndata["z"]


class Normalised(tnn.Module):
    """A message function that adds up over all edges."""

    def __init__(self):
        super().__init__()
        self.norm = tnn.BatchNorm1d(WIDTH)

    def forward(self, g, x):
        from dgl import function

        with g.local_scope():
            g.ndata["h"] = x
            g.update_all(lambda edges: {"m": self.norm(edges.src["h"] - edges.dst["h"])}, function.max("m", "y"))
            return g.ndata["y"]


def result(nn, key, graph, data):
    """Outputs and gradients of features, parameters and buffers."""
    make, call = CASES[key]
    torch.manual_seed(7)
    module = make(nn).double()
    if key in SINGLE:
        module = module.float()
        vars(data).update({name: value.float() for name, value in vars(data).items() if getattr(value, "dtype", None) == torch.float64})
    data.x = data.x.detach().clone().requires_grad_()
    output = call(module, graph, data)
    outputs = [part for part in (output if isinstance(output, tuple) else (output,)) if len(part) == len(data.x)]
    loss = sum((part * torch.linspace(-1, 1, part[:1].numel()).double().view(part.shape[1:])).sin().sum() for part in outputs)
    kept = [part.detach().clone() for part in outputs]
    loss.backward()  # GroupRevRes frees the memory of its output here.
    return module, {"outputs": kept, "gx": data.x.grad}


def worker(rank, keys, block):
    """Results by case, and how the cases ran."""
    import dgl.nn as nn

    from sar_single.graph import destinations, functions
    from sar_single.graph import graph as graph_module

    destinations.EDGES = block
    found = {}
    for key in keys:
        ways = recorded({"fused": [(functions, "neighbour_sum"), (functions, "neighbour_select")], "blocks": [(graph_module, "reduced")]})
        edge_values = recorded({"edge values": [(graph_module.Graph, "apply_edges")]})
        try:
            module, values = result(nn, key, rank.graph, pyg_graphs.of_rank(rank, SimpleNamespace))
        except (AttributeError, NotImplementedError) as error:
            found[key] = str(error)
            continue
        rank.gather_grads(module)
        values["parameters"] = {name: parameter.grad for name, parameter in module.named_parameters()}
        values["buffers"] = {name: value for name, value in module.named_buffers() if value.is_floating_point()}
        found[key] = values, [*sorted(ways, reverse=True), *edge_values]
    return found, rank.orig_ids


def recorded(functions):
    """The names of the functions that are called from now on."""
    ways = set()
    for way, places in functions.items():
        for place, name in places:
            theirs = getattr(getattr(place, name), "theirs", getattr(place, name))

            def either(*args, way=way, theirs=theirs, **kwargs):
                ways.add(way)
                return theirs(*args, **kwargs)

            either.theirs = theirs
            setattr(place, name, either)
    return ways


def expected(data):
    """Results of the cases in memory."""
    import dgl
    import dgl.nn as nn

    graph = dgl.graph((data["edge_index"][0], data["edge_index"][1]), num_nodes=pyg_graphs.NODES)
    results = {}
    for key in CASES:
        try:
            module, values = result(nn, key, graph, SimpleNamespace(**data))
        except dgl.DGLError as error:
            results[key] = str(error).partition(".")[0]
            continue
        values["parameters"] = {name: parameter.grad for name, parameter in module.named_parameters()}
        values["buffers"] = {name: value for name, value in module.named_buffers() if value.is_floating_point()}
        results[key] = values
    return results


def compared(parts, memory, spill, budget, block):
    """How each case ran, and what was wrong: two dicts by case."""
    keys = [key for key, values in memory.items() if not isinstance(values, str)]
    results = sar.run(worker, parts, args=(keys, block), memory_budget=budget, spill_dir=spill)
    ids = [ids for _, ids in results]
    ways, wrong = {}, {}
    for key, values in memory.items():
        if isinstance(values, str):
            ways[key] = f"not tested: DGL says `{values}`"
            continue
        if isinstance(results[0][0][key], str):
            ways[key] = f"refused: {results[0][0][key]}"
            continue
        what, by = pyg_graphs.worst([found[key][0] for found, _ in results], ids, values)
        if by > (1e-5 if key in SINGLE else TOLERANCE):
            wrong[key] = f"{what} differs by {by}"
        ways[key] = ", ".join(results[0][0][key][1]) or "row by row, without a pause"
    return ways, wrong


def page(ways):
    """The text of the page."""
    import dgl

    return HEAD.format(version=dgl.__version__.partition("+")[0]) + "".join(f"| `{key}` | {way} |\n" for key, way in ways.items())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        data = pyg_graphs.graph()
        ways, wrong = compared(pyg_graphs.cut(data, Path(folder), 4), expected(data), Path(folder) / "spill", "2GiB", 16)
        for key, text in wrong.items():
            print(f"{key}: {text}", file=sys.stderr)
        print(page(ways), end="")
