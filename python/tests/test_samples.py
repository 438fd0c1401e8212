"""SAR's samples: ``sar.DistNeighborSampler``, ``sar.DataLoader``, ``sar.construct_mfgs``, loaders of edges, samplers of one's own."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import cloudpickle  # noqa: E402
import models  # noqa: E402

import sar_single as sar  # noqa: E402
from sar_single import dist  # noqa: E402
from sar_single.sampling.edge_loader import PairGraph  # noqa: E402

cloudpickle.register_pickle_by_value(models)


def two_types(tmp_path, reverses=False):
    """A graph of papers and authors, whose features have a row per node that holds the node's number."""
    draw = np.random.default_rng(0)
    writes = draw.integers(0, 20, 90), draw.integers(0, 30, 90)
    cites = draw.integers(0, 30, 120), draw.integers(0, 30, 120)
    data = {"paper/feat": np.arange(30, dtype="float32")[:, None], "author/age": np.arange(20, dtype="int64")}
    edges = {("author", "writes", "paper"): writes, ("paper", "cites", "paper"): cites}
    if reverses:
        edges["paper", "written_by", "author"] = writes[::-1]
    return sar.partition(tmp_path / "parts", Typed(edges, data), num_parts=2)


class Typed:
    """The interface of DGL's heterogeneous graphs, as far as ``sar.partition`` uses it."""

    def __init__(self, edges, data):
        self._edges, self.canonical_etypes, self.ntypes = edges, list(edges), ["author", "paper"]
        self.nodes = {ntype: SimpleNamespace(data={k.split("/")[1]: v for k, v in data.items() if k.startswith(ntype)}) for ntype in self.ntypes}
        self.edges = type("Edges", (dict,), {"__call__": lambda _, order, etype: edges[etype]})({etype: SimpleNamespace(data={}) for etype in edges})

    def num_nodes(self, ntype):
        return len(next(iter(self.nodes[ntype].data.values())))


def test_blocks_carry_features_of_files_and_of_the_program(karate, spill):
    def worker(rank):
        x, own = rank.ndata["features"], torch.arange(rank.graph.num_nodes())
        ids = own + rank.first_node
        weights = rank.edata["weight"]
        sampler = sar.DistNeighborSampler(
            [-1, 3],
            input_node_features={"file": "features", "mine": x * 2, "half": x.bfloat16()},
            output_node_features={"id": ids},
            edge_features={"file": "weight", "mine": weights * 3},
        )
        x += 100  # Rows are those that the loader was made with, or the file's.
        train = own % 3 == 0
        new = []
        for blocks in (loader := sar.DataLoader(rank.graph, train, sampler, 4, shuffle=True)):
            first, last = blocks
            nodes = first.srcdata["_ID"]
            assert torch.equal(first.srcdata["file"], rank.rows("features", nodes))
            if len(loader) > 1:
                assert torch.equal(first.srcdata["half"].float(), rank.rows("features", nodes).bfloat16().float())
            assert torch.equal(last.dstdata["id"], blocks.output_nodes) and torch.equal(nodes, blocks.input_nodes)
            for block in blocks:
                assert torch.equal(block.edata["mine"], block.edata["file"] * 3)
                assert torch.equal(block.edata["file"], rank.edge_rows("weight", block.edata["_ID"]))
            new += blocks.output_nodes[: blocks.num_new].tolist()
        assert torch.equal(first.srcdata["mine"], rank.rows("features", first.srcdata["_ID"]) * 2)
        assert sorted(new) == ids[train].tolist()
        whole = sar.DistNeighborSampler([-1], edge_features={"w": "weight"}).sample(rank.graph, ids[:5])[0]
        degrees = torch.bincount(whole.edge_arrays()[1], minlength=5)
        assert torch.equal(degrees, rank.graph.in_degrees()[:5])
        return True

    assert sar.run(worker, karate, memory_budget="min", spill_dir=spill) == [True, True]


def test_probabilities_and_replacement(karate, spill):
    def worker(rank):
        nodes = torch.arange(34)
        weight = rank.edge_rows("weight", torch.arange(190))
        light = float(weight.median())
        drawn = sar.sample_neighbors(rank.graph, nodes, 2, prob="weight")
        ids = drawn.edata["_ID"]
        assert len(torch.unique(ids)) == len(ids) and torch.equal(drawn.edges()[1], rank._stored.ends(ids)[:, 1])
        assert torch.equal(drawn.edges()[0], rank._stored.ends(ids)[:, 0])
        many = sar.sample_neighbors(rank.graph, nodes, 400, prob="weight", replace=True)
        assert many.num_edges() == 400 * 34
        counts = torch.bincount(many.edata["_ID"], minlength=190)
        ends = rank._stored.ends(torch.arange(190))[:, 1]
        sums = torch.zeros(34).index_add(0, ends, weight.float())
        expected = 400 * weight.float() / sums[ends]
        assert float(((counts - expected) / expected.sqrt()).abs().max()) < 6
        torch.manual_seed(3)
        same = [sar.sample_neighbors(rank.graph, nodes, 2, replace=True).edata["_ID"] for _ in range(2)]
        torch.manual_seed(3)
        again = sar.sample_neighbors(rank.graph, nodes, 2, replace=True).edata["_ID"]
        assert torch.equal(same[0], again) and not torch.equal(*same)
        return light

    sar.run(worker, karate, memory_budget="min", spill_dir=spill)


class Own(sar.BlockSampler):
    def __init__(self, fanouts):
        super().__init__(len(fanouts), return_eids=False)
        self.fanouts = fanouts

    def sample_frontier(self, layer_id, g, seed_nodes):
        return sar.sample_neighbors(g, seed_nodes, self.fanouts[layer_id])


def test_ranks_with_fewer_seeds_repeat_and_no_loss_is_nan(karate, spill):
    def worker(rank, sampler):
        seeds = torch.arange(11) + rank.first_node if rank.index else torch.empty(0, dtype=torch.int64)
        sampler = sampler or sar.DistNeighborSampler([4, 4], output_node_features={"y": "labels"})
        loader = sar.DataLoader(rank.graph, seeds, sampler, 4)
        new = [(len(blocks.output_nodes), blocks.num_new) for blocks in loader]
        whole = [len(blocks.output_nodes) for blocks in sar.DataLoader(rank.graph, seeds, sampler, 4, drop_last=True)]
        few = torch.arange(3 if rank.index else 9) + rank.first_node
        few = [blocks.num_new for blocks in sar.DataLoader(rank.graph, few, sampler, 4, drop_last=True)]
        mine = list(sar.DataLoader(rank.graph, few_seeds(rank), batch_size=3, collate_fn=lambda seeds: seeds.tolist()))
        return new, whole, few, mine

    def few_seeds(rank):
        return torch.arange(4) + rank.first_node

    for sampler in (None, Own([4, 4])):
        (new, whole, few, mine), other = sar.run(worker, karate, args=(sampler,), memory_budget="min", spill_dir=spill)
        assert new == [(4, 0)] * 3 and other[0] == [(4, 4), (4, 4), (3, 3)]
        assert whole == [4, 4] and other[1] == [4, 4] and few == [4, 4] and other[2] == [0, 0]
        assert mine == [[0, 1, 2], [3]] and other[3] == [[17, 18, 19], [20]]


def test_groups_of_seeds_share_neighbours_and_are_kept(karate, spill, tmp_path):
    def worker(rank, cache):
        sampler = sar.DistNeighborSampler([-1])
        ids = torch.arange(17) + rank.first_node
        options = {"precompute_optimized_batches": True, "optimized_batches_cache": cache}
        runs = [[b.output_nodes.tolist() for b in sar.DataLoader(rank.graph, ids, sampler, 6, **options)] for _ in range(2)]
        assert runs[0] == runs[1] and sorted(sum(runs[0], [])) == ids.tolist() and max(map(len, runs[0])) <= 6
        return len(runs[0])

    sar.run(worker, karate, args=(str(tmp_path / "groups"),), memory_budget="min", spill_dir=spill)
    assert len(list(tmp_path.glob("groups_*_3"))) == 2


@pytest.mark.parametrize("kind", ["sage_mean", "sage_pool", "gat"])
def test_layer_graphs_give_the_logits_and_gradients_of_the_whole_graph(karate, spill, kind):
    def worker(rank):
        x = rank.ndata["features"].double()
        torch.manual_seed(1)
        model = models.Model(sar.nn, kind, [x.shape[1], 8, 8, 3], 2).double()
        rank.sync_params(model)
        seeds = torch.tensor([14, 2, 5] if rank.index else [], dtype=torch.int64)
        model(rank.graph, x)[seeds].square().sum().backward()
        expected = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        graphs = sar.construct_mfgs(rank, seeds + rank.first_node, 3)

        h = x[graphs[0].input_nodes]
        for i, (conv, graph) in enumerate(zip(model.convs, graphs)):
            h = conv(graph, h)
            last = i == 2
            if kind == "gat":
                h = h.mean(1) if last else torch.nn.functional.elu(h.flatten(1))
            elif not last:
                h = torch.relu(h)
        assert torch.allclose(h, model(rank.graph, x)[seeds], atol=1e-12)
        h.square().sum().backward()
        worst = max((p.grad - e).abs().max().item() for p, e in zip(model.parameters(), expected))
        return worst, len(graphs[0].input_nodes), [g.num_dst_nodes() for g in graphs]

    ranks = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    assert all(worst < 1e-12 for worst, _, _ in ranks) and [sizes[-1] for _, _, sizes in ranks] == [0, 3]


def test_edges_with_negative_ones_and_without_themselves(karate, spill):
    def worker(rank):
        edges = torch.arange(rank.graph.num_edges()) + rank.first_edge
        sampler = sar.DistNeighborSampler([-1, -1], input_node_features={"x": "features"})
        reverse = lambda ids: torch.cat([ids, torch.nonzero((rank._stored.ends(torch.arange(190)).flip(1)[:, None] == rank._stored.ends(ids)).all(2).any(1)).flatten()])  # noqa: E731
        seen = []
        for inputs, positive, negative, blocks in sar.EdgeDataLoader(
            rank.graph, edges, sampler, 20, exclude=reverse, negative_sampler=sar.Uniform(3), shuffle=True
        ):
            ids = positive.edata["_ID"]
            assert not any(torch.isin(block.edata["_ID"], reverse(ids)).any() for block in blocks)
            assert negative.num_edges() == 3 * positive.num_edges() and len(blocks[0].srcdata["x"]) == len(inputs)
            source, destination = positive.edges()
            assert torch.equal(negative.edges()[0].view(-1, 3), source[:, None].expand(-1, 3)), "each edge's negatives are in its place"
            nodes = blocks[-1].dstdata["_ID"]
            assert torch.equal(torch.stack([nodes[source], nodes[destination]], 1), rank._stored.ends(ids))
            positive.ndata["h"] = nodes.double()[:, None]
            positive.apply_edges(sar.fn.u_dot_v("h", "h", "score"))
            assert torch.equal(positive.edata["score"][:, 0], (nodes[source] * nodes[destination]).double())
            seen += ids.tolist()
        batch = next(iter(sar.EdgeDataLoader(rank.graph, edges, sampler, 20, exclude="self")))
        assert not torch.isin(batch.blocks[-1].edata["_ID"], batch.pair_graph.edata["_ID"]).any() and batch.num_new == 20
        assert torch.equal(batch.pair_graph.edata["_ID"], edges[:20])
        batch = next(iter(sar.EdgeDataLoader(rank.graph, edges, sampler, 20, exclude="reverse_types", reverse_etypes={"_E": "_E"})))
        assert not torch.isin(batch.blocks[-1].edata["_ID"], reverse(edges[:20])).any()
        with pytest.raises(ValueError, match="unknown exclude 'all'"):
            sar.EdgeDataLoader(rank.graph, edges, sampler, 20, exclude="all")
        return sorted(set(seen)) == edges.tolist()

    assert all(sar.run(worker, karate, memory_budget="min", spill_dir=spill))


def test_reverses_are_found_by_their_ends(tmp_path):
    """The cut numbers the edges of each type by destination, so that an edge and its reverse have different numbers."""
    g = dist.DistGraph("g", part_config=two_types(tmp_path, reverses=True))
    writes, written_by = map(g.get_etype_id, ("writes", "written_by"))

    def loader(reverse):
        return sar.EdgeDataLoader(
            g, {"writes": torch.arange(40)}, sar.DistNeighborSampler([-1]), 40, exclude="reverse_types", reverse_etypes={"writes": reverse}
        )

    ((_, pairs, (block,)),) = loader("written_by")
    ids, whole = pairs.edata["_ID"], dist.in_subgraph(g, block.dstdata["_ID"]).edata[dist.EID]
    back = set(map(tuple, g._stored.ends(ids).flip(1).tolist()))
    leads_back = torch.tensor([ends in back for ends in map(tuple, g._stored.ends(whole).tolist())])
    types = g.get_partition_book().map_to_per_etype(whole)[0]
    left_out = whole[~torch.isin(whole, block.edata["_ID"])]
    assert torch.equal(left_out, whole[torch.isin(whole, ids) | leads_back & (types == written_by)]) and len(left_out) >= 80
    assert set(types[leads_back].tolist()) == {written_by} and (g._stored.edges.type_of(ids) == writes).all()
    with pytest.raises(ValueError, match="paper:cites:paper is not the reverse of author:writes:paper, as it does not lead from paper to author"):
        loader("cites")


def test_graphs_of_pairs_keep_the_order_of_their_edges():
    """The engine sorts edges by destination, so values of edges take its order inside, and their results the given one."""
    draw = torch.Generator().manual_seed(0)
    source, destination = (torch.randint(6, (20,), generator=draw) for _ in range(2))
    x, w = (torch.rand(rows, generator=draw, dtype=torch.float64).requires_grad_() for rows in (6, 20))
    pairs = PairGraph(torch.arange(6) + 50, source, destination, torch.arange(20) + 7)
    assert all(torch.equal(*ends) for ends in zip(pairs.edges("all"), (source, destination, torch.arange(20))))
    assert torch.equal(pairs.edges("eid"), torch.arange(20)) and torch.equal(pairs.edata["_ID"], torch.arange(20) + 7)
    pairs.ndata["x"], pairs.edata["w"] = x, w
    pairs.apply_edges(sar.fn.u_sub_v("x", "x", "difference"))
    pairs.update_all(sar.fn.u_mul_e("x", "w", "m"), sar.fn.sum("m", "products"))
    pairs.update_all(lambda edges: {"m": edges.src["x"] + edges.data["w"]}, sar.fn.sum("m", "sums"))
    found = pairs.edata["difference"], pairs.ndata["products"], pairs.ndata["sums"], sar.edge_softmax(pairs, w)

    def summed(values):
        return x.new_zeros(6).index_add(0, destination, values)

    expected = x[source] - x[destination], summed(x[source] * w), summed(x[source] + w), w.exp() / summed(w.exp())[destination]
    for ours, theirs in zip(found, expected):
        torch.testing.assert_close(ours, theirs)
        assert all(map(torch.allclose, *(gradients(value, x, w) for value in (ours, theirs))))
    with pytest.raises(AttributeError, match="a graph of pairs has no dsttypes: it has edges of one type"):
        pairs.dsttypes
    with pytest.raises(ValueError, match="unknown form 'ev': use uv, all or eid"):
        pairs.edges("ev")


def gradients(value, *of):
    found = torch.autograd.grad((value * torch.arange(1.0, len(value) + 1)).sum(), of, retain_graph=True, allow_unused=True)
    return [torch.zeros_like(x) if gradient is None else gradient for x, gradient in zip(of, found)]


def test_several_types(tmp_path, spill):
    def worker(rank):
        first, end = rank.node_range("paper")
        sampler = sar.DistNeighborSampler(
            [{"cites": 2, "author:writes:paper": -1}, -1], input_node_features={"feat": "feat", "age": "age"}, output_node_features={"feat": "paper/feat"}
        )
        types, seen = [rank.node_types.index(name) for name in ("paper", "author")], []
        for blocks in sar.DataLoader(rank.graph, ("paper", torch.ones(end - first, dtype=torch.bool)), sampler, 4):
            source, last = blocks[0].srcdata, blocks[-1].dstdata
            assert (last["_TYPE"] == types[0]).all()
            author = source["_TYPE"] == types[1]
            assert not source["feat"][author].any() and not source["age"][~author].any()
            cites = blocks[0].edata["_TYPE"] == [name for _, name, _ in rank.edge_types].index("cites")
            assert int(torch.bincount(blocks[0].edge_arrays()[1][cites], minlength=1).max()) <= 2
            seen += last["feat"].flatten().tolist()[: blocks.num_new]
            with pytest.raises(ValueError, match='a block has no type \'author\': types of the partitions are numbers, the values "_TYPE"'):
                blocks[0].num_src_nodes("author")
        (layer,) = sar.construct_mfgs(rank, torch.arange(first, end) + rank.first_node, 1)
        for values in (layer.srcdata, layer.dstdata):
            assert torch.equal(values["_TYPE"], rank.rows("_TYPE", values["_ID"]))
        assert torch.equal(layer.edata["_TYPE"], rank.edge_rows("_TYPE", layer.edata["_ID"])) and len(layer.edata["_TYPE"].unique()) == 2
        for fanout, problem in (
            ({"likes": 2}, "unknown edge type 'likes'"),
            ({"cites": 2}, "a dict of fan-outs lacks author:writes:paper: it has a number for each edge type"),
            ({}, "lacks author:writes:paper, paper:cites:paper"),
            ({"cites": 2, "writes": -2}, "a fan-out is -2, but must be 0 or more, or -1 for all edges"),
            (None, "a fan-out is a whole number, -1 for all edges, not None"),
        ):
            with pytest.raises((TypeError, ValueError), match=problem):
                sar.sample_neighbors(rank.graph, blocks.output_nodes, fanout)
        return seen

    ranks = sar.run(worker, two_types(tmp_path), memory_budget="min", spill_dir=spill)
    assert sorted(sum(ranks, [])) == list(range(30))


def test_dgls_node_loader_takes_nodes_of_any_partition(karate, spill):
    def worker(rank):
        ids = torch.tensor([3, 30, 16, 17, 8])
        sampler = Own([2, 2])
        batches = list(sar.NodeDataLoader(rank.graph, ids, sampler, "cpu", batch_size=2, num_workers=0))
        for input_nodes, output_nodes, blocks in batches:
            blocks = [block.to(torch.device("cpu")) for block in blocks]
            assert torch.equal(input_nodes, blocks[0].srcdata["_ID"]) and torch.equal(output_nodes, blocks[1].dstdata["_ID"])
        with pytest.raises(IndexError, match="ids of nodes are from 0 to 33"):
            sar.NodeDataLoader(rank.graph, [34], sampler)
        for draw in (lambda: next(iter(sar.NodeDataLoader(rank.graph, [3, 30, 3], sampler, batch_size=3))), lambda: sampler.sample_blocks(rank.graph, [1, 3, 3])):
            with pytest.raises(ValueError, match="node 3 occurs more than once among the destinations of a block"):
                draw()
        with pytest.raises(ValueError, match="device is cuda:0, but"):
            blocks[0].to("cuda:0")
        return torch.cat([nodes for _, nodes, _ in batches]).tolist()

    assert sar.run(worker, karate, memory_budget="min", spill_dir=spill) == [[3, 30, 16, 17, 8]] * 2


def test_arguments_of_sar_that_are_refused_say_why(karate, spill):
    def worker(rank):
        x = rank.ndata["features"]
        sampler = sar.DistNeighborSampler([2], None, False, {"x": x}, {"x": x}, torch.device("cpu"))
        assert sampler.sample(rank.graph, torch.tensor([rank.first_node]))[0].srcdata["x"].shape[1:] == x.shape[1:]
        with pytest.raises(ValueError, match="output_device is cuda"):
            sar.DistNeighborSampler([2], output_device="cuda")
        with pytest.raises(ValueError, match="keep_seed_nodes is False, but layers look for the seeds among the sources"):
            sar.construct_mfgs(rank, [], 2, keep_seed_nodes=False)
        with pytest.raises(AttributeError, match="no pause_process: every collective saves"):
            rank.graph.pause_process

    sar.run(worker, karate, memory_budget="min", spill_dir=spill)


def test_gradients_are_averaged_and_ranks_may_end_early(karate, spill):
    def worker(rank):
        torch.manual_seed(rank.index)
        model = sar.DistributedDataParallel(torch.nn.Linear(3, 1).double())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with model.join():
            for step in range(2 + 2 * rank.index):
                optimizer.zero_grad()
                (model(torch.full((4, 3), float(rank.index + 1)).double()).mean()).backward()
                if step == 0:
                    assert torch.equal(model.module.weight.grad, torch.full((1, 3), 1.5).double())
                optimizer.step()
        return model.module.weight.detach().numpy(), model.module.bias.item()

    (weight, bias), (other, same) = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    assert (weight == other).all() and bias == same


def test_names_of_sar_that_need_nothing_say_why():
    with pytest.raises(AttributeError, match="no attribute 'PointerTensor': every tensor of a worker is saved while it waits"):
        sar.PointerTensor  # noqa: B018
    with pytest.raises(RuntimeError, match="there is no rank here"):
        sar.sync_params(torch.nn.Linear(1, 1))
