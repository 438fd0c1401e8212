"""``sar_single.dist``: DGL's distributed interface, in workers and in a plain script."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from test_samples import two_types  # noqa: E402

import sar_single as sar  # noqa: E402
from sar_single import dist  # noqa: E402


def questions(g):
    """Facts of a graph, which are the same in any process."""
    book = g.get_partition_book()
    edges = torch.tensor([0, 3, 189, 100])
    source, destination = g.find_edges(edges)
    frontier = dist.in_subgraph(g, torch.arange(34))
    assert frontier.num_edges() == g.num_edges() == 190 and g.num_nodes() == 34
    degrees = g.in_degrees(torch.arange(34))
    assert torch.equal(degrees, torch.bincount(frontier.edges()[1], minlength=34))
    found = dict(zip(frontier.edata[dist.EID].tolist(), zip(*(ends.tolist() for ends in frontier.edges()))))
    assert [found[e] for e in edges.tolist()] == list(zip(source.tolist(), destination.tolist()))
    assert book.num_partitions() == 2 and book.nid2partid([0, 16, 17, 33]).tolist() == [0, 0, 1, 1]
    assert book.partid2nids(1).tolist() == list(range(17, 34)) and book.nid2localnid([18], 1).tolist() == [1]
    assert "features" in g.ndata and "weight" in g.edata and len(g.ndata["features"]) == 34
    with pytest.raises(KeyError, match="'nothing'; there are .*features"):
        g.ndata["nothing"]
    with pytest.raises(TypeError, match="a feature of the partitions' files, which are not changed"):
        g.ndata["features"][0:2] = torch.zeros(2, 1)
    return g.ndata["features"][[33, 0]].sum().item()


def test_a_graph_answers_in_workers_and_in_a_script(karate, spill):
    def worker(rank):
        g = dist.DistGraph("karate", part_config=karate)
        with pytest.raises(ValueError, match="part_config is other.json, but sar_single.run was given"):
            dist.DistGraph("karate", part_config="other.json")
        return questions(g), rank.rows("features", torch.tensor([33, 0])).sum().item()

    ranks = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    assert {value for rank in ranks for value in rank} == {questions(dist.DistGraph("karate", part_config=karate))}


def test_out_edges_and_subgraphs(karate, spill):
    def answers(g):
        ids = torch.arange(190)
        source, destination = g.find_edges(ids)
        assert torch.equal(g.out_degrees(), torch.bincount(source, minlength=34))
        assert dist.out_degrees(g, [33, 0]).tolist() == [int((source == 33).sum()), int((source == 0).sum())]
        assert torch.equal(g.in_degrees(), torch.bincount(destination, minlength=34))
        everything = dist.sample_neighbors(g, [33, 2], -1, edge_dir="out")
        expected = torch.cat([ids[source == 33], ids[source == 2]])
        assert sorted(everything.edata[dist.EID].tolist()) == sorted(expected.tolist())
        some = dist.sample_neighbors(g, torch.arange(34), 3, edge_dir="out")
        begins, ends = some.edges()
        drawn = some.edata[dist.EID]
        assert torch.equal(begins, source[drawn]) and torch.equal(ends, destination[drawn]) and len(torch.unique(drawn)) == len(drawn)
        assert torch.equal(torch.bincount(begins, minlength=34), g.out_degrees().clamp(max=3))
        with pytest.raises(ValueError, match="edge_dir is 'both', but must be in or out"):
            dist.sample_neighbors(g, [0], 3, edge_dir="both")

        chosen = [100, 7, 189, 8]
        part = g.edge_subgraph(chosen)
        u, v = part.edges()
        nodes = part.ndata[dist.NID]
        assert nodes[u].tolist() == source[chosen].tolist() and nodes[v].tolist() == destination[chosen].tolist()
        assert part.edata[dist.EID].tolist() == chosen
        # DGL numbers nodes as sources and then destinations name them first.
        assert nodes.tolist() == list(dict.fromkeys(source[chosen].tolist() + destination[chosen].tolist()))
        whole = g.edge_subgraph(torch.tensor([7]), relabel_nodes=False)
        assert whole.num_nodes() == 34 and [int(end) for end in whole.edges()] == [int(source[7]), int(destination[7])]
        assert g.node_attr_schemes()["features"].shape == g.ndata["features"].shape[1:] and g.get_ntype_id("_N") == g.get_etype_id("_E") == 0
        return drawn.tolist()

    def worker(rank):
        torch.manual_seed(1)
        return answers(dist.DistGraph("karate", karate))

    ranks = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    torch.manual_seed(1)
    assert ranks == [answers(dist.DistGraph("karate", karate))] * 2


def test_out_edges_of_a_type(tmp_path):
    g = dist.DistGraph("g", part_config=two_types(tmp_path))
    writes = torch.arange(g.num_edges("writes"))
    drawn = dist.sample_neighbors(g, {"author": torch.arange(20)}, {"writes": -1, "cites": 5}, edge_dir="out")
    types, authors = g.get_partition_book().map_to_per_ntype(drawn.edges()[0])
    assert (types == g.get_ntype_id("author")).all() and drawn.num_edges() == len(writes)
    assert torch.equal(torch.bincount(authors), torch.bincount(g.find_edges(writes, "writes")[0]))


def test_edges_and_their_negatives_may_be_given_by_type(tmp_path):
    g = dist.DistGraph("g", part_config=two_types(tmp_path))
    book, writes, first = g.get_partition_book(), ("author", "writes", "paper"), torch.arange(6)

    def batch(**options):
        sampler = dist.MultiLayerNeighborSampler([-1])
        return next(iter(dist.DistEdgeDataLoader(g, {writes: torch.arange(90)}, sampler, batch_size=6, **options)))

    def left_out(edges):
        left = batch(**edges).blocks[0]
        papers = left.dstdata["_ID"]
        whole = dist.in_subgraph(g, papers).edata[dist.EID]
        types, numbers = book.map_to_per_etype(whole[~torch.isin(whole, left.edata[dist.EID])])
        assert (types == g.get_etype_id("writes")).all()
        return sorted(numbers.tolist())

    assert left_out({"exclude": lambda edges: {writes: first}}) == first.tolist()
    papers, reverse = g.find_edges(torch.arange(90), "writes")[1], torch.arange(90)
    reverse[0] = other = int(torch.nonzero(torch.isin(papers[6:], papers[:6]))[0]) + 6
    assert left_out({"exclude": "reverse_id", "reverse_eids": {"writes": reverse}}) == [*range(6), other]
    batch = batch(negative_sampler=lambda g, edges: {writes: (first, first + 20)})
    source, destination = (batch.negative_graph.ndata[dist.NID][ends] for ends in batch.negative_graph.edges())
    for ids, ntype, numbers in ((source, "author", first), (destination, "paper", first + 20)):
        types, found = book.map_to_per_ntype(ids)
        assert (types == g.get_ntype_id(ntype)).all() and torch.equal(found, numbers)
    assert (batch.positive_graph.edata["_TYPE"] == g.get_etype_id("writes")).all()
    assert (batch.negative_graph.edata["_TYPE"] == -1).all() and batch.negative_graph.ndata["_TYPE"].max() > 0


def test_batches_depend_on_the_seed_of_torch(karate):
    g = dist.DistGraph("karate", part_config=karate)

    def batches(seed):
        nodes = torch.arange(34)
        sampler = dist.MultiLayerNeighborSampler([2])
        loaders = dist.DistNodeDataLoader(g, nodes, sampler, batch_size=9), dist.DistDataLoader(nodes, 9, shuffle=True)
        # As in DGL's guide: after the loaders.
        torch.manual_seed(seed)
        (_, _, (block,)), seeds = (next(iter(loader)) for loader in loaders)
        return block.edata[dist.EID].tolist(), seeds.tolist()

    (edges, seeds), again, (others, other) = (batches(seed) for seed in (0, 0, 2**63 + 1))
    assert again == (edges, seeds) and edges != others and seeds != other


def test_splits_are_those_of_dgl(karate, spill):
    mask = torch.from_numpy(np.random.default_rng(0).random(34) < 0.6)
    chosen = torch.nonzero(mask).flatten().tolist()

    def worker(rank):
        g = dist.DistGraph("karate")
        column = dist.DistTensor((34,), torch.bool, init_func=lambda shape, _: mask[17 * rank.index : 17 * rank.index + 17])
        assert column.count_nonzero() == len(chosen)
        even = dist.node_split(column, g.get_partition_book(), force_even=True)
        assert torch.equal(even, dist.node_split(mask, g.get_partition_book()))
        edges = dist.edge_split(torch.ones(190), g.get_partition_book())
        return even.tolist(), dist.node_split(column, force_even=False).tolist(), edges.tolist()

    (even, own, edges), (rest, others, more) = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    half = (len(chosen) + 1) // 2
    assert even == chosen[:half] and rest == chosen[half:] and edges + more == list(range(190))
    assert own == [n for n in chosen if n < 17] and others == [n for n in chosen if n >= 17]


def test_several_trainers_of_a_partition_draw_as_dgl_does(karate):
    from sar_single.dist import split

    book = dist.DistGraph("karate", part_config=karate).get_partition_book()
    mask, pieces = torch.ones(34), []
    for rank in range(4):
        group = type("Group", (), {"index": rank, "world_size": 4})()
        before, book._graph.group = book._graph.group, group
        pieces.append(split.node_split(mask, book).tolist())
        book._graph.group = before
    for part in (0, 1):
        order = np.random.RandomState(part).permutation(17)
        assert pieces[2 * part] == (np.sort(order[:9]) + 17 * part).tolist()
    assert sorted(sum(pieces, [])) == list(range(34))


def _of_four(book, split, mask, **options):
    """The ids of each of four processes on two partitions."""
    pieces, before = [], book._graph.group
    for rank in range(4):
        book._graph.group = type("Group", (), {"index": rank, "world_size": 4})()
        pieces.append(split(mask, book, **options).tolist())
    book._graph.group = before
    return pieces


def test_splits_by_trainer_ids_are_those_of_dgl(karate):
    book = dist.DistGraph("karate", part_config=karate).get_partition_book()
    draw = np.random.default_rng(2)
    mask = torch.from_numpy(draw.random(34) < 0.8)
    chosen = torch.nonzero(mask).flatten()
    for trainers in (4, 8, 3):
        ids = torch.from_numpy(draw.integers(0, trainers, 34))
        ids[0] = trainers - 1
        pieces = _of_four(book, dist.node_split, mask, node_trainer_ids=ids)
        assert sorted(sum(pieces, [])) == chosen.tolist()
        joined = ids // (trainers // 4 or 1)
        half = (len(chosen) + 1) // 2
        for part, own in enumerate((chosen[:half], chosen[half:])):
            # Nodes of the partition's trainers by trainer, and then the others.
            near = [node for trainer in (0, 1) for node in own.tolist() if joined[node] == 2 * part + trainer]
            far = [node for node in own.tolist() if joined[node] // 2 != part]
            cut = [len(near) - len(near) // 2, len(far) - len(far) // 2]
            assert pieces[2 * part] == near[: cut[0]] + far[: cut[1]]
            assert pieces[2 * part + 1] == near[cut[0] :] + far[cut[1] :]
    with pytest.raises(ValueError, match="6 trainers were assigned, which is not a multiple of 4 processes"):
        _of_four(book, dist.node_split, mask, node_trainer_ids=torch.full((34,), 5))
    with pytest.raises(ValueError, match="33 values for 34"):
        _of_four(book, dist.node_split, mask, node_trainer_ids=ids[1:])


def test_tensors_are_shared_and_assigned(karate, spill):
    def worker(rank):
        g = dist.DistGraph("karate")
        ones = dist.DistTensor((34, 3), torch.float32, name="ones", init_func=lambda shape, dtype: torch.ones(shape, dtype=dtype))
        assert ones[5:7].tolist() == [[1.0] * 3] * 2 and ones[33].shape == (1, 3)
        if rank.index == 0:
            ones[[33, 2]] = torch.tensor([[7.0], [8.0]])
        g.barrier()
        again = dist.DistTensor((34, 3), torch.float32, name="ones")
        assert again[[2, 33]][:, 0].tolist() == [8.0, 7.0]
        with pytest.raises(ValueError, match=r"'ones' exists with the shape \[34, 3\]"):
            dist.DistTensor((34, 2), torch.float32, name="ones")
        g.ndata["h"] = ones
        g.ndata["own"] = torch.arange(17) + rank.first_node
        assert torch.equal(g.ndata["own"][0:34], torch.arange(34)) and "h" in g.ndata
        blocks = next(iter(dist.DistNodeDataLoader(g, [3, 30], sar.DistNeighborSampler([-1], input_node_features={"h": g.ndata["h"]}), batch_size=2))).blocks
        assert torch.equal(blocks[0].srcdata["h"], ones[blocks.input_nodes])
        del g.ndata["h"]
        assert "h" not in g.ndata
        masks = [dist.DistTensor((34,), torch.uint8, init_func=lambda shape, dtype, at=at: (torch.arange(shape[0]) == at).to(dtype)) for at in (1, 2)]
        assert torch.nonzero((masks[0] | masks[1])[0:34]).flatten().tolist() == [1, 2, 18, 19]
        with pytest.raises(ValueError, match="5 rows fit 0 types of nodes and edges"):
            dist.DistTensor((5,), torch.float32)

    sar.run(worker, karate, memory_budget="min", spill_dir=spill)


@pytest.mark.parametrize("kind", ["SparseAdam", "SparseAdagrad"])
def test_embeddings_learn_as_one_process_would(karate, spill, kind):
    start = torch.from_numpy(np.random.default_rng(1).standard_normal((34, 4)).astype("float32"))
    batches = [torch.tensor([[3, 20, 3], [20, 33, 0]]), torch.tensor([[20, 1, 2], [5, 6, 20]])]

    def loss(rows, ids):
        return (rows * (ids[:, None].float() + 1)).square().sum()

    def worker(rank):
        dist.DistGraph("karate")
        embedding = dist.DistEmbedding(34, 4, init_func=lambda shape, _: start[17 * rank.index : 17 * rank.index + 17])
        optimizer = getattr(dist.optim, kind)([embedding], lr=0.1)
        for batch in batches:
            ids = batch[rank.index]
            loss(embedding(ids), ids).backward()
            optimizer.step()
        return embedding.weight[0:34].numpy()

    ours, theirs = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    rows, state = start.double().clone(), torch.zeros(3, 34, 4).double()
    for batch in batches:
        ids = batch.flatten()
        used, counts = torch.unique(ids, return_counts=True)
        gradient = 2 * rows[used] * (used[:, None].double() + 1) ** 2
        if kind == "SparseAdagrad":
            state[0][used] += gradient**2
            rows[used] -= 0.1 * gradient / (state[0][used].sqrt() + 1e-10)
        else:
            state[0][used] += 1
            state[1][used] = 0.9 * state[1][used] + 0.1 * gradient
            state[2][used] = 0.999 * state[2][used] + 0.001 * gradient**2
            mean, square = state[1][used] / (1 - 0.9 ** state[0][used]), state[2][used] / (1 - 0.999 ** state[0][used])
            rows[used] -= 0.1 * mean / (square.sqrt() + 1e-8)
    assert (ours == theirs).all() and np.abs(ours - rows.numpy()).max() < 1e-4


def test_gradients_are_forgotten_but_not_the_rows_that_are_in_use(karate):
    g = dist.DistGraph("karate", part_config=karate)
    embedding = dist.DistEmbedding(34, 2)
    optimizer = dist.optim.SparseAdagrad([embedding], lr=0.1)
    embedding([5]).sum().backward()
    rows = embedding([3])
    optimizer.zero_grad()  # As in DGL's loops: between the forward pass and backward().
    rows.sum().backward()
    optimizer.step()
    assert embedding.weight[[3, 5]].tolist() == [[pytest.approx(-0.1)] * 2, [0.0, 0.0]] and g.num_nodes() == 34


@pytest.mark.parametrize("kind", ["SparseAdam", "SparseAdagrad"])
def test_optimizers_are_saved_and_loaded_by_another_number_of_processes(karate, spill, tmp_path, kind):
    steps = [torch.tensor([3, 20, 33]), torch.tensor([20, 5]), torch.tensor([20, 33, 0])]

    def trained(embedding, optimizer, steps):
        for ids in steps:
            (embedding(ids) * (ids[:, None] + 1.0)).square().sum().backward()
            optimizer.step()
        return embedding.weight[0:34].numpy()

    def made(start):
        firsts = iter(torch.from_numpy(start).split(17))
        embedding = dist.DistEmbedding(34, 2, name="e", init_func=lambda shape, _: next(firsts))
        return embedding, getattr(dist.optim, kind)([embedding], lr=0.1)

    def worker(rank, start):
        dist.DistGraph("karate")
        embedding = dist.DistEmbedding(34, 2, name="e", init_func=lambda shape, _: torch.from_numpy(start)[17 * rank.index : 17 * rank.index + 17])
        optimizer = getattr(dist.optim, kind)([embedding], lr=0.1)
        rows = trained(embedding, optimizer, steps[:2])
        optimizer.save(tmp_path / "state")
        return rows

    start = np.random.default_rng(1).standard_normal((34, 2)).astype("float32")
    rows = sar.run(worker, karate, args=(start,), memory_budget="min", spill_dir=spill)[0]
    assert sorted(path.name for path in tmp_path.glob("state*")) == ["state_0", "state_1"]

    g = dist.DistGraph("karate", part_config=karate)
    embedding, optimizer = made(rows)
    optimizer._lr = 7.0
    optimizer.load(tmp_path / "state")
    resumed = trained(embedding, optimizer, steps[2:])
    del embedding, optimizer
    embedding, optimizer = made(start)
    assert np.abs(trained(embedding, optimizer, steps) - resumed).max() < 1e-6 and np.abs(resumed - rows).max() > 1e-3

    saved = torch.load(tmp_path / "state_1")
    assert g.num_nodes() == 34 and saved["emb_states"]["e"]["ids"].tolist() == list(range(17, 34)) and saved["params"]["world_size"] == 2
    other = dist.optim.SparseAdam if kind == "SparseAdagrad" else dist.optim.SparseAdagrad
    with pytest.raises(ValueError, match=f"do not belong to {other.__name__}"):
        other([embedding], lr=0.1).load(tmp_path / "state")
    (tmp_path / "state_1").unlink()
    with pytest.raises(FileNotFoundError, match="state_1 is missing: each process saves a file"):
        optimizer.load(tmp_path / "state")


def test_a_state_that_dgl_saved_is_loaded(karate, tmp_path):
    pytest.importorskip("dgl")
    import dgl

    names = {"e_step": torch.arange(34.0), "e_mem": torch.rand(34, 2), "e_power": torch.rand(34, 2)}
    theirs = dgl.distributed.optim.SparseAdam.__new__(dgl.distributed.optim.SparseAdam)

    class Rows(torch.Tensor):
        name = ""

    states = [rows.as_subclass(Rows) for rows in names.values()]
    for state, name in zip(states, names):
        state.name = name
    policy = type("Policy", (), {"policy_str": "node~_N", "part_id": 0, "type_name": "_N"})()
    policy.partition_book = policy._partition_book = type("Book", (), {"partid2nids": lambda *_: torch.arange(34)})()
    embedding = type("Embedding", (), {"name": "e", "part_policy": policy})()
    theirs._params, theirs._state, theirs._rank, theirs._world_size = [embedding], {"e": tuple(states)}, 0, 1
    theirs._defaults = {"_lr": 0.25, "_eps": 1e-7, "_beta1": 0.8, "_beta2": 0.9}
    state = theirs.local_state_dict()
    state["emb_states"]["e"]["states"] = {name: rows.as_subclass(torch.Tensor) for name, rows in state["emb_states"]["e"]["states"].items()}
    torch.save(state, tmp_path / "state_0")

    g = dist.DistGraph("karate", part_config=karate)
    optimizer = dist.optim.SparseAdam([dist.DistEmbedding(34, 2, name="e")], lr=0.1)
    optimizer.load(tmp_path / "state")
    assert (optimizer._lr, optimizer._beta1, optimizer._beta2, optimizer._eps) == (0.25, 0.8, 0.9, 1e-7)
    assert all(torch.equal(optimizer._states[0][name[2:]][0:34], rows) for name, rows in names.items())
    assert optimizer.local_state_dict().keys() == state.keys() and g.num_nodes() == 34


def test_lines_of_torch_distributed_stay_in_workers(karate, spill):
    def worker(rank):
        import torch.distributed
        from torch.nn.parallel import DistributedDataParallel

        assert not torch.distributed.is_initialized()
        with pytest.raises(ValueError, match="init_process_group: world_size is 3, but this worker of sar_single.run has 2"):
            torch.distributed.init_process_group("gloo", world_size=3, rank=rank.index)
        torch.distributed.init_process_group(backend="gloo")
        assert torch.distributed.get_rank() == rank.index and torch.distributed.get_world_size() == 2 and torch.distributed.is_initialized()
        own = torch.tensor([1.0, rank.index])
        torch.distributed.all_reduce(own)
        torch.distributed.all_reduce(largest := torch.tensor(rank.index), op=torch.distributed.ReduceOp.MAX)
        torch.distributed.broadcast(first := torch.tensor([rank.index + 5]), 0)
        torch.distributed.all_gather(everyone := [torch.zeros(1), torch.zeros(1)], torch.tensor([float(rank.index)]))
        torch.distributed.barrier()
        assert own.tolist() == [2.0, 1.0] and int(largest) == 1 and int(first) == 5 and torch.cat(everyone).tolist() == [0.0, 1.0]
        with pytest.raises(ValueError, match="collectives of workers involve all ranks"):
            torch.distributed.all_reduce(own, async_op=True)
        torch.manual_seed(rank.index)
        model = DistributedDataParallel(torch.nn.Linear(3, 1), find_unused_parameters=True)
        with pytest.raises(TypeError, match="does not take process_group"):
            DistributedDataParallel(torch.nn.Linear(3, 1), process_group=object())
        with model.no_sync():
            model(torch.full((1, 3), 1.0 + rank.index)).sum().backward()
        assert model.module.weight.grad.tolist() == [[1.0 + rank.index] * 3]
        model(torch.ones(1, 3)).sum().backward()
        assert model.module.weight.grad.tolist() == [[2.5] * 3]
        torch.distributed.destroy_process_group()
        assert not torch.distributed.is_initialized()
        return model.module.weight.detach().numpy()

    first, second = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    assert (first == second).all()


def test_samplers_of_dgl_run_unchanged(karate, spill):
    pytest.importorskip("dgl")

    def worker(rank):
        import dgl

        class Sampler(dgl.dataloading.BlockSampler):
            def sample_blocks(self, g, seed_nodes, exclude_eids=None):
                frontier = dgl.sampling.sample_neighbors(g, seed_nodes, -1)
                block = dgl.to_block(frontier, seed_nodes)
                return block.srcdata[dgl.NID], seed_nodes, [block]

        ids = torch.arange(17) + rank.first_node
        for sampler in (dgl.dataloading.NeighborSampler([-1, -1]), Sampler()):
            for blocks in sar.DataLoader(rank.graph, ids, sampler, 4):
                source, destination, _, _ = blocks[-1].edge_arrays()
                ends = rank._stored.ends(blocks[-1].edata[dgl.EID])
                assert torch.equal(ends[:, 0], blocks[-1].srcdata[dgl.NID][source])
                assert torch.equal(ends[:, 1], blocks[-1].dstdata[dgl.NID][destination])

    sar.run(worker, karate, memory_budget="min", spill_dir=spill)


def test_samplers_of_dgl_run_in_a_plain_script(karate):
    dgl = pytest.importorskip("dgl")
    g = dist.DistGraph("karate", part_config=karate)
    sampler = dgl.dataloading.NeighborSampler([-1])
    batch = next(iter(dist.DistNodeDataLoader(g, [3, 30], sampler, batch_size=2)))
    assert batch.blocks[0].num_edges() == int(g.in_degrees([3, 30]).sum())
    negatives = dgl.dataloading.negative_sampler.Uniform(3)
    batch = next(iter(dist.DistEdgeDataLoader(g, [7, 3], sampler, batch_size=2, negative_sampler=negatives)))
    assert batch.positive_graph.edata[dgl.EID].tolist() == [7, 3] and batch.negative_graph.num_edges() == 6


SCRIPT = """
import atexit, os, sys, torch
from sar_single import dist
torch.distributed.init_process_group("gloo", init_method=sys.argv[2], rank=int(sys.argv[3]), world_size=2)
dist.initialize("ip_config.txt")
g = dist.DistGraph("karate", sys.argv[1])
nodes = dist.node_split(torch.ones(34), g.get_partition_book())
seen = dist.DistTensor((34,), torch.int64)
for seeds in dist.DistDataLoader(nodes, 5, collate_fn=lambda seeds: seeds):
    seen[seeds] = seen[seeds] + 1
g.barrier()
assert (seen[0:34] >= 1).all() and len(nodes) == 17
blocks = dist.NeighborSampler(g, [2, 2], dist.sample_neighbors).sample_blocks(nodes)
assert len(blocks) == 2 and len(g.ndata["features"][blocks[0].srcdata[dist.NID]]) == blocks[0].num_src_nodes()
g.barrier()
# What Python does at its end. The destructors of C++ are left out: those of torch's gloo sometimes abort a process whose peer has ended.
atexit._run_exitfuncs()
os._exit(0)
"""


def test_processes_of_torch_work_together(karate, tmp_path):
    arguments = [sys.executable, "-c", SCRIPT, str(karate), f"file://{tmp_path / 'store'}"]
    processes = [subprocess.Popen([*arguments, str(rank)], env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"}) for rank in (0, 1)]
    assert [process.wait() for process in processes] == [0, 0]
    assert not list(tmp_path.glob("sar-single-*"))
