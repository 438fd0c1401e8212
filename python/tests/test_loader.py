"""``rank.loader``: sampled blocks, on which the module for the whole graph runs unchanged."""

from __future__ import annotations

import importlib
import importlib.util
import re

import pytest

torch = pytest.importorskip("torch")

import cloudpickle  # noqa: E402
import models  # noqa: E402

import sar_single as sar  # noqa: E402

cloudpickle.register_pickle_by_value(models)

KINDS = ["sage_mean", "sage_pool", "gcn_ew", "gat"]


def every_neighbour(rank, layers):
    """For each kind of model, the largest difference between logits of the whole graph and of batches with all in-edges."""
    layer = importlib.import_module(layers)
    if layers.startswith("dgl"):
        sar.patch_dgl()
    return {kind: difference(rank, kind, layer) for kind in KINDS}


def difference(rank, kind, layer):
    x = rank.ndata["features"].double()
    torch.manual_seed(1)
    model = models.Model(layer, kind.replace("_ew", "_none"), [x.shape[1], 8, 3], 2).double()
    rank.sync_params(model)
    whole = model(rank.graph, x)
    seeds = torch.arange(len(x)) % 3 != 0
    seen, largest, batches = [], 0.0, 0
    for input_nodes, output_nodes, blocks in rank.loader(fanouts=[-1, -1], batch_size=5, seeds=seeds):
        rows = rank.rows("features", input_nodes).double()
        logits = model(blocks, rows)
        assert torch.equal(blocks[-1].dstdata["_ID"], output_nodes) and len(logits) == len(output_nodes)
        own = output_nodes - rank.first_node
        logits.sum().backward()
        largest = max([largest, *(logits - whole[own]).abs().flatten().tolist()])
        seen += own.tolist()
        batches += 1
    rank.gather_grads(model)
    assert sorted(seen) == torch.nonzero(seeds).flatten().tolist()
    return largest, batches


@pytest.mark.parametrize("layers", ["sar_single.nn", "dgl.nn.pytorch"])
def test_batches_with_all_in_edges_give_the_logits_of_the_whole_graph(karate, spill, layers):
    if layers.startswith("dgl") and importlib.util.find_spec("dgl") is None:
        pytest.skip("DGL is not installed")
    ranks = sar.run(every_neighbour, karate, args=(layers,), memory_budget="min", spill_dir=spill)
    for kind in KINDS:
        assert all(rank[kind][0] < 1e-12 for rank in ranks), kind
        assert len({rank[kind][1] for rank in ranks}) == 1, kind


def test_layers_take_rows_of_sources_and_of_destinations_apart(karate, spill):
    """As in the inference of DGL's examples: ``layer(block, (h, h[: block.num_dst_nodes()]))``."""

    def worker(rank):
        sampler = sar.DistNeighborSampler([4], input_node_features={"h": "features"})
        (block,) = next(iter(sar.DataLoader(rank, torch.ones(17).bool(), sampler, 9)))
        h = block.srcdata["h"].double()
        width, differences = h.shape[1], []
        for layer in [
            *(sar.nn.SAGEConv(width, out, how) for how in ("mean", "gcn", "pool") for out in (3, 2 * width)),
            sar.nn.GraphConv(width, 3, norm="right"),
            sar.nn.GINConv(torch.nn.Linear(width, 3)),
            sar.nn.GATConv(width, 3, 2, residual=True),
            sar.nn.GATv2Conv(width, 3, 2, residual=True),
        ]:
            layer = layer.double()
            joined = layer(block, h)
            differences.append(float((layer(block, (h, h[: block.number_of_dst_nodes()])) - joined).abs().max()))
            if not isinstance(layer, sar.nn.GraphConv):
                assert not torch.equal(layer(block, (h, h[: len(joined)] + 1)), joined), "the second one counts"
        return max(differences)

    assert max(sar.run(worker, karate, memory_budget="min", spill_dir=spill)) < 1e-12


def test_edges_of_blocks_have_their_features(karate, spill):
    def worker(rank):
        x, weight = rank.ndata["features"].double(), rank.edata["weight"].double()
        torch.manual_seed(1)
        conv = sar.nn.GraphConv(x.shape[1], 4, norm="none", allow_zero_in_degree=True).double()
        whole = conv(rank.graph, x, edge_weight=weight)
        for input_nodes, output_nodes, (block,) in rank.loader(fanouts=[-1], batch_size=5, seeds=torch.arange(len(x))):
            edges = block.edata["_ID"]
            values = rank.edge_rows("weight", edges)
            assert not rank.edge_rows("_TYPE", edges).any() and values.dtype == rank.edata["weight"].dtype
            rows = conv(block, rank.rows("features", input_nodes).double(), edge_weight=values.double())
            assert (rows - whole[output_nodes - rank.first_node]).abs().max() < 1e-12
        with pytest.raises(IndexError, match="ids of edges are from 0 to 189, but here are 3 to 190"):
            rank.edge_rows("weight", torch.tensor([3, 190]))
        return weight.unique().numel()

    assert min(sar.run(worker, karate, memory_budget="min", spill_dir=spill)) > 1


def test_a_rank_without_seeds_gets_empty_batches(karate, spill):
    """Every layer of ``sar.nn`` takes a block without nodes, forward and backward."""

    def worker(rank):
        x = rank.ndata["features"].float()
        width, seeds = x.shape[1], torch.full((len(x),), rank.index == 0)
        layers = [
            sar.nn.SAGEConv(width, 4, "pool"),
            sar.nn.GraphConv(width, 4, norm="none", allow_zero_in_degree=True),
            sar.nn.GATConv(width, 4, 2, residual=True, allow_zero_in_degree=True),
            sar.nn.GATv2Conv(width, 4, 2, residual=True, allow_zero_in_degree=True),
            sar.nn.GINConv(torch.nn.Linear(width, 4), "max"),
        ]
        gradients = []
        for layer in layers:
            rank.sync_params(layer)
            sizes = []
            for input_nodes, output_nodes, (block,) in rank.loader(fanouts=[3], batch_size=8, seeds=seeds):
                result = layer(block, rank.rows("features", input_nodes).float())
                assert len(result) == len(output_nodes)
                result.square().sum().backward()
                sizes.append(len(output_nodes))
            rank.gather_grads(layer)
            gradients.append([p.grad for p in layer.parameters()])
        return sizes, gradients

    (some, ours), (none, theirs) = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    assert min(some) > 0 and none == [0] * len(some)
    for layer, other in zip(ours, theirs):
        assert all(torch.equal(a, b) and a.isfinite().all() for a, b in zip(layer, other))


def test_a_rank_with_fewer_seeds_repeats_its_batches_and_says_so(karate, spill):
    def worker(rank):
        x = rank.ndata["features"].float()
        seeds = torch.arange(len(x)) < (2 if rank.index == 0 else 11)
        model = torch.nn.Linear(x.shape[1], 1)
        rank.sync_params(model)
        epochs = []
        for _ in range(2):
            new = []
            for batch in (loader := rank.loader(fanouts=[2], batch_size=3, seeds=seeds)):
                input_nodes, output_nodes, blocks = batch
                assert len(output_nodes) > 0 and batch.num_new in (0, len(output_nodes))
                loss = rank.all_reduce(model(rank.rows("features", output_nodes).float()).mean().detach())
                assert loss.isfinite()
                new += output_nodes[: batch.num_new].tolist()
            assert len(loader) == 4
            epochs.append(sorted(new))
        return epochs, (torch.nonzero(seeds).flatten() + rank.first_node).tolist()

    for epochs, seeds in sar.run(worker, karate, memory_budget="min", spill_dir=spill):
        assert epochs == [seeds, seeds]


SEEDS = {
    "ids of the partitioned graph": (lambda rank, n: {"seeds": torch.arange(n) + rank.first_node}, "17 is not a node of rank 1.*node_ids"),
    "a number that does not exist": (lambda rank, n: {"seeds": [3, n]}, "seeds: 17 is not a node of rank 1, whose nodes have the numbers 0 to 16"),
    "a negative number": (lambda rank, n: {"seeds": [-1]}, "-1 is not a node"),
    "a mask of integers": (lambda rank, n: {"seeds": torch.ones(n, dtype=torch.int64)}, r"node 1 occurs more than once; .*seeds.bool\(\)"),
    "a node twice": (lambda rank, n: {"seeds": [4, 5, 4]}, "seeds: node 4 occurs more than once"),
    "a short mask": (lambda rank, n: {"seeds": torch.ones(n - 1, dtype=torch.bool)}, "a mask of 16 values, but rank 1 has 17 nodes"),
    "a mask of all nodes": (lambda rank, n: {"seeds": torch.ones(34, dtype=torch.uint8)}, "a mask of 34 values, but rank 1 has 17 nodes"),
    "numbers of another type": (lambda rank, n: {"seeds": torch.ones(n)}, "elements of type float32, but nodes are integers or a mask of bool"),
    "unsigned numbers": (lambda rank, n: {"seeds": torch.arange(n, dtype=torch.uint8)}, "a mask has 0 and 1 only"),
    "two dimensions": (lambda rank, n: {"seeds": torch.ones(n, 1).bool()}, "must have one dimension"),
    "a node of another rank": (lambda rank, n: {"node_ids": [16]}, "node_ids: 16 is not a node of rank 1, which has 17 to 33"),
    "an id twice": (lambda rank, n: {"node_ids": [18, 18]}, "node_ids: node 18 occurs more than once"),
    "both": (lambda rank, n: {"seeds": [1], "node_ids": [18]}, "pass either seeds"),
    "neither": (lambda rank, n: {}, "pass either seeds"),
}


def test_seeds_that_are_no_own_nodes_are_refused(karate, spill):
    def worker(rank):
        problems = {}
        for name, (arguments, _) in SEEDS.items():
            try:
                if rank.index == 1:
                    rank.loader(fanouts=[2], batch_size=4, **arguments(rank, rank.graph.num_nodes()))
                problems[name] = None
            except (TypeError, ValueError) as error:
                problems[name] = str(error)
        return problems

    _, problems = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    for name, (_, pattern) in SEEDS.items():
        assert problems[name] and re.search(pattern, problems[name]), (name, problems[name])


def test_seeds_may_be_a_mask_numbers_or_ids_in_any_container(karate, spill):
    def worker(rank):
        import numpy as np

        first, chosen = rank.first_node, [1, 5, 6]
        mask = torch.zeros(rank.graph.num_nodes(), dtype=torch.uint8)
        mask[chosen] = 1
        forms = [{"seeds": chosen}, {"seeds": mask}, {"seeds": mask.bool().numpy()}, {"seeds": np.array(chosen, dtype="int32")}]
        forms += [{"node_ids": [first + i for i in chosen]}, {"seeds": tuple(chosen)}]
        found = []
        for form in forms:
            (batch,) = rank.loader(fanouts=[-1], batch_size=10, shuffle=False, **form)
            found.append((batch.output_nodes - first).tolist())
        (none,) = rank.loader(fanouts=[-1], batch_size=10, seeds=[] if rank.index else [1])
        return found, len(none.output_nodes)

    (found, one), (other, none) = sar.run(worker, karate, memory_budget="min", spill_dir=spill)
    assert found == other == [[1, 5, 6]] * 6 and (one, none) == (1, 0)


def test_draws_are_distinct_in_edges_and_differ_between_epochs(karate, spill):
    def worker(rank):
        loader = rank.loader(fanouts=[3], batch_size=64, seeds=torch.arange(rank.graph.num_nodes()))
        with torch.inference_mode():
            degrees = rank.graph.in_degrees()
        assert not degrees.is_inference()
        epochs = []
        for _ in range(2):
            ((input_nodes, output_nodes, (block,)),) = loader
            source, destination, _, _ = block.edge_arrays()
            pairs = torch.stack([input_nodes[source], output_nodes[destination]], 1)
            assert len(torch.unique(pairs, dim=0)) == len(pairs)
            assert torch.equal(block.in_degrees(), degrees[output_nodes - rank.first_node].clamp(max=3))
            epochs.append(sorted(pairs.tolist()))
        return epochs

    for first, second in sar.run(worker, karate, memory_budget="min", spill_dir=spill):
        assert first != second
