"""Modules of PyG that multiply features before they sum: without a gradient for the features, the sum comes first."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import cloudpickle  # noqa: E402
import pyg_graphs  # noqa: E402
from torch_geometric import nn  # noqa: E402

import sar_single as sar  # noqa: E402

cloudpickle.register_pickle_by_value(pyg_graphs)


class Kept(nn.MessagePassing):
    """A user's module, which keeps the product of which the sum is made."""

    __module__ = "__main__"

    def __init__(self, columns):
        super().__init__(aggr="add")
        self.lin = torch.nn.Linear(6, columns, bias=False)

    def forward(self, x, edge_index):
        self.product = self.lin(x)
        return self.propagate(edge_index, x=self.product)

    def message(self, x_j):
        return x_j


def modules():
    """Modules by name. The first four sum first; the user can ask the last two for the gradient of the product."""
    hooked = nn.GCNConv(6, 8)
    hooked.lin.register_forward_hook(lambda module, inputs, output: setattr(module, "product", output))
    return {
        "gcn": nn.GCNConv(6, 8),
        "mean": nn.GCNConv(6, 8, aggr="mean"),
        "improved": nn.GCNConv(6, 6, improved=True),
        "plain": nn.GCNConv(6, 8, normalize=False),
        "narrow": nn.GCNConv(6, 5),
        "hooked": hooked,
        "kept": Kept(8),
    }


def worker(x, edge_index, w, turns, gather):
    """By name: the output, the gradients of weights, of edge weights and of the product if the user has it, and the turns of the backward pass."""
    found = {}
    for number, (name, module) in enumerate(modules().items()):
        torch.manual_seed(number)
        module = module.double()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.normal_()
        factors = (w.clone().requires_grad_(),) if name in ("mean", "plain") else ()
        out = module(x, edge_index, *factors)
        product = getattr(module, "product", getattr(getattr(module, "lin", None), "product", None))
        if product is not None:
            product.retain_grad()
        before = turns()
        (out.sin() * x[:, :1]).sum().backward()
        passed = turns() - before
        gather(module)
        nodes = [out.detach(), *([] if product is None else [product.grad])]
        found[name] = nodes, [parameter.grad for parameter in module.parameters()], [factor.grad for factor in factors], passed
    return found


def of_rank(rank):
    def gather(module):
        for parameter in module.parameters():
            parameter.grad = rank.all_reduce(parameter.grad)

    return worker(rank.x, rank.edge_index, rank.edata["w"], lambda: rank._engine.turns, gather), rank.orig_ids, rank.edata["w"]


@pytest.mark.parametrize("num_parts, budget", [(4, "2GiB"), (4, "min"), (1, "2GiB")])
def test_sums_of_products_are_products_of_sums(tmp_path, num_parts, budget):
    data = pyg_graphs.graph()
    ranks = sar.run(of_rank, pyg_graphs.cut(data, tmp_path, num_parts), memory_budget=budget, spill_dir=tmp_path / "spill")
    expected = worker(data["x"], data["edge_index"], data["w"], lambda: 0, lambda module: None)
    for name, (nodes, weights, factors, _) in expected.items():
        ours = [found[name] for found, *_ in ranks]
        ids = [ids for _, ids, _ in ranks]
        for place, value in enumerate(nodes):
            assert pyg_graphs.difference(pyg_graphs.joined([nodes[place] for nodes, *_ in ours], ids), value) < 1e-12, name
        for place, value in enumerate(weights):
            assert all(pyg_graphs.difference(weights[place], value) < 1e-12 for _, weights, *_ in ours), name
        # No two edges have the same weight.
        for value in factors:
            weights = torch.cat([weights for _, _, weights in ranks])
            gradients = torch.cat([factors[0] for _, _, factors, _ in ours])
            assert pyg_graphs.difference(gradients[weights.argsort()], value[data["w"].argsort()]) < 1e-12, name
        if not factors:
            assert {passed == 0 for *_, passed in ours} == {name in ("gcn", "improved")}, name
