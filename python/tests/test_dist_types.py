"""``sar_single.dist`` on several types: each has tensors, rows and numbers of neighbours of its own, as in DGL."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from test_samples import Typed  # noqa: E402

import sar_single as sar  # noqa: E402
from sar_single import dist  # noqa: E402


@pytest.fixture
def parts(tmp_path):
    """30 authors and 30 papers in two partitions. Citations have weights: 1 for every third, otherwise 0."""
    draw = np.random.default_rng(0)
    edges = {
        ("author", "writes", "paper"): (draw.integers(0, 30, 90), draw.integers(0, 30, 90)),
        ("paper", "cites", "paper"): (draw.integers(0, 30, 120), draw.integers(0, 30, 120)),
    }
    nodes = {"paper/feat": np.arange(30, dtype="float32")[:, None], "author/age": np.arange(30)}
    weights = {"paper:cites:paper/w": (np.arange(120) % 3 == 0).astype("float32")}
    return sar.partition(tmp_path / "parts", Typed(edges, nodes), num_parts=2, edge_data=weights)


def test_a_type_has_only_its_own_features(parts):
    g = dist.DistGraph("g", part_config=parts)
    assert "feat" in g.nodes["paper"].data and "feat" not in g.nodes["author"].data
    assert "w" in g.edges["cites"].data and "w" not in g.edges["writes"].data
    with pytest.raises(KeyError, match="'feat'; there are .*age"):
        g.nodes["author"].data["feat"]


def test_tensors_of_other_types_and_graphs_may_have_the_same_name(parts):
    g, other = (dist.DistGraph("g", part_config=parts) for _ in range(2))
    policies = [g.get_node_partition_policy("author"), g.get_node_partition_policy("paper"), other.get_node_partition_policy("author")]
    for persistent in (False, True):
        name = f"h-{persistent}"
        first, *others = [dist.DistTensor((30, 2), torch.float32, name, part_policy=policy, persistent=persistent) for policy in policies]
        first[0:30] = torch.ones(30, 2)
        assert [tensor.count_nonzero() for tensor in others] == [0, 0]
        assert dist.DistTensor((30, 2), torch.float32, name, part_policy=policies[0]).count_nonzero() == 60
    first, second, _ = (dist.DistEmbedding(30, 2, "e", part_policy=policy) for policy in policies)
    optimizer = dist.optim.SparseAdagrad([first], lr=1.0)
    first([0]).sum().backward()
    optimizer.step()
    assert first.weight.count_nonzero() == 2 and second.weight.count_nonzero() == 0
    with pytest.raises(ValueError, match="params has embeddings named e, e, whose states are saved by name"):
        dist.optim.SparseAdam([first, second], lr=1.0)


def test_samplers_give_the_rows_of_a_tensor_to_its_type(parts):
    g = dist.DistGraph("g", part_config=parts)
    book, columns = g.get_partition_book(), {}
    for key, policy in (("x", g.get_node_partition_policy("paper")), ("e", g.get_edge_partition_policy("cites"))):
        columns[key] = dist.DistTensor((policy.get_size(),), torch.int64, part_policy=policy)
        columns[key][0 : policy.get_size()] = torch.arange(policy.get_size()) + 1
    sampler = dist.MultiLayerNeighborSampler([-1], input_node_features={"x": columns["x"]}, edge_features={"e": columns["e"]})
    nodes, _, (block,) = next(iter(dist.DistNodeDataLoader(g, {"paper": torch.arange(30)}, sampler, batch_size=30)))
    of_nodes, of_edges = book.map_to_per_ntype(nodes), book.map_to_per_etype(block.edata[dist.EID])
    for values, (types, numbers), own in (
        (block.srcdata["x"], of_nodes, g.get_ntype_id("paper")),
        (block.edata["e"], of_edges, g.get_etype_id("cites")),
    ):
        assert len(types.unique()) == 2 and torch.equal(values, (numbers + 1) * (types == own))


def test_a_tensor_has_a_row_per_own_node(parts, spill):
    def rows(g):
        graph, book = g._stored, g.get_partition_book()
        own = torch.cat([book.partid2nids(part, "paper") for part in graph.parts])
        g.nodes["paper"].data["z"] = own.double()[:, None]
        with pytest.raises(ValueError, match=f"nodes of node~paper has 31 rows, but this rank has {len(own)} nodes"):
            g.nodes["paper"].data["z"] = torch.zeros(31)
        everyone = torch.cat([torch.arange(*graph.nodes.part_firsts[part : part + 2].tolist()) for part in graph.parts])
        sampler = dist.MultiLayerNeighborSampler([-1], input_node_features={"id": everyone.double()})
        nodes, _, (block,) = next(iter(dist.DistNodeDataLoader(g, {"paper": torch.arange(5)}, sampler, batch_size=5)))
        assert torch.equal(block.srcdata["id"], nodes.double()) and len(nodes) > 5
        return g.nodes["paper"].data["z"][0:30].flatten().tolist()

    def worker(rank):
        return rows(dist.DistGraph("g"))

    assert rows(dist.DistGraph("g", part_config=parts)) == list(range(30))
    assert sar.run(worker, parts, memory_budget="min", spill_dir=spill) == [list(range(30))] * 2


def test_a_number_of_neighbours_counts_for_each_edge_type(parts):
    g = dist.DistGraph("g", part_config=parts)
    book, papers = g.get_partition_book(), {"paper": torch.arange(30)}

    def degrees(edges):
        """In-edges of each paper and type."""
        numbers = book.map_to_per_ntype(g.find_edges(edges)[1])[1]
        return torch.bincount(2 * numbers + book.map_to_per_etype(edges)[0], minlength=60)

    expected = degrees(torch.arange(g.num_edges())).clamp(max=2)
    _, _, (block,) = next(iter(dist.DistNodeDataLoader(g, papers, dist.MultiLayerNeighborSampler([2]), batch_size=30)))
    for drawn in (block, g.sample_neighbors(papers, 2), dist.sample_etype_neighbors(g, papers, 2)):
        assert torch.equal(degrees(drawn.edata[dist.EID]), expected)
    with pytest.raises(ValueError, match="fanout has 3 numbers, but the graph has 2 edge types"):
        dist.sample_etype_neighbors(g, papers, [2, 2, 2])
    together = degrees(dist.sample_neighbors(g, papers, 2).edata[dist.EID]).view(30, 2).sum(1)
    assert torch.equal(together, g.in_degrees(book.map_to_homo_nid(papers["paper"], "paper")).clamp(max=2))


def test_edges_are_drawn_by_features_and_assigned_tensors(parts):
    g = dist.DistGraph("g", part_config=parts)
    policy = g.get_edge_partition_policy("cites")
    data, papers = g.edges["cites"].data, {"paper": torch.arange(30)}

    def cited(frontier):
        types, numbers = g.get_partition_book().map_to_per_etype(frontier.edata[dist.EID])
        return sorted(numbers[types == g.get_etype_id("cites")].tolist())

    # The other type has no weights: draws from it are uniform, as in DGL.
    drawn = g.sample_neighbors(papers, 200, prob="w")
    assert cited(drawn) == torch.nonzero(data["w"][0:120]).flatten().tolist() and drawn.num_edges() == 40 + 90
    for parity in (0, 1):
        chosen = torch.arange(120) % 2 == parity
        data["p"] = dist.DistTensor((120, 1), torch.float32, part_policy=policy)
        data["p"][0:120] = chosen.float()[:, None]
        numbers = torch.nonzero(chosen).flatten().tolist()
        for drawn, others in ((g.sample_neighbors(papers, 200, prob="p"), 90), (dist.sample_neighbors(g, papers, 200, prob="p"), 0)):
            assert cited(drawn) == numbers and drawn.num_edges() == 60 + others
        with pytest.raises(ValueError, match="has been used as prob, which keeps its values"):
            data["p"][0] = 1.0
    data["p"] = dist.DistTensor((120, 2), torch.float32, part_policy=policy)
    with pytest.raises(ValueError, match=r"prob 'p' has the shape \[.*, 2\], but edges are drawn by one number each"):
        g.sample_neighbors(papers, 200, prob="p")
