"""Programs as PyG's examples are, with ``rank`` in the place of ``data``: losses and gradients are those in memory."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import cloudpickle  # noqa: E402
import pyg_graphs  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.nn import GAE, APPNP, GCNConv, DeepGCNLayer, GENConv, GroupAddRev, JumpingKnowledge, LayerNorm, RGCNConv, SAGEConv  # noqa: E402

import sar_single as sar  # noqa: E402

cloudpickle.register_pickle_by_value(pyg_graphs)

WIDTH, CLASSES = 6, 3


def graph():
    whole = pyg_graphs.graph()
    draw = torch.Generator().manual_seed(1)
    return Data(
        x=whole["x"],
        edge_index=whole["edge_index"],
        edge_attr=whole["attr"],
        edge_type=whole["kind"],
        batch=whole["batch"],
        y=torch.randint(0, CLASSES, (pyg_graphs.NODES,), generator=draw),
        train_mask=torch.rand(pyg_graphs.NODES, generator=draw) < 0.4,
        # As RandomLinkSplit leaves them: ends of other edges than those of edge_index.
        pos_edge_label_index=torch.randint(0, pyg_graphs.NODES, (2, 70), generator=draw),
        neg_edge_label_index=torch.randint(0, pyg_graphs.NODES, (2, 90), generator=draw),
    )


class Deep(torch.nn.Module):
    """As examples/ogbn_proteins_deepgcn.py: layers are computed again in the backward pass."""

    def __init__(self):
        super().__init__()
        self.nodes, self.edges = torch.nn.Linear(WIDTH, 8), torch.nn.Linear(3, 8)
        self.layers = torch.nn.ModuleList(
            DeepGCNLayer(GENConv(8, 8, norm="layer", learn_t=True), LayerNorm(8, mode="node"), torch.nn.ReLU(inplace=True), "res+", ckpt_grad=True) for _ in range(3)
        )
        self.last = torch.nn.Linear(8, CLASSES)

    def forward(self, data):
        x, edges = self.nodes(data.x), self.edges(data.edge_attr)
        x = self.layers[0].conv(x, data.edge_index, edges)
        for layer in self.layers[1:]:
            x = layer(x, data.edge_index, edges)
        return self.last(x)


class Relational(torch.nn.Module):
    """As examples/rgcn.py, whose first layer has a row per node. In a worker, ``None`` is the ids of own nodes."""

    def __init__(self):
        super().__init__()
        self.first, self.second = RGCNConv(pyg_graphs.NODES, 8, 3, num_bases=2), RGCNConv(8, CLASSES, 3, num_bases=2)

    def forward(self, data):
        ids = getattr(data, "orig_ids", None)
        return self.second(self.first(ids, data.edge_index, data.edge_type).relu(), data.edge_index, data.edge_type)


class Jumping(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = torch.nn.ModuleList([SAGEConv(WIDTH, 8), SAGEConv(8, 8)])
        self.jump, self.last = JumpingKnowledge("lstm", 8, 2), torch.nn.Linear(8, CLASSES)

    def forward(self, data):
        xs, x = [], data.x
        for conv in self.convs:
            x = conv(x, data.edge_index).relu()
            xs.append(x)
        return self.last(self.jump(xs))


class Predict(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.propagate = torch.nn.Linear(WIDTH, CLASSES), APPNP(4, 0.1)

    def forward(self, data):
        return self.propagate(self.first(data.x), data.edge_index)


class Reversible(torch.nn.Module):
    """As examples/rev_gnn.py: inputs of layers are computed from their outputs in the backward pass."""

    def __init__(self):
        super().__init__()
        self.layer, self.last = GroupAddRev(SAGEConv(WIDTH // 2, WIDTH // 2), num_groups=2), torch.nn.Linear(WIDTH, CLASSES)

    def forward(self, data):
        return self.last(self.layer(data.x * 1, data.edge_index))


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GCNConv(WIDTH, 8, cached=True), GCNConv(8, 4, cached=True)

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)


MODELS = {model.__name__: model for model in (Deep, Relational, Jumping, Predict, Reversible)}


def made(model):
    torch.manual_seed(1)
    return model().double()


def classified(data, name, mean):
    model = made(MODELS[name])
    mask = data.train_mask
    loss = mean(F.cross_entropy(model(data)[mask], data.y[mask]), mask)
    loss.backward()
    return model, loss.item()


def linked(data, positive, negative, mean):
    """As examples/autoencoder.py: pairs of nodes and pairs drawn besides."""
    model = made(lambda: GAE(Encoder()))
    z = model.encode(data.x, data.edge_index)
    positives, negatives = model.decoder(z, positive), model.decoder(z, negative)
    loss = mean(-torch.log(positives + 1e-15).mean(), len(positives)) + mean(-torch.log(1 - negatives + 1e-15).mean(), len(negatives))
    loss.backward()
    return model, loss.item()


def gradients(model):
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def worker(rank, positive, negative):
    found = {}
    for name in MODELS:
        model, loss = classified(rank, name, rank.mean_loss)
        rank.gather_grads(model)
        found[name] = loss, gradients(model)
    with torch.inference_mode():
        (pairs, which), (others, _) = rank.pairs(positive), rank.pairs(negative)
    model, loss = linked(rank, pairs, others, rank.mean_loss)
    rank.gather_grads(model)
    found["GAE"] = loss, gradients(model)
    with pytest.raises(ValueError, match="6000 is not the id of a node|some numbers are not ids"):
        rank.pairs(torch.tensor([[6000], [0]]))
    return found, which


@pytest.mark.parametrize("num_parts", [1, 3])
def test_programs_give_what_they_give_in_memory(spill, tmp_path, capfd, num_parts):
    data = graph()
    cloudpickle.register_pickle_by_value(__import__(__name__))
    parts = sar.partition(tmp_path / "parts", data, num_parts=num_parts, method="random")
    assert "pos_edge_label_index and neg_edge_label_index are left out" in capfd.readouterr().err
    pairs = data.pos_edge_label_index, data.neg_edge_label_index
    ranks = sar.run(worker, parts, args=pairs, spill_dir=spill, memory_budget="1GiB")
    assert torch.equal(torch.cat([which for _, which in ranks]).sort()[0], torch.arange(70))
    expected = {name: classified(data, name, lambda loss, mask: loss) for name in MODELS}
    expected["GAE"] = linked(data, *pairs, lambda loss, count: loss)
    for name, (model, loss) in expected.items():
        for found, _ in ranks:
            assert found[name][0] == pytest.approx(loss, rel=1e-9), name
            for key, gradient in gradients(model).items():
                assert pyg_graphs.difference(found[name][1][key], gradient) < 1e-9, (name, key)


def test_arrays_and_numbers_have_the_names_of_the_data(spill, tmp_path):
    def names(rank):
        assert (rank.num_features, rank.num_node_features, rank.num_edge_features, rank.num_classes) == (WIDTH, WIDTH, 3, CLASSES)
        assert rank.train_mask.dtype == torch.bool and torch.equal(rank.batch, rank.ndata["batch"])
        with pytest.raises(AttributeError, match="rank has no 'num_nodes'.*x.size"):
            rank.num_nodes
        with pytest.raises(AttributeError, match="rank has no 'edge_label_index'.*rank.pairs"):
            rank.edge_label_index
        with pytest.raises(ValueError, match="parameters have no shape yet .*call the model once"):
            rank.sync_params(SAGEConv(-1, 4))
        return rank.edge_type.bincount(minlength=3)

    data = graph()
    parts = sar.partition(tmp_path / "parts", data, num_parts=2)
    assert torch.equal(sum(sar.run(names, parts, spill_dir=spill)), data.edge_type.bincount(minlength=3))


def test_a_model_with_the_sizes_of_a_rank_is_refused(spill, tmp_path):
    def own_sizes(rank):
        rank.sync_params(torch.nn.Linear(2 + rank.index, 1))

    parts = sar.partition(tmp_path / "parts", graph(), num_parts=2)
    with pytest.raises(sar.WorkerError, match=r"\[1, 3\] on rank 1, but \[1, 2\] on rank 0: sizes of a model must be the same on all ranks"):
        sar.run(own_sizes, parts, spill_dir=spill)


def test_types_are_reached_as_in_hetero_data(spill, tmp_path):
    data = HeteroData()
    data["author"].x, data["author"].train_mask = torch.randn(9, 2), torch.arange(9) < 4
    data["paper"].x, data["paper"].y = torch.randn(12, 3), torch.arange(12) % 4
    data["author", "writes", "paper"].edge_index = torch.stack([torch.arange(9), torch.arange(9)])
    data["paper", "cites", "paper"].edge_index = torch.stack([torch.arange(11), torch.arange(1, 12)])

    def types(rank):
        assert rank.metadata() == data.metadata()
        assert torch.equal(rank["paper"].x, rank.x_dict["paper"]) and torch.equal(rank["paper"].y, rank.y_dict["paper"])
        assert rank["author", "writes", "paper"].edge_index is rank.edge_index_dict["author", "writes", "paper"]
        with pytest.raises(AttributeError, match="author has no array 'y'"):
            rank["author"].y
        with pytest.raises(KeyError, match="'institute' is not a type of this graph"):
            rank["institute"]
        assert "paper" in rank and ("paper", "cites", "paper") in rank and "institute" not in rank
        assert [rank[name].num_features for name in data.node_types] == [2, 3] and rank["paper", "cites", "paper"].num_features == 0
        with pytest.raises(AttributeError, match=r"paper has no 'num_nodes': x.size\(0\)"):
            rank["paper"].num_nodes
        return rank.train_mask_dict["author"].sum()

    parts = sar.partition(tmp_path / "parts", data, num_parts=2, method="random")
    assert sum(sar.run(types, parts, spill_dir=spill)) == 4


def narrow(rank, normal):
    """Results of norms and poolings of bfloat16 values, and the numbers of the rank's nodes."""
    x, batch = (rank.x, rank.batch) if normal is None else normal
    from torch_geometric import nn

    norms = [nn.GraphNorm(4), nn.PairNorm(), nn.MeanSubtractionNorm(), nn.GraphSizeNorm(), nn.LayerNorm(4, mode="graph"), nn.InstanceNorm(4, affine=True, track_running_stats=True)]
    typed = nn.HeteroBatchNorm(4, 3)
    x = x.bfloat16()
    if normal is not None:
        x = x.float()
    modules = [lambda x, norm=norm.to(x.dtype): norm(x, batch) for norm in norms]
    modules += [nn.BatchNorm(4).to(x.dtype), lambda x: typed.to(x.dtype)(x, batch)]
    modules += [lambda x, pool=pool: pool(x, batch) for pool in (nn.global_add_pool, nn.global_mean_pool, nn.global_max_pool)]
    per_graph = torch.nn.BatchNorm1d(4, momentum=1.0)

    def evaluated(x):
        """Values per graph after normalisation with the statistics that a step of training has kept."""
        pooled = nn.global_add_pool(x.float(), batch)
        per_graph.train()(pooled)
        return per_graph.eval()(pooled).to(x.dtype)

    results = [module(x) for module in [*modules, evaluated]]
    if normal is None:
        assert all(result.dtype == x.dtype for result in results)
        counts = rank.all_reduce(torch.bincount(batch, minlength=3))
        assert torch.allclose(nn.GraphSizeNorm()(torch.full((len(x), 1), 2), batch), 2 * counts[batch].float().rsqrt().view(-1, 1))
        assert torch.equal(rank.mean(x.abs() * 0 + 1), torch.ones(4).bfloat16())
    return results, None if normal is not None else rank.orig_ids


def test_norms_and_poolings_of_short_floats_are_over_all_nodes(spill, tmp_path):
    nodes = 1500
    draw = torch.Generator().manual_seed(3)
    ends = torch.randint(0, nodes, (2, 3000), generator=draw)
    data = Data(x=torch.randn(nodes, 4, generator=draw) + 1, edge_index=ends, batch=torch.randint(0, 3, (nodes,), generator=draw))
    ranks = sar.run(narrow, sar.partition(tmp_path / "parts", data, num_parts=2), args=(None,), spill_dir=spill)
    for number, expected in enumerate(narrow(None, (data.x, data.batch))[0]):
        found = [results[number] for results, _ in ranks]
        ours = found[0] if len(expected) == 3 else pyg_graphs.joined(found, [ids for _, ids in ranks])
        assert pyg_graphs.difference(ours, expected.detach()) < 0.01, number
