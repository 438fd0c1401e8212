"""Graphs of PyG, DGL and OGB as ``sar.partition`` takes them, and their names in a worker."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
data_of = pytest.importorskip("torch_geometric.data")

import sar_single as sar  # noqa: E402
from sar_single.commands import graphs  # noqa: E402

NODES = 12


def data(**more):
    draw = torch.Generator().manual_seed(1)
    return data_of.Data(
        x=torch.randn(NODES, 3, generator=draw),
        edge_index=torch.randint(0, NODES, (2, 40), generator=draw),
        edge_attr=torch.randn(40, 2, generator=draw),
        y=torch.arange(NODES) % 3,
        **more,
    )


class Planetoid(data_of.InMemoryDataset):
    """A dataset of PyG's, without files."""

    def __init__(self, graphs):
        super().__init__(None)
        self.data, self.slices = self.collate(graphs)


class OfOgb:
    """A dataset like those of OGB: a graph, its labels, and splits by the numbers of nodes."""

    def __init__(self, graph, splits):
        self._graph, self._splits = graph, splits

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return self._graph

    def get_idx_split(self):
        return self._splits


SPLITS = {"train": torch.tensor([0, 5]), "valid": torch.tensor([1]), "test": torch.tensor([2, 3])}


def test_names_are_those_of_the_data_in_a_worker(spill, tmp_path):
    def worker(rank):
        same = [torch.equal(rank.ndata[name], getattr(rank, name)) for name in ("x", "y")]
        assert all(same) and torch.equal(rank.edata["edge_attr"], rank.edge_attr)
        assert torch.equal(rank.ndata["train_mask"].bool(), rank.train_mask)
        return rank.orig_ids, rank.x, rank.y, rank.train_mask, rank.val_mask, rank.ndata["age"], rank.edge_attr.sum()

    # Arrays whose names end in x and y are others.
    graph = data(age=torch.arange(NODES) * 1.5, vertex=torch.arange(NODES), category=torch.arange(NODES) % 3)
    parts = sar.partition(tmp_path / "parts", OfOgb(graph, SPLITS), num_parts=2, method="random")
    ranks = sar.run(worker, parts, memory_budget="1GiB", spill_dir=spill)
    order = torch.argsort(torch.cat([rank[0] for rank in ranks]))
    x, y, train, val, age = (torch.cat([rank[i] for rank in ranks])[order] for i in range(1, 6))
    assert torch.equal(x, graph.x) and torch.equal(y, graph.y) and torch.equal(age, graph.age)
    assert train.nonzero().flatten().tolist() == [0, 5] and val.nonzero().flatten().tolist() == [1]
    assert torch.allclose(sum(rank[6] for rank in ranks), graph.edge_attr.sum(), atol=1e-5)


def test_a_name_of_the_data_finds_the_array_that_is_called_otherwise():
    found = {"x": "feat", "y": "label", "age": "age"}
    for arrays in (["vertex", "feat", "category", "label", "age"], ["paper/node_feat", "paper/label", "paper/age"]):
        assert {key: graphs.stored_key(key, arrays) for key in found} == found
    assert graphs.stored_key("x", ["x", "feat"]) == "x" and graphs.stored_key("y", ["my_y"]) == "y"


def test_types_of_edges_become_relations(tmp_path):
    conv = pytest.importorskip("torch_geometric.nn").RGCNConv(3, 3, 12, aggr="add")
    # Relation 10 comes after relation 9, and relation 11 has a single edge.
    kinds = torch.cat([torch.arange(39) % 11, torch.tensor([11])])
    graph = data(edge_type=kinds, train_mask=torch.ones(NODES, dtype=torch.bool))
    found = graphs.describe(graph)
    found.divide("edge_type")
    assert list(found.edges) == [f"_N:{kind}:_N" for kind in range(12)]
    assert torch.equal(found.edge_data["_N:3:_N/feat"][:], graph.edge_attr[kinds == 3])
    # rank.edge_type has the same numbers.
    assert "_N:3:_N/edge_type" not in found.edge_data
    with pytest.raises(ValueError, match="has edge types already"):
        found.divide("_N:3:_N/feat")
    with pytest.raises(ValueError, match="relation_column='edge_attr': .* is a whole number, not float32"):
        graphs.describe(graph).divide("edge_attr")
    with pytest.raises(ValueError, match="relation_column='kind': edges have feat, edge_type"):
        graphs.describe(graph).divide("kind")
    options = {"model": "rgcn", "layers": 1, "epochs": 1, "lr": 0, "optimizer": "sgd", "dropout": 0}
    plain = sar.partition(tmp_path / "plain", graph, num_parts=2)
    with pytest.raises(ValueError, match='edge_type: this model has weights for each edge type.*(\n.*)*relation_column="edge_type"'):
        sar.train(plain, out=tmp_path / "refused", **options)
    parts = sar.partition(tmp_path / "parts", graph, num_parts=2, relation_column="edge_type")
    run = sar.train(parts, out=tmp_path / "run", init_params=torch.nn.ModuleDict({"convs": torch.nn.ModuleList([conv])}), **options)
    expected = conv(graph.x, graph.edge_index, kinds).detach()
    assert torch.allclose(torch.from_numpy(run.predict(output="logits")), expected, atol=1e-5)


@pytest.mark.parametrize("kinds", [[], [7], [5, 2, 5], [1, 0, 1]])
def test_any_numbers_are_types_of_edges(kinds):
    ends = torch.arange(len(kinds))
    found = graphs.Described({"": (ends, ends)}, edge_data={"edge_type": torch.tensor(kinds, dtype=torch.int64)})
    found.divide("edge_type")
    expected = {f"_N:{kind}:_N": [place for place, other in enumerate(kinds) if other == kind] for kind in sorted(set(kinds))} or {"": []}
    assert {etype: sources[:].tolist() for etype, (sources, _) in found.edges.items()} == expected
    assert bool(found.edge_data) == (sorted(set(kinds)) != [0, 1])


def test_more_types_of_edges_than_a_command_line_names_are_refused(tmp_path):
    ends = torch.arange(20000)
    found = graphs.Described({"": (ends, ends)}, edge_data={"kind": ends})
    found.divide("kind")
    with pytest.raises(ValueError, match="20000 edge types are more .*--edges TABLE --relation-column NAME"):
        found.write(tmp_path)
    assert not list(tmp_path.iterdir())


class TypesOfDgl:
    """The part of a heterogeneous graph of DGL's that ``sar.partition`` reads, for environments without DGL."""

    ntypes = ["_N"]

    def __init__(self, relations):
        self.canonical_etypes = [("_N", relation, "_N") for relation in relations]
        frame = SimpleNamespace(data={})
        self.nodes, self.edges = {"_N": frame}, EdgesOfDgl({etype: frame for etype in self.canonical_etypes})

    def num_nodes(self, ntype):
        return NODES


class EdgesOfDgl(dict):
    def __call__(self, order, etype):
        return torch.zeros(1, dtype=torch.int64), torch.ones(1, dtype=torch.int64)


def test_a_note_names_edge_types_that_partitions_sort_otherwise(tmp_path, capfd):
    for name, relations in ("ten", sorted(map(str, range(10)))), ("words", ["2", "a1", "b"]):
        sar.partition(tmp_path / name, TypesOfDgl(relations), num_parts=1)
        assert "canonical_etypes" not in capfd.readouterr().err
    sar.partition(tmp_path / "eleven", TypesOfDgl(sorted(map(str, range(11)))), num_parts=1)
    assert "edge type 2 of the partitions is _N:2:_N, but _N:10:_N in the graph's canonical_etypes" in capfd.readouterr().err


def test_two_edges_keep_their_directions(spill, tmp_path):
    def worker(rank):
        sources, destinations = rank.graph.edge_arrays()[:2]
        return rank.orig_ids[sources].tolist(), rank.orig_ids[destinations].tolist()

    graph = data_of.Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]))
    parts = sar.partition(tmp_path / "parts", graph, num_parts=1)
    (ends,) = sar.run(worker, parts, memory_budget="1GiB", spill_dir=spill)
    assert sorted(zip(*ends)) == [(0, 1), (1, 2)]


def test_a_dataset_is_its_only_graph():
    found = graphs.describe(Planetoid([data(train_mask=torch.arange(NODES) < 4)]))
    assert set(found.node_data) == {"feat", "label", "train_mask"} and found.num_nodes == {"": NODES}
    with pytest.raises(ValueError, match="Planetoid has 2 graphs, but one is cut: pass one of them"):
        graphs.describe(Planetoid([data(), data()]))


def test_labels_and_splits_beside_a_graph_are_node_data():
    graph = data()
    del graph.y
    found = graphs.describe(OfOgb((graph, torch.ones(NODES, 1)), SPLITS))
    assert set(found.node_data) == {"feat", "label", "train_mask", "val_mask", "test_mask"}
    assert found.node_data["val_mask"].nonzero()[0].tolist() == [1]


def test_dicts_by_type_are_a_graph_of_several_types():
    cites = ("paper", "cites", "paper")
    graph = data_of.Data(
        num_nodes_dict={"paper": 4, "author": 2},
        edge_index_dict={("author", "writes", "paper"): torch.tensor([[0, 1], [2, 3]]), cites: torch.tensor([[0], [1]])},
        x_dict={"paper": torch.ones(4, 2)},
        y_dict={"paper": torch.ones(4, 1)},
        node_year={"paper": torch.ones(4, 1)},
        edge_reltype={cites: torch.ones(1, 1)},
    )
    found = graphs.describe(OfOgb(graph, {"train": {"paper": torch.tensor([3])}}))
    assert found.num_nodes == {"paper": 4, "author": 2} and set(found.edges) == {"author:writes:paper", "paper:cites:paper"}
    assert set(found.node_data) == {"paper/feat", "paper/label", "paper/node_year", "paper/train_mask"}
    assert set(found.edge_data) == {"paper:cites:paper/edge_reltype"}
    assert found.node_data["paper/train_mask"].tolist() == [False, False, False, True]


def test_an_array_keeps_its_own_name_where_another_has_the_usual_one():
    found = graphs.describe(data(feat=torch.zeros(NODES, 1)))
    assert found.node_data["feat"].shape == (NODES, 1) and found.node_data["x"].shape == (NODES, 3)


def test_a_graph_without_an_edge_index_is_refused():
    graph = data()
    del graph.edge_index
    with pytest.raises(ValueError, match="no edge_index: leave out a transform"):
        graphs.describe(graph)


def test_a_dataset_of_dgl_is_its_only_graph():
    dgl = pytest.importorskip("dgl")

    class Cora(dgl.data.DGLDataset):
        def process(self):
            self.graph = dgl.rand_graph(5, 9)
            self.graph.ndata["feat"] = torch.ones(5, 2)

        def __getitem__(self, index):
            return self.graph

        def __len__(self):
            return 1

    found = graphs.describe(Cora("cora", verbose=False))
    assert found.num_nodes == {"": 5} and set(found.node_data) == {"feat"}
