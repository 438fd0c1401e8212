"""Programs with the arguments that SAR's and DGL's guides use, most of them by name."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from test_samples import Own, two_types  # noqa: E402

import sar_single as sar  # noqa: E402
from sar_single import dist  # noqa: E402


def same_bits(worker, parts, spill):
    """The results of the ranks, the same with the least memory and with plenty."""
    least, ample = (list(sar.run(worker, parts, args=(str(parts),), memory_budget=budget, spill_dir=spill)) for budget in ("min", "4GiB"))
    np.testing.assert_equal(least, ample)
    return least


class Model(torch.nn.Module):
    """Layers of any graph or list of blocks, as in SAR's guide."""

    def __init__(self, *widths):
        super().__init__()
        self.convs = torch.nn.ModuleList([sar.nn.SAGEConv(a, b, aggregator_type="mean") for a, b in zip(widths, widths[1:])])

    def forward(self, blocks, features):
        for idx, conv in enumerate(self.convs):
            features = conv(blocks[idx], features)
            if idx < len(self.convs) - 1:
                features = F.relu(features, inplace=True)
        return features


def test_sars_loader_takes_sars_arguments(karate, spill):
    def worker(rank, part_json):
        torch.manual_seed(0)
        partition_data = sar.load_dgl_partition_data(part_json, sar.rank(), torch.device("cpu"))
        features = sar.suffix_key_lookup(partition_data.node_features, "features")
        labels = sar.suffix_key_lookup(partition_data.node_features, "labels").long()
        masks = sar.suffix_key_lookup(partition_data.node_features, "train_mask")
        train_nodes = masks.nonzero(as_tuple=False).view(-1) + partition_data.node_ranges[sar.rank()][0]
        graph = sar.construct_full_graph(partition_data)
        sampler = sar.DistNeighborSampler(
            fanouts=[10, 5], prob=None, replace=False, input_node_features={"x": features}, output_node_features={"y": labels}, output_device=torch.device("cpu")
        )
        loader = sar.DataLoader(
            full_graph_manager=graph,
            seed_nodes=train_nodes,
            graph_sampler=sampler,
            batch_size=4,
            drop_last=False,
            shuffle=True,
            precompute_optimized_batches=True,
            optimized_batches_cache=None,
            num_workers=0,
        )
        model = Model(features.size(1), 8, 4)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        sar.sync_params(model)
        with pytest.raises(TypeError, match="precall_func and callback_func: every collective saves .* leave the argument out"):
            sar.sync_params(model, precall_func=print, callback_func=print)
        with pytest.raises(AttributeError, match="no pause_process: every collective saves"):
            sar.gather_grads(model, precall_func=graph.pause_process, callback_func=graph.resume_process)
        losses = []
        for _ in range(8):
            for blocks in loader:
                blocks = [block.to("cpu") for block in blocks]
                loss = F.cross_entropy(model(blocks, blocks[0].srcdata["x"]), blocks[-1].dstdata["y"])
                optimizer.zero_grad()
                loss.backward()
                sar.gather_grads(model)
                optimizer.step()
                losses.append(loss.item())
        with torch.no_grad():
            logits = model([graph for _ in range(2)], features)
        return np.mean(losses[: len(loader)]), np.mean(losses[-len(loader) :]), logits.numpy()

    for first, last, _ in same_bits(worker, karate, spill):
        assert last < first


def test_use_ddp_divides_what_all_ranks_name(karate, spill):
    def worker(rank, _):
        nodes, edges = torch.arange(33), torch.arange(190)
        options = {"device": "cpu", "use_ddp": True, "ddp_seed": 3, "shuffle": True, "num_workers": 4, "pin_memory": False, "persistent_workers": True}
        loader = sar.NodeDataLoader(rank.graph, nodes, Own([2, 2]), batch_size=5, **options)
        orders = []
        for epoch in (0, 1, 0):
            loader.set_epoch(epoch)
            orders.append(torch.cat([seeds for _, seeds, _ in loader]).tolist())
        assert orders[0] == orders[2] != orders[1]
        whole = sar.NodeDataLoader(rank.graph, nodes, Own([2]), batch_size=5, drop_last=True, **options)
        assert len(whole) == 3 and all(len(seeds) == 5 for _, seeds, _ in whole)
        pairs = sar.EdgeDataLoader(rank.graph, edges, Own([2]), batch_size=19, exclude="self", negative_sampler=sar.Uniform(2), **options)
        seen = torch.cat([positive.edata["_ID"] for _, positive, _, _ in pairs])
        with pytest.raises(TypeError, match="do not take use_uva: leave it out"):
            sar.NodeDataLoader(rank.graph, nodes, Own([2]), use_uva=True)
        with pytest.raises(ValueError, match="device is cuda, but blocks are on the CPU"):
            sar.EdgeDataLoader(rank.graph, edges, Own([2]), device="cuda")
        return sorted(set(orders[0])), seen.tolist()

    (nodes, edges), (others, more) = same_bits(worker, karate, spill)
    assert nodes == list(range(17)) and others == list(range(17, 33)) and sorted(edges + more) == list(range(190))


def test_ids_by_type(tmp_path, spill):
    def worker(rank, _):
        first, end = rank.node_range("paper")
        own = rank._stored.nodes.inside_type(torch.arange(first, end) + rank.first_node)
        sampler = sar.DistNeighborSampler([{("paper", "cites", "paper"): 3, "writes": 0}], output_node_features={"feat": "paper/feat"})
        seeds = [blocks.output_nodes for blocks in sar.DataLoader(rank.graph, {"paper": own}, sampler, 4)]
        assert torch.equal(torch.unique(rank._stored.nodes.inside_type(torch.cat(seeds))), own)
        g = dist.DistGraph("g")
        for graph in (rank.graph, g):
            loader = sar.EdgeDataLoader(graph, {"writes": torch.arange(40), ("paper", "cites", "paper"): [3]}, sar.DistNeighborSampler([2]), batch_size=50)
            ((_, pairs, _),) = loader
            types, numbers = g.get_partition_book().map_to_per_etype(pairs.edata[dist.EID])
            assert sorted(numbers[types == g.get_etype_id("writes")].tolist()) == list(range(40)) and numbers[types == g.get_etype_id("cites")].tolist() == [3]
        with pytest.raises(ValueError, match="unknown edge type 'likes'"):
            sar.EdgeDataLoader(g, {"likes": [0]}, sampler)

    same_bits(worker, two_types(tmp_path), spill)


def start(shape, dtype):
    return torch.full(shape, 0.5, dtype=dtype)


def test_the_loop_of_dgls_guide_with_embeddings_of_a_type(tmp_path, spill):
    def worker(rank, part_config):
        torch.manual_seed(0)
        dist.initialize("ip_config.txt", num_servers=1)
        torch.distributed.init_process_group("gloo")
        g = dist.DistGraph("g", part_config=part_config)
        book = g.get_partition_book()
        mask = dist.DistTensor((30,), torch.bool, "mask", init_func=lambda shape, dtype: torch.arange(shape[0]) % 2 == 0, part_policy=g.get_node_partition_policy("paper"))
        nids = dist.node_split(mask, book, ntype="paper", force_even=True)
        assert 0 < len(nids) < 15 and torch.equal(nids, dist.node_split(mask, force_even=True, ntype="paper"))
        for etype in ("cites", ("paper", "cites", "paper")):
            eids = dist.edge_split(torch.ones(g.num_edges(etype)), book, etype=etype)
            assert len(eids) == 60
        g.edges["cites"].data["seen"] = dist.DistTensor((120,), torch.float32, part_policy=g.get_edge_partition_policy("cites"))
        g.edges["cites"].data["seen"][eids] = torch.ones(len(eids))
        g.barrier()
        assert g.edges["cites"].data["seen"].count_nonzero() == 120
        embedding = dist.DistEmbedding(g.num_nodes("author"), 1, "ages", init_func=start, part_policy=g.get_node_partition_policy("author"))
        sparse = dist.optim.SparseAdam([embedding], lr=0.01)
        sampler = dist.NeighborSampler(g, [5, 5], dist.sample_neighbors, torch.device("cpu"))
        loader = dist.DistDataLoader(dataset=book.map_to_homo_nid(nids, "paper").numpy(), batch_size=4, collate_fn=sampler.sample_blocks, shuffle=True, drop_last=False)
        model = torch.nn.parallel.DistributedDataParallel(Model(1, 4, 2))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(2):
            with model.join():
                for blocks in loader:
                    types, numbers = book.map_to_per_ntype(blocks[0].srcdata[dist.NID])
                    author = types == g.get_ntype_id("author")
                    x = torch.zeros(len(types), 1)
                    x[author] = embedding(numbers[author])
                    x[~author] = g.nodes["paper"].data["feat"][numbers[~author]] / 30
                    _, papers = book.map_to_per_ntype(blocks[-1].dstdata[dist.NID])
                    loss = F.cross_entropy(model(blocks, x), papers % 2)
                    optimizer.zero_grad()
                    sparse.zero_grad()
                    loss.backward()
                    optimizer.step()
                    sparse.step()
        assert int((embedding.weight[0:20] != 0.5).sum()) > 0
        everyone = [None, None]
        torch.distributed.all_gather_object(everyone, {"loss": loss.item()})
        given = [len(nids), None]
        torch.distributed.broadcast_object_list(given, src=1)
        received = [torch.zeros(1), torch.zeros(1)]
        torch.distributed.all_to_all(received, [torch.tensor([float(10 * rank.index + to)]) for to in range(2)])
        assert torch.cat(received).tolist() == [float(rank.index), 10.0 + rank.index] and torch.distributed.get_backend() == "gloo"
        total = torch.tensor(1)
        torch.distributed.reduce(total, dst=0)
        with pytest.raises(NotImplementedError, match="send between workers of sar_single.run: .* use all_gather"):
            torch.distributed.send(total, 1)
        dist.exit_client()
        return everyone, given, int(total), embedding.weight[0:20].numpy()

    first, second = same_bits(worker, two_types(tmp_path), spill)
    np.testing.assert_equal(first, second)


def test_dgls_own_loaders_run_on_the_graph_of_a_rank(karate, spill):
    pytest.importorskip("dgl")

    def worker(rank):
        import dgl

        ids = torch.arange(17) + rank.first_node
        sampler = dgl.dataloading.MultiLayerNeighborSampler([-1, 2])
        loader = dgl.dataloading.DataLoader(rank.graph, ids, sampler, batch_size=4, shuffle=True, drop_last=False, num_workers=0)
        seen = torch.cat([seeds for _, seeds, _ in loader])
        assert sorted(seen.tolist()) == ids.tolist()
        of_edges = dgl.dataloading.as_edge_prediction_sampler(sampler, exclude="self", negative_sampler=dgl.dataloading.negative_sampler.Uniform(3))
        for inputs, positive, negative, blocks in dgl.dataloading.DataLoader(rank.graph, torch.arange(190), of_edges, "cpu", True, batch_size=19):
            assert torch.equal(inputs, blocks[0].srcdata[dgl.NID]) and negative.num_edges() == 3 * positive.num_edges() == 57
            assert not torch.isin(blocks[-1].edata[dgl.EID], positive.edata[dgl.EID]).any()
        plain = dgl.graph(([0, 1, 2], [1, 2, 0]))

        class Theirs(dgl.dataloading.DataLoader):
            pass

        assert len(list(Theirs(plain, torch.arange(3), dgl.dataloading.NeighborSampler([1]), batch_size=2))) == 2

    sar.run(worker, karate, memory_budget="min", spill_dir=spill)


def test_names_that_need_nothing_here_say_why():
    for module, name, reason in (
        (sar, "PointerTensor", "leave the line out"),
        (sar, "core", "sar_single.GraphShardManager"),
        (sar, "comm", "rank.all_reduce"),
        (dist, "DistGraphServer", "servers are files"),
        (dist, "partition_graph", "sar_single.partition"),
    ):
        with pytest.raises(AttributeError, match=f"no attribute '{name}': .*{reason}"):
            getattr(module, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'$"):
        dist.nothing
