"""``rank.loader(form="pyg")``: batches as ``NeighborLoader`` gives them, on which PyG's modules run unchanged."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.nn import HeteroConv, SAGEConv  # noqa: E402
from torch_geometric.utils import trim_to_layer  # noqa: E402

import sar_single as sar  # noqa: E402
from sar_single._program import program  # noqa: E402

NODES, EDGES = 120, 600


@pytest.fixture(scope="module", autouse=True)
def installed():
    try:
        program("partition")
    except FileNotFoundError as error:
        pytest.skip(str(error))


def random_edges(draw, sources, destinations, count):
    pairs = torch.randperm(sources * destinations, generator=draw)[:count]
    return torch.stack([pairs // destinations, pairs % destinations])


def homogeneous():
    draw = torch.Generator().manual_seed(1)
    data = Data(
        x=torch.randn(NODES, 5, generator=draw).double(),
        y=torch.arange(NODES),
        edge_index=random_edges(draw, NODES, NODES, EDGES),
        edge_attr=torch.arange(EDGES),
    )
    data.train_mask = torch.arange(NODES) % 3 == 0
    return data


def heterogeneous():
    draw = torch.Generator().manual_seed(2)
    data = HeteroData()
    data["author"].x = torch.randn(40, 3, generator=draw).double()
    data["paper"].x = torch.randn(80, 6, generator=draw).double()
    data["paper"].y = torch.arange(80)
    for source, name, destination, count in [("author", "writes", "paper", 150), ("paper", "cites", "paper", 300), ("paper", "by", "author", 90)]:
        store = data[source, name, destination]
        store.edge_index = random_edges(draw, data[source].num_nodes, data[destination].num_nodes, count)
        store.edge_attr = torch.arange(count)
    return data


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = torch.nn.ModuleList([SAGEConv(5, 8), SAGEConv(8, 4)])

    def forward(self, x, edge_index, batch=None):
        for layer, conv in enumerate(self.convs):
            if batch is not None:
                x, edge_index, _ = trim_to_layer(layer, batch.num_sampled_nodes, batch.num_sampled_edges, x, edge_index)
            x = conv(x, edge_index).relu()
        return x


class TypedNet(torch.nn.Module):
    def __init__(self, data):
        super().__init__()
        widths = {ntype: data[ntype].x.shape[1] for ntype in data.node_types}
        first = {etype: SAGEConv((widths[etype[0]], widths[etype[2]]), 8) for etype in data.edge_types}
        self.convs = torch.nn.ModuleList([HeteroConv(first), HeteroConv({etype: SAGEConv(8, 4) for etype in data.edge_types})])

    def forward(self, x, edges, batch=None):
        for layer, conv in enumerate(self.convs):
            if batch is not None:
                x, edges, _ = trim_to_layer(layer, batch.num_sampled_nodes_dict, batch.num_sampled_edges_dict, x, edges)
            x = conv(x, edges)
        return x


def seeded(make):
    torch.manual_seed(3)
    return make().double()


def test_batches_with_all_neighbours_give_the_logits_of_the_whole_graph(tmp_path, spill):
    data = homogeneous()
    whole = seeded(Net)(data.x, data.edge_index)
    parts = sar.partition(tmp_path / "parts", data, num_parts=3)

    def worker(rank):
        model, results = seeded(Net), []
        seeds = rank.ndata["train_mask"].bool()
        loader = rank.loader(form="pyg", num_neighbors=[-1, -1], batch_size=7, seeds=seeds)
        for batch in loader:
            assert type(batch) is Data and batch.batch_size == len(batch.input_id)
            assert batch.num_nodes == len(batch.x) == sum(batch.num_sampled_nodes)
            assert batch.train_mask[: batch.batch_size].all()
            assert torch.equal(torch.nonzero(seeds).flatten()[batch.input_id] + rank.first_node, batch.n_id[: batch.batch_size])
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
            trimmed = model(batch.x, batch.edge_index, batch)[: batch.batch_size]
            assert torch.allclose(trimmed, out, atol=1e-12)
            results.append((batch.y[: batch.num_new], out[: batch.num_new].detach()))
        return results

    results = [result for rank in sar.run(worker, parts, memory_budget="min", spill_dir=spill) for result in rank]
    nodes = torch.cat([y for y, _ in results])
    assert sorted(nodes.tolist()) == torch.nonzero(data.train_mask).flatten().tolist()
    assert (torch.cat([out for _, out in results]) - whole[nodes]).abs().max() < 1e-12


def check_draws(edge_index, ends, e_id, original, fanouts, num_sampled_edges):
    """``ends`` are original ids of the batch's nodes, of sources and of destinations."""
    assert torch.equal(original[:, e_id], torch.stack([ends[0][edge_index[0]], ends[1][edge_index[1]]]))
    assert len(torch.unique(e_id)) == len(e_id) == sum(num_sampled_edges)
    hops = edge_index[1].split(list(num_sampled_edges))
    for hop, fanout in zip(hops, fanouts):
        assert len(hop) == 0 or torch.bincount(hop).max() <= fanout
    seen = [set(hop.tolist()) for hop in hops]
    assert not seen[0] & seen[1]  # A node's neighbours are drawn once.


def test_neighbours_are_drawn_once_per_node_and_edges_have_their_attributes(tmp_path, spill):
    data = homogeneous()
    parts = sar.partition(tmp_path / "parts", data, num_parts=3)

    def worker(rank):
        loader = rank.loader(form="pyg", fanouts=[2, 3], batch_size=10, seeds=range(rank.graph.num_nodes()), attributes=["y", "edge_attr", "edge_weight"])
        drawn = []
        for batch in loader:
            assert "x" not in batch and torch.equal(batch.n_id[: batch.batch_size] - rank.first_node, batch.input_id)  # All nodes are seeds.
            # The seeds' neighbours are three, those of nodes found then two.
            check_draws(batch.edge_index, [batch.y, batch.y], batch.edge_attr, data.edge_index, [3, 2], batch.num_sampled_edges)
            assert torch.equal(rank.edge_rows("feat", batch.e_id), batch.edge_attr)
            drawn.append(len(batch.e_id))
        return drawn

    assert all(min(drawn) > 0 for drawn in sar.run(worker, parts, memory_budget="min", spill_dir=spill))


def test_several_node_types(tmp_path, spill):
    data = heterogeneous()
    torch.manual_seed(3)
    whole = TypedNet(data).double()(data.x_dict, data.edge_index_dict)["paper"]
    parts = sar.partition(tmp_path / "parts", data, num_parts=3)

    def worker(rank):
        torch.manual_seed(3)
        model, results = TypedNet(data).double(), []
        for batch in rank.loader(form="pyg", num_neighbors=[-1, -1], batch_size=9, seeds=("paper", torch.ones(rank.node_range("paper")[1] - rank.node_range("paper")[0]).bool())):
            assert type(batch) is HeteroData and set(batch.node_types) == set(data.node_types)
            size, store = batch["paper"].batch_size, batch["paper"]
            out = model(batch.x_dict, batch.edge_index_dict)["paper"][:size]
            trimmed = model(batch.x_dict, batch.edge_index_dict, batch)["paper"][:size]
            assert torch.allclose(trimmed, out, atol=1e-12)
            results.append((store.y[: store.num_new], out[: store.num_new].detach()))
        fanouts = {etype: [2, 1] for etype in data.edge_types}
        for batch in rank.loader(form="pyg", num_neighbors=fanouts, batch_size=9, seeds=("author", [0, 1])):
            for etype in batch.edge_types:
                store = batch[etype]
                if etype == ("paper", "cites", "paper"):
                    y = batch["paper"].y
                    check_draws(store.edge_index, [y, y], store.edge_attr, data[etype].edge_index, [2, 1], store.num_sampled_edges)
        return results

    results = [result for rank in sar.run(worker, parts, memory_budget="min", spill_dir=spill) for result in rank]
    nodes = torch.cat([y for y, _ in results])
    assert sorted(nodes.tolist()) == list(range(80))
    assert (torch.cat([out for _, out in results]) - whole[nodes]).abs().max() < 1e-12


def test_what_a_loader_cannot_do_is_named(tmp_path, spill):
    data = heterogeneous()
    parts = sar.partition(tmp_path / "parts", data, num_parts=2)
    wrong = [
        (TypeError, r"seeds of a graph with several node types name their type: \('author', mask\)", {"seeds": [1]}),
        (ValueError, "unknown node type 'book'; this graph has author, paper", {"seeds": ("book", [1])}),
        (ValueError, "num_neighbors names .*, but the edge types are", {"seeds": ("paper", [1]), "num_neighbors": {("a", "b", "c"): [1]}}),
        (ValueError, "attributes: batches have no array 'z', but edge_attr, x, y", {"seeds": ("paper", [1]), "attributes": ["x", "z"]}),
        (ValueError, "fanouts has a number for each layer", {"seeds": ("paper", [1]), "num_neighbors": []}),
        (ValueError, "a fan-out is -2, but must be 0 or more", {"seeds": ("paper", [1]), "num_neighbors": [-2]}),
    ]

    def worker(rank):
        for kind, text, arguments in wrong:
            with pytest.raises(kind, match=text):
                rank.loader(**{"form": "pyg", "num_neighbors": [1], "batch_size": 2, **arguments})

    sar.run(worker, parts, memory_budget="min", spill_dir=spill)


def test_arrays_with_usual_names_stay_apart_and_poolings_are_those_of_the_batch(tmp_path, spill):
    from torch_geometric.nn import global_add_pool, global_mean_pool

    data = homogeneous()
    arrays = {"y": data.y, "labels": data.y + 1, "feat": data.x, "features": -data.x}
    edges = {"edge_weight": data.edge_attr, "weight": data.edge_attr + 1}
    parts = sar.partition(tmp_path / "parts", edge_index=tuple(data.edge_index), num_nodes=NODES, num_parts=2, node_data=arrays, edge_data=edges)

    def worker(rank):
        assert "x" in rank and "edge_weight" in rank and "z" not in rank and "edge_attr" not in rank
        assert getattr(rank, "edge_attr", None) is None and not hasattr(rank, "train_mask")
        with pytest.raises(AttributeError, match="keep it in a variable, as in x = rank.x"):
            rank.x = 0
        for batch in rank.loader(form="pyg", num_neighbors=[2, 1, 1], batch_size=7, seeds=range(10)):
            assert torch.equal(batch.labels, batch.y + 1) and torch.equal(batch.x, -batch.features)
            assert torch.equal(batch.weight, batch.edge_weight + 1)
            for rows in (batch.x, batch.x[: sum(batch.num_sampled_nodes[:2])]):  # Also those that trim_to_layer leaves.
                assert torch.allclose(global_mean_pool(rows, None), rows.mean(0, keepdim=True))
            # Rows of no batch are pooled over all ranks, even if their number on one rank is that of its seeds.
            some = rank.x if rank.index else rank.x[: batch.batch_size]
            assert torch.allclose(global_add_pool(some, None), rank.all_reduce(some.sum(0, keepdim=True)))
        some = rank.x[: batch.batch_size]
        assert torch.allclose(global_add_pool(some, None), rank.all_reduce(some.sum(0, keepdim=True)))

    sar.run(worker, parts, memory_budget="min", spill_dir=spill)
