"""Weights of PyG's modules in built-in models and back, with equal logits."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch_geometric import nn as pyg  # noqa: E402

import sar_single as sar  # noqa: E402
from sar_single import _program  # noqa: E402
from sar_single.commands import jobs, pyg_weights  # noqa: E402

NODES, FEATURES, HIDDEN, CLASSES = 60, 6, 6, 3


class Net(nn.Module):
    """Layers with what stands between them in the built-in models."""

    def __init__(self, make, activation=F.relu, norm=None, jk=False, width=None):
        super().__init__()
        width = width or HIDDEN
        # Other names than those of the built-in models.
        last = HIDDEN if jk else CLASSES
        self.conv1, self.conv2 = make(FEATURES, HIDDEN, False), make(width, last, not jk)
        if norm:
            self.norms = nn.ModuleList([norm(width) for _ in range(2 if jk else 1)])
        if jk:
            self.out = nn.Linear(2 * width, CLASSES)
        self.activation, self.jk = activation, jk

    def forward(self, x, edge_index):
        norms = self.norms if hasattr(self, "norms") else [nn.Identity()]
        x = self.activation(norms[0](self.conv1(x, edge_index)))
        y = self.conv2(x, edge_index)
        if self.jk:
            return self.out(torch.cat([x, self.activation(norms[1](y))], 1))
        return y


class Gcn2(nn.Module):
    def __init__(self):
        super().__init__()
        self.lins = nn.ModuleList([nn.Linear(FEATURES, HIDDEN), nn.Linear(HIDDEN, CLASSES)])
        options = {"shared_weights": False}
        self.convs = nn.ModuleList(pyg.GCN2Conv(HIDDEN, 0.1, 0.5, layer + 1, **options) for layer in range(2))

    def forward(self, x, edge_index):
        x = initial = F.relu(self.lins[0](x))
        for conv in self.convs:
            x = F.relu(conv(x, initial, edge_index))
        return self.lins[1](x)


class Appnp(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = pyg.MLP([FEATURES, HIDDEN, CLASSES], norm=None)
        self.steps = pyg.APPNP(3, 0.2)

    def forward(self, x, edge_index):
        return self.steps(self.mlp(x), edge_index)


class Sgc(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = pyg.SGConv(FEATURES, CLASSES, 2)

    def forward(self, x, edge_index):
        return self.conv(x, edge_index)


def rgcn(conv):
    """A layer of relations on a graph with one."""

    class Typed(conv):
        def forward(self, x, edge_index):
            return super().forward(x, edge_index, torch.zeros(edge_index.shape[1], dtype=torch.int64))

    return Typed


class WithItself(pyg.SAGEConv):
    """DGL's aggregator ``gcn``: a node counts once more among its neighbours."""

    def forward(self, x, edge_index):
        return super().forward(x, torch.cat([edge_index, torch.arange(len(x)).repeat(2, 1)], 1))


def attention(conv, **options):
    return lambda a, b, last: conv(a, b, heads=2, concat=not last, **options)


def has_residual():
    import inspect

    return "residual" in inspect.signature(pyg.GATConv.__init__).parameters


CASES = {
    "sage": (lambda: Net(lambda a, b, _: pyg.SAGEConv(a, b)), {"model": "sage"}),
    "sage of PyG, batch norm, jk": (
        lambda: pyg.GraphSAGE(FEATURES, HIDDEN, 2, CLASSES, norm="batch", jk="cat"),
        {"model": "sage", "norm": "batch", "jk": "cat"},
    ),
    "sage pool": (
        lambda: Net(lambda a, b, _: pyg.SAGEConv(a, b, aggr="max", project=True)),
        {"model": "sage", "aggregator": "pool"},
    ),
    "sage gcn": (
        lambda: Net(lambda a, b, _: WithItself(a, b, root_weight=False)),
        {"model": "sage", "aggregator": "gcn"},
    ),
    "gcn": (lambda: Net(lambda a, b, _: pyg.GCNConv(a, b)), {"model": "gcn"}),
    "gcn jk, layer norm": (
        lambda: Net(lambda a, b, _: pyg.GCNConv(a, b, bias=False), norm=lambda width: pyg.LayerNorm(width, mode="node"), jk=True),
        {"model": "gcn", "norm": "layer", "jk": "cat"},
    ),
    "gat": (lambda: Net(attention(pyg.GATConv), F.elu, width=2 * HIDDEN), {"model": "gat", "heads": 2}),
    "gat residual": (lambda: Net(attention(pyg.GATConv, residual=True), F.elu, width=2 * HIDDEN), {"model": "gat", "heads": 2, "residual": True}),
    "gatv2": (lambda: Net(attention(pyg.GATv2Conv), F.elu, width=2 * HIDDEN), {"model": "gatv2", "heads": 2}),
    "gatv2 residual": (
        lambda: Net(attention(pyg.GATv2Conv, residual=True), F.elu, width=2 * HIDDEN),
        {"model": "gatv2", "heads": 2, "residual": True},
    ),
    "gin": (lambda: Net(lambda a, b, _: pyg.GINConv(nn.Linear(a, b))), {"model": "gin"}),
    "gin eps": (
        lambda: Net(lambda a, b, _: pyg.GINConv(nn.Sequential(nn.Linear(a, b)), train_eps=True)),
        {"model": "gin", "learn_eps": True},
    ),
    "rgcn": (lambda: Net(lambda a, b, _: rgcn(pyg.RGCNConv)(a, b, 1, aggr="add")), {"model": "rgcn"}),
    "rgcn bases": (
        lambda: Net(lambda a, b, _: rgcn(pyg.RGCNConv)(a, b, 1, num_bases=2, aggr="add")),
        {"model": "rgcn", "bases": 2},
    ),
    "rgcn blocks": (
        lambda: Net(lambda a, b, _: rgcn(pyg.RGCNConv)(a, b, 1, num_blocks=3, aggr="add")),
        {"model": "rgcn", "blocks": 3},
    ),
    "tag": (lambda: Net(lambda a, b, _: pyg.TAGConv(a, b, 2)), {"model": "tag", "hops": 2}),
    "gcn2": (Gcn2, {"model": "gcn2", "alpha": 0.1, "lambda": 0.5, "initial_weight": True}),
    "appnp": (Appnp, {"model": "appnp", "hops": 3, "alpha": 0.2}),
    "sgc": (Sgc, {"model": "sgc", "hops": 2}),
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """An undirected graph with self loops: features, edges and partitions."""
    try:
        _program.environment(_program.program())
    except FileNotFoundError as error:
        pytest.skip(str(error))
    draw = np.random.default_rng(0)
    dense = np.triu(draw.random((NODES, NODES)) < 0.06, 1)
    dense = dense | dense.T | np.eye(NODES, dtype=bool)
    edges = torch.from_numpy(np.stack(np.nonzero(dense)))
    x = torch.from_numpy(draw.standard_normal((NODES, FEATURES)).astype("float32"))
    data = {"feat": x, "label": draw.integers(0, CLASSES, NODES), "train_mask": np.arange(NODES) % 2 == 0}
    parts = sar.partition(tmp_path_factory.mktemp("graph") / "parts", edge_index=edges, node_data=data, num_parts=2)
    return x, edges, parts


def drawn(make):
    torch.manual_seed(1)
    net = make()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_(0, 0.5)
        for name, buffer in net.named_buffers():
            if "running" in name:
                buffer.uniform_(0.5, 1.5)
    return net.eval()


@pytest.mark.parametrize("case", CASES)
def test_a_module_of_pyg_gives_the_logits_of_the_built_in_model(graph, tmp_path, case):
    make, options = CASES[case]
    if "residual" in options and not has_residual():
        pytest.skip("this PyG has no residual in its attention layers")
    x, edges, parts = graph
    net = drawn(make)
    expected = net(x, edges).detach()
    sizes = {} if options["model"] == "sgc" else {"layers": 2, "hidden": HIDDEN, "dropout": 0}
    run = sar.train(parts, out=tmp_path / "run", init_params=net, epochs=1, lr=0, optimizer="sgd", **sizes, **options)
    logits = torch.from_numpy(run.predict(output="logits"))
    if options.get("norm") == "batch":  # An epoch changes running statistics.
        assert all(torch.equal(value, net.state_dict()[name]) for name, value in run.state_dict("pyg").items() if "convs" in name)
    else:
        close(logits, expected)
    again = drawn(make)
    with torch.no_grad():
        for parameter in again.parameters():
            parameter.zero_()
    state = run.state_dict(style="pyg")
    again.load_state_dict(renamed(state, list(again.state_dict())))
    close(again.eval()(x, edges).detach(), logits)


@pytest.mark.parametrize("case", [case for case in CASES if "residual" not in case])
def test_init_pyg_draws_from_the_distributions_of_pyg(graph, tmp_path, monkeypatch, case):
    monkeypatch.setattr(sys.modules[__name__], "HIDDEN", 120)
    make, options = CASES[case]
    _, _, parts = graph
    sizes = {} if options["model"] == "sgc" else {"layers": 2, "hidden": HIDDEN}
    run = sar.train(parts, out=tmp_path / "run", init="pyg", epochs=1, lr=0, optimizer="sgd", **sizes, **options)
    assert 'init = "pyg"' in (tmp_path / "run" / "config.toml").read_text()
    torch.manual_seed(2)
    theirs = [make().state_dict() for _ in range(20)]
    ours = renamed(run.state_dict(style="pyg"), list(theirs[0]))
    for name, value in ours.items():
        if "running" in name or "tracked" in name:
            continue
        drawn = torch.stack([state[name] for state in theirs])
        assert value.abs().max() <= 1.02 * drawn.abs().max(), name
        assert bool(value.any()) == bool(drawn.any()), name
        if value.numel() >= 100 and value.any():
            # The mean of n squares of uniform numbers is off by a factor of 1 ± √(0.8 / n).
            ratio = value.square().mean() / drawn.square().mean()
            assert abs(ratio - 1) < 5 * (0.8 / value.numel()) ** 0.5 + 0.02, f"{name}: {ratio}"


def renamed(state, names):
    """The state under the names of the module, which are others only in what they begin with."""
    result = {}
    for scope, ours in [("conv1.", "convs.0."), ("conv2.", "convs.1."), ("conv.", "convs.0."), ("out.", "lin."), ("mlp.lins.", "lins."), ("", "")]:
        for name in names:
            if name.startswith(scope) and name not in result:
                key = ours + name[len(scope) :]
                for key in (key, key.replace("nn.0.", "nn."), key.replace("norms.0.", "norms.0.module.")):
                    if key in state:
                        result[name] = state[key]
                        break
    return result


@pytest.mark.parametrize("learned", [False, True])
def test_layers_per_edge_type(tmp_path, learned):
    import test_pyg_loader

    data = test_pyg_loader.heterogeneous()
    for ntype in data.node_types:
        data[ntype].x = data[ntype].x.float()
    if learned:
        del data["author"].x
        data["author"].num_nodes = 40
    for etype in data.edge_types:
        del data[etype].edge_attr
    data["paper"].y = data["paper"].y % CLASSES
    data["paper"].train_mask = torch.arange(80) % 2 == 0
    # Features may be in partitions that reorder nodes, learned rows only in others.
    parts = sar.partition(tmp_path / "parts", data, num_parts=2, method="range" if learned else "random")

    class Hetero(nn.Module):
        def __init__(self):
            super().__init__()
            self.linears = nn.ModuleDict({ntype: nn.Linear(x.shape[1], HIDDEN) for ntype, x in data.x_dict.items()})
            self.embeds = nn.ModuleDict({"author": nn.Embedding(40, HIDDEN)} if learned else {})
            widths = [HIDDEN, HIDDEN, CLASSES]
            self.convs = nn.ModuleList(
                pyg.HeteroConv({etype: pyg.SAGEConv((a, a), b) for etype in data.edge_types}) for a, b in zip(widths, widths[1:])
            )

        def forward(self):
            x = {ntype: self.linears[ntype](x) for ntype, x in data.x_dict.items()}
            x.update({ntype: rows.weight for ntype, rows in self.embeds.items()})
            x = self.convs[0](x, data.edge_index_dict)
            return self.convs[1]({ntype: F.relu(rows) for ntype, rows in x.items()}, data.edge_index_dict)["paper"]

    net = drawn(Hetero)
    options = {"model": "sage", "layers": 2, "hidden": HIDDEN, "dropout": 0, "epochs": 1, "lr": 0, "optimizer": "sgd"}
    run = sar.train(parts, out=tmp_path / "run", init_params=net.state_dict(), **options)
    close(torch.from_numpy(run.predict(output="logits")), net().detach())
    for name, value in run.state_dict(style="pyg").items():
        assert torch.equal(value, net.state_dict()[name]), name


def test_weights_of_edge_features_come_back(tmp_path):
    conv = drawn(lambda: pyg.GATv2Conv(FEATURES, CLASSES, heads=2, edge_dim=4, concat=False, bias=False))
    model = pyg_weights.Model("gatv2")
    ours = pyg_weights.to_built_in({f"conv.{name}": value for name, value in conv.state_dict().items()}, model)
    theirs = pyg_weights.to_pyg(ours, model, tmp_path / "missing.json")
    for name, value in conv.state_dict().items():
        assert torch.equal(theirs[f"convs.0.{name}"], value), name


def rows(*shape):
    return torch.arange(float(np.prod(shape))).reshape(shape)


SAGE = {"fc_neigh.weight": rows(4, 4), "fc_self.weight": rows(4, 4), "fc_self.bias": rows(4)}
GAT = {"attn_l": rows(1, 2, 3), "attn_r": rows(1, 2, 3), "fc.weight": rows(6, 6), "bias": rows(6)}
JUMPS = {f"jumps.{ntype}.lin.{name}": rows(*shape) for ntype in ("a", "b") for name, shape in [("weight", (2, 6)), ("bias", (2,))]}


def within(scope, weights):
    return {f"{scope}.{name}": value for name, value in weights.items()}


COME_BACK = {
    "a score of edges": ("sage", "", {**within("convs.0", SAGE), "score.weight": rows(4, 4)}),
    "learned rows of the only type": ("sage", "range", {**within("convs.0.mods._E", SAGE), "embeds._N.weight": rows(5, 4)}),
    "several targets": ("gat", "", {**within("convs.0.mods._E", GAT), **JUMPS}),
    "a residual": ("gat", "", {**within("convs.0.mods._E", GAT), **within("lin", {"weight": rows(2, 6), "bias": rows(2)})}),
}


def graph_file(folder, method):
    (folder / "g.json").write_text(json.dumps({"num_parts": 2, "part_method": method, "edge_map": {"_N:_E:_N": [], "a:r:b": []}}))
    return folder / "g.json"


@pytest.mark.parametrize("case", COME_BACK)
def test_weights_of_a_run_come_back(tmp_path, case):
    kind, method, state = COME_BACK[case]
    model = pyg_weights.Model(kind, residual=True)
    again = pyg_weights.to_built_in(pyg_weights.to_pyg(state, model, graph_file(tmp_path, method)), model)
    assert again.keys() == state.keys()
    assert all(torch.equal(again[name], value) for name, value in state.items())


NOT_IN_PYG = [
    (pyg_weights.Model("rgcn"), {"convs.0.weight": rows(3, 4, 4), "linears.a.weight": rows(4, 4)}, "weights of --model rgcn with a layer per edge type"),
    (pyg_weights.Model("sage"), within("convs.0.mods.gone", SAGE), "g.json: the run has layers for edge type gone"),
    (pyg_weights.Model("sage"), {**within("convs.0.mods._E", SAGE), "embeds._N.weight": rows(5, 4)}, "embeds._N.weight: .* cut the graph with method='range'"),
    (pyg_weights.Model("gat", merge="max"), within("convs.0.mods._E", GAT), "averages the heads of the last layer before it takes their max"),
]


@pytest.mark.parametrize("model, state, text", NOT_IN_PYG)
def test_weights_that_pyg_would_compute_otherwise_are_refused(tmp_path, model, state, text):
    with pytest.raises(ValueError, match=text):
        pyg_weights.to_pyg(state, model, graph_file(tmp_path, "stream"))


def test_a_graph_that_has_moved_is_named(tmp_path):
    with pytest.raises(ValueError, match="gone.json is missing"):
        pyg_weights.to_pyg(within("convs.0.mods.r", SAGE), pyg_weights.Model("sage"), tmp_path / "gone.json")


class DeepGcn2(nn.Module):
    def __init__(self):
        super().__init__()
        self.lins = nn.ModuleList([nn.Linear(FEATURES, HIDDEN), nn.Linear(HIDDEN, CLASSES)])
        self.convs = nn.ModuleList(pyg.GCN2Conv(HIDDEN, 0.1, 0.5, layer + 1) for layer in range(12))


DEEP = {"gcn2": DeepGcn2, "gcn": lambda: pyg.GCN(FEATURES, HIDDEN, 12, CLASSES, jk="cat", norm="batch"), "appnp": lambda: pyg.MLP([3] * 13, norm=None)}


@pytest.mark.parametrize("kind", DEEP)
def test_layers_are_in_the_order_of_their_numbers(kind):
    """``safetensors.torch.load_file`` sorts keys as text."""
    state, model = drawn(DEEP[kind]).state_dict(), pyg_weights.Model(kind)
    expected = pyg_weights.to_built_in(state, model)
    result = pyg_weights.to_built_in(dict(sorted(state.items())), model)
    assert result.keys() == expected.keys()
    assert all(torch.equal(result[name], value) for name, value in expected.items())


CONV = {"weight": rows(5, 4), "bias": rows(4)}
NORM = {"weight": rows(4), "bias": rows(4)}
OF_DGL = {
    "a list of another name": ("sage", within("layers.0", SAGE), within("convs.0", SAGE)),
    "a list of norms of another name": (
        "sage",
        {**within("convs.0", SAGE), **within("bns.0", NORM), **within("convs.1", SAGE)},
        {**within("convs.0", SAGE), **within("norms.0", NORM), **within("convs.1", SAGE)},
    ),
    "a module in DistributedDataParallel": ("sage", within("module.convs.0", SAGE), within("convs.0", SAGE)),
    "layers with names": (
        "gcn",
        {**within("first", CONV), **within("bn", NORM), **within("second", CONV), "out.weight": rows(2, 8), "out.bias": rows(2)},
        {**within("convs.0", CONV), **within("norms.0", NORM), **within("convs.1", CONV), "lin.weight": rows(2, 8), "lin.bias": rows(2)},
    ),
    "a layer per edge type": (
        "sage",
        {**within("layers.0.mods.r", SAGE), **within("bns.0.a", NORM), **within("net.linears.a", {"weight": rows(4, 4), "bias": rows(4)})},
        {**within("convs.0.mods.r", SAGE), **within("norms.0.a", NORM), **within("linears.a", {"weight": rows(4, 4), "bias": rows(4)})},
    ),
}


@pytest.mark.parametrize("case", OF_DGL)
def test_modules_of_dgl_may_have_any_names(case):
    kind, state, expected = OF_DGL[case]
    assert not pyg_weights.has_our_keys(state, kind)
    result = pyg_weights.to_built_in(state, pyg_weights.Model(kind))
    assert result.keys() == expected.keys()
    assert all(torch.equal(result[name], value) for name, value in expected.items())


def test_settings_of_a_configuration_count_unless_options_replace_them():
    config = '[model]\nlayer = "gin" # of DGL\nlearn_eps = true\n[relations]\nmerge = "max"\n'
    assert jobs._model(config, {}) == pyg_weights.Model("gin", learns_eps=True, merge="max")
    assert jobs._model(config, {"hetero": "min", "learn_eps": False}) == pyg_weights.Model("gin", merge="min")
    assert jobs._model("", {}).kind == "sage"


def test_another_activation_is_named():
    widths = {"in_channels": FEATURES, "hidden_channels": HIDDEN, "num_layers": 2, "out_channels": CLASSES}
    with pytest.raises(ValueError, match="GAT has ReLU between layers, but --model gat has ELU: use GAT"):
        pyg_weights.check_activation(pyg.GAT(**widths), "gat")
    with pytest.raises(ValueError, match="GCN has tanh between layers"):
        pyg_weights.check_activation(nn.ModuleDict({"gcn": pyg.GCN(act=torch.tanh, **widths)}), "gcn")
    one = {**widths, "num_layers": 1}
    with pytest.raises(ValueError, match="GAT has ReLU between layers"):
        pyg_weights.check_activation(pyg.GAT(jk="cat", **one), "gat")
    for net in (pyg.GAT(act="elu", **widths), pyg.GAT(act=F.elu, **widths), pyg.GAT(**one), pyg.GAT(**widths).state_dict()):
        pyg_weights.check_activation(net, "gat")
    pyg_weights.check_activation(nn.ModuleDict({"gcn": pyg.GCN(act=F.relu, **widths)}), "gcn")


def test_the_program_names_a_missing_configuration(graph, tmp_path):
    with pytest.raises(ValueError, match="gone.toml: cannot be read"):
        sar.train(graph[2], out=tmp_path / "run", config=tmp_path / "gone.toml", init_params=drawn(CASES["gcn"][0]))


WRONG = [
    ("gin", {"conv.nn.0.weight": torch.ones(3, 2), "conv.nn.2.weight": torch.ones(3, 3)}, "GINConv with nn.0, nn.2: --model gin has one linear map"),
    ("gin", {"conv.nn.weight": torch.ones(3, 2), "conv.eps": torch.ones(1)}, "GINConv with eps=1: pass learn_eps=True"),
    ("sage", {"conv.lin.weight": torch.ones(3, 2)}, "init_params: none of its keys ends in lin_l.weight"),
    ("gcn", {"conv.lin.weight": torch.ones(3, 2), "bound": torch.ones(2, 2, 2)}, "init_params: --model gcn has no place for bound"),
    ("appnp", {"mlp.lins.0.weight": torch.ones(3, 2), "mlp.norms.0.module.weight": torch.ones(3)}, "--model appnp has no place for mlp.norms.0.module.weight"),
    ("gat", {"conv.att_src": torch.ones(1, 1, 3), "conv.att_edge": torch.ones(1)}, "GATConv with edge_dim: --model gat takes no features of edges"),
]


@pytest.mark.parametrize("kind, state, text", WRONG)
def test_weights_without_a_place_are_named(kind, state, text):
    with pytest.raises(ValueError, match=text):
        pyg_weights.to_built_in(state, pyg_weights.Model(kind))


def close(ours, expected):
    difference = (ours - expected).abs().max().item() / max(1.0, expected.abs().max().item())
    assert difference < 1e-5
