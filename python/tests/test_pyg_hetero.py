"""Heterogeneous modules of PyG on ``rank.x_dict`` and ``rank.edge_index_dict`` against PyG in memory."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
torch_geometric = pytest.importorskip("torch_geometric")

import cloudpickle  # noqa: E402
import pyg_graphs  # noqa: E402
from torch_geometric import nn  # noqa: E402

import sar_single as sar  # noqa: E402

cloudpickle.register_pickle_by_value(pyg_graphs)

COUNTS = {"author": 17, "paper": 30}
WIDTHS = {"author": 3, "paper": 5}
TYPES = [("author", "writes", "paper"), ("paper", "by", "author"), ("paper", "cites", "paper")]


def graph():
    """A HeteroData whose node types differ in width."""
    draw = torch.Generator().manual_seed(2)
    data = torch_geometric.data.HeteroData()
    for name, count in COUNTS.items():
        data[name].x = torch.randn(count, WIDTHS[name], generator=draw, dtype=torch.float64)
    for begin, relation, end in TYPES:
        ends = [torch.randint(0, COUNTS[name], (80,), generator=draw) for name in (begin, end)]
        data[begin, relation, end].edge_index = torch.stack(ends)
        data[begin, relation, end].edge_attr = torch.randn(80, 2, generator=draw, dtype=torch.float64)
    return data


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.SAGEConv((-1, -1), 8), nn.GATConv((-1, -1), 4, heads=2, add_self_loops=False)

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)


def models():
    """Modules by name, and whether they take features of edges."""
    metadata = list(COUNTS), TYPES
    return {
        "HeteroConv": (nn.HeteroConv({key: nn.SAGEConv((-1, -1), 4) for key in TYPES}, aggr="sum"), False),
        "HeteroConv with edge features": (
            nn.HeteroConv({key: nn.GATv2Conv((-1, -1), 4, edge_dim=2, add_self_loops=False) for key in TYPES}, aggr="mean"),
            True,
        ),
        "HANConv": (nn.HANConv(WIDTHS, 8, metadata, heads=2), False),
        "HGTConv": (nn.HGTConv(WIDTHS, 8, metadata, heads=2), False),
        "HGTConv of one width": (nn.HGTConv(-1, 4, metadata), False),
        "to_hetero": (nn.to_hetero(Layers(), metadata, aggr="sum"), False),
    }


def result(name, x_dict, edge_index_dict, edge_attr_dict, after=lambda module: None):
    """Outputs, gradients of features, and gradients of parameters."""
    torch.manual_seed(1)
    module, attributed = models()[name]
    module = module.double()
    x_dict = {key: value.clone().requires_grad_() for key, value in x_dict.items()}
    arguments = (edge_attr_dict,) if attributed else ()
    with torch.no_grad():  # Parameters whose size comes of the features.
        module(x_dict, edge_index_dict, *arguments)
    with torch.no_grad():
        for i, (_, parameter) in enumerate(sorted(module.named_parameters())):
            parameter.copy_(torch.cos(torch.arange(parameter.numel()) * 0.7 + i).reshape(parameter.shape) / 2)
    outputs = module(x_dict, edge_index_dict, *arguments)
    sum(value.sin().sum() for value in outputs.values()).backward()
    after(module)
    gradients = {key: parameter.grad for key, parameter in module.named_parameters()}
    return {key: value.detach() for key, value in outputs.items()}, {key: value.grad for key, value in x_dict.items()}, gradients


def added_up(rank, key, dtype):
    """The gradient of an edge type's sources: 256 of the own rank, and 1 of each other one that requests them."""
    topology = rank.edge_index_dict[key].columns.topology
    x = torch.ones(topology.num_sources, 1, dtype=dtype, requires_grad=True)
    rows = topology.halo(x)
    (rows[: len(x)].sum() * 256 + rows[len(x) :].sum()).backward()
    return x.grad


def worker(rank, names):
    found = {}
    with torch.inference_mode():
        assert set(rank.edge_index_dict) == set(TYPES)  # Training reads what this has made.
    assert torch.equal(added_up(rank, TYPES[2], torch.bfloat16), added_up(rank, TYPES[2], torch.float64).bfloat16())
    for name in names:
        found[name] = result(name, rank.x_dict, rank.edge_index_dict, rank.edge_attr_dict, rank.gather_grads)
    with pytest.raises(ValueError, match="different shapes in the node types .*x_dict"):
        rank.x
    return found, rank.ndata.original_ids()


@pytest.mark.parametrize("num_parts", [1, 3])
def test_heterogeneous_modules_give_on_partitions_what_they_give_in_memory(spill, tmp_path, num_parts):
    cloudpickle.register_pickle_by_value(__import__(__name__))
    data, names = graph(), list(models())
    parts = sar.partition(tmp_path / "parts", data, num_parts=num_parts, method="random")
    ranks = sar.run(worker, parts, args=(names,), memory_budget="1GiB", spill_dir=spill)
    for name in names:
        outputs, of_features, of_parameters = result(name, data.x_dict, data.edge_index_dict, data.edge_attr_dict)
        for place, expected in enumerate((outputs, of_features)):
            for ntype, values in expected.items():
                ids = [ids[ntype] for _, ids in ranks]
                ours = pyg_graphs.joined([found[name][place][ntype] for found, _ in ranks], ids)
                assert pyg_graphs.difference(ours, values) < 1e-9, (name, place, ntype)
        for key, values in of_parameters.items():
            assert all(pyg_graphs.difference(found[name][2][key], values) < 1e-9 for found, _ in ranks), (name, key)
