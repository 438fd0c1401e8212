"""Layers on partitions against DGL's on the whole graph: modules of ``dgl.nn``, unmodified, and those of ``sar_single.nn``."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors.torch")

import cloudpickle  # noqa: E402
import dgl_table  # noqa: E402
import layer_cases  # noqa: E402
import pyg_graphs  # noqa: E402

import sar_single as sar  # noqa: E402

for module in (dgl_table, layer_cases, pyg_graphs):
    cloudpickle.register_pickle_by_value(module)


def test_layers_give_what_dgl_gave_on_the_whole_graph(karate, spill):
    expected = layer_cases.recorded()
    del expected["edge weight norm"]  # Only DGL has that module.
    ranks = sar.run(
        layer_cases.worker, karate, args=("sar_single.nn", list(expected)), memory_budget="min", spill_dir=spill
    )
    layer_cases.compare(ranks, expected)


@pytest.mark.parametrize("layers", ["dgl.nn.pytorch", "sar_single.nn"])
def test_partitions_give_what_dgl_gives_on_the_whole_graph(karate, spill, layers):
    pytest.importorskip("dgl")
    expected = layer_cases.of_dgl(karate)
    ranks = sar.run(layer_cases.worker, karate, args=(layers, list(expected)), memory_budget="min", spill_dir=spill)
    layer_cases.compare(ranks, expected)
    for case, values in layer_cases.recorded().items():
        for key, value in values.items():
            layer_cases.close(value, expected[case][key], f"the recorded {case}: {key}")


# Blocks of 16 edges are many to a rank; those of 65,536 are one.
@pytest.mark.parametrize("num_parts, block", [(4, 16), (1, 1 << 16)])
def test_every_module_gives_on_partitions_what_it_gives_in_memory(spill, tmp_path, num_parts, block):
    dgl = pytest.importorskip("dgl")
    data = pyg_graphs.graph()
    parts = pyg_graphs.cut(data, tmp_path, num_parts)
    ways, wrong = dgl_table.compared(parts, dgl_table.expected(data), spill, "2GiB", block)
    assert not wrong
    recorded = dgl_table.PAGE.read_text()
    if num_parts == 4 and f"dgl.nn` {dgl.__version__.partition('+')[0]} " in recorded:
        assert dgl_table.page(ways) == recorded, f"make {dgl_table.PAGE.name} again: python dgl_table.py"


class Gated(torch.nn.Module):
    """Two layers of DGL with batch norms of nodes and of edges, as they are without arguments."""

    def __init__(self):
        from dgl.nn import GatedGCNConv

        super().__init__()
        self.layers = torch.nn.ModuleList([GatedGCNConv(6, 2, 6), GatedGCNConv(6, 6, 6)])

    def forward(self, graph, x, edges):
        for layer in self.layers:
            x, edges = layer(graph, x, edges)
        return x


def gated(graph, x, weight, gather):
    """The output of two steps and of an evaluation, gradients, and statistics."""
    torch.manual_seed(0)
    model = Gated().double()
    edges = torch.stack([weight, weight.cos()], 1)
    found = []
    for _ in range(2):
        found.append(model(graph, x, edges))
        model.zero_grad()
        found[-1].square().sum().backward()
        gather(model)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:  # The edges of the last layer are in no loss.
                    parameter -= 0.01 * parameter.grad
    found.append(model.eval()(graph, x, edges))
    rows = torch.stack([values.detach() for values in found], 1)
    return rows, {**dict(model.named_parameters()), **dict(model.named_buffers())}


def test_batch_norms_of_dgl_modules_take_the_statistics_of_all_partitions(karate, spill):
    pytest.importorskip("dgl")
    graph, weight = layer_cases.whole_graph(karate)
    expected, state = gated(graph, layer_cases.features(graph.num_nodes()), weight, lambda model: None)

    def worker(rank):
        own = slice(rank.first_node, rank.first_node + rank.graph.num_nodes())
        x = layer_cases.features(rank.num_total_nodes)[own]
        rows, state = gated(rank.graph, x, rank.edata["weight"].double(), rank.gather_grads)
        return rows, {name: value.detach() for name, value in state.items()}

    ranks = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    layer_cases.close(torch.cat([rows for rows, _ in ranks]), expected, "the output")
    for _, found in ranks:
        for name, value in state.items():
            layer_cases.close(found[name].double(), value.detach().double(), name)


def test_dgl_may_be_imported_in_the_worker_only(karate, spill):
    pytest.importorskip("dgl")
    cases = ["edge weight norm", "gat", "sage gcn"]
    expected = layer_cases.of_dgl(karate)

    def worker(rank):
        import dgl.function
        from dgl.nn import GraphConv

        x = layer_cases.features(rank.num_total_nodes)[rank.first_node :][: rank.graph.num_nodes()]
        # A message of DGL's own names, and a layer that is made by hand.
        rank.graph.ndata["x"] = x
        rank.graph.update_all(dgl.function.copy_u("x", "m"), dgl.function.sum("m", "y"))
        sums = GraphConv(6, 6, norm="none", weight=False, bias=False)(rank.graph, x)
        assert torch.equal(rank.graph.ndata["y"], sums)
        return layer_cases.worker(rank, "dgl.nn.pytorch", cases, patch=False)

    ranks = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    layer_cases.compare(ranks, {case: expected[case] for case in cases})
