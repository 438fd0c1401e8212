"""Exports graphs with `sar-single export`, and loads the data sets with GraphBolt.

    python tests/partition/dgl_exports.py target/release/sar-single

Needs dgl 2.1 with PyTorch, and numpy. `dgl.graphbolt.OnDiskDataset` must find the nodes, edges, features and sets of the
graph, and draw samples from it. Exits with 1 at the first difference.
"""

import os
import subprocess
import sys
import tempfile

os.environ.setdefault("DGLBACKEND", "pytorch")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import dgl.graphbolt as gb  # noqa: E402

BINARY = os.path.abspath(sys.argv[1])


def run(folder, *words):
    done = subprocess.run([BINARY, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stderr}"


def tables(rng, rows):
    return {
        "feat": rng.standard_normal((rows, 5), dtype=np.float32),
        "half": rng.standard_normal((rows, 2, 3)).astype(np.float16),
        "wide": rng.integers(0, 60000, rows).astype(np.uint16),
        "label": rng.integers(-1, 4, rows),
        "empty": np.zeros((rows, 0), np.float32),
    }


def exported(folder, rng, nodes, edges):
    """Partitions and exports a graph; returns its data set, the data of nodes and edges, and the sets."""
    words, data, sets = [], {}, {}
    for at, (etype, ends) in enumerate(edges.items()):
        np.save(f"{folder}/{at}.npy", ends)
        words += ["--edges", f"{etype}={at}.npy" if etype else f"{at}.npy"]
        count = ends.shape[1]
        mask = (rng.random(count) < 0.5).astype(np.uint8)
        data["edge", etype] = {"w": rng.random((count, 2)), "time": np.arange(count), "train_mask": mask}
    for ntype, count in nodes.items():
        data["node", ntype] = tables(rng, count)
        order = rng.permutation(count)
        for at, split in enumerate(["train", "val", "test"]):
            sets[split, ntype] = np.sort(order[at * count // 4 : (at + 1) * count // 4])
            np.save(f"{folder}/{split}{len(sets)}.npy", sets[split, ntype])
            words += ["--split", f"{ntype}/{split}={split}{len(sets)}.npy".lstrip("/")]
    for (domain, ty), arrays in data.items():
        for name, table in arrays.items():
            np.save(f"{folder}/x{len(words)}.npy", table)
            words += [f"--{domain}-data", f"{ty}/{name}=x{len(words)}.npy".lstrip("/")]
    run(folder, "partition", *words, "--num-parts", "3", "--out", "parts")
    run(folder, "export", "parts/g.json", "--out", "set")
    return gb.OnDiskDataset(f"{folder}/set", include_original_edge_id=True).load(), data, sets


def key(of, ty):
    """A value of GraphBolt, which has no types if there is one of each."""
    return of[ty] if ty else of


def check(nodes, edges):
    rng = np.random.default_rng(len(nodes))
    with tempfile.TemporaryDirectory() as folder:
        dataset, data, sets = exported(folder, rng, nodes, edges)
        graph, features, (task, links) = dataset.graph, dataset.feature, dataset.tasks
        read = lambda domain, ty, name: features.read(domain, ty or None, name).numpy()  # noqa: E731
        for ntype, count in nodes.items():
            assert key(graph.num_nodes, ntype) == count
            for name, table in data["node", ntype].items():
                found = read("node", ntype, name)
                assert np.array_equal(found.reshape(table.shape), table), (ntype, name)
                assert found.dtype == (np.int64 if name == "wide" else table.dtype)
            splits = {"train": task.train_set, "val": task.validation_set, "test": task.test_set}
            for split, found in splits.items():
                found, due = found._itemsets[ntype] if ntype else found, sets[split, ntype]
                assert found.names == ("seeds", "labels")
                assert np.array_equal(found._items[0], due) and np.array_equal(
                    found._items[1], data["node", ntype]["label"][due]
                )
        assert task.metadata == {"name": "node_classification", "num_classes": 4}
        assert links.metadata == {"name": "link_prediction"} and links.test_set is None
        first = dict(zip(nodes, np.cumsum([0, *nodes.values()])))
        indptr, sources = graph.csc_indptr.numpy(), graph.indices.numpy()
        targets = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        numbers = graph.edge_attributes[gb.ORIGINAL_EDGE_ID].numpy()
        for etype, ends in edges.items():
            assert key(graph.num_edges, etype) == ends.shape[1]
            own = np.full(len(sources), True)
            from_, to = (etype.split(":")[0], etype.split(":")[2]) if etype else ("", "")
            if etype:
                own = graph.type_per_edge.numpy() == graph.edge_type_to_id[etype]
            times = read("edge", etype, "time").ravel()[numbers[own]]
            assert np.array_equal(sources[own] - first[from_], ends[0][times]), etype
            assert np.array_equal(targets[own] - first[to], ends[1][times]), etype
            (pairs,) = (links.train_set._itemsets[etype] if etype else links.train_set)._items
            due = ends[:, data["edge", etype]["train_mask"] > 0].T
            assert sorted(map(tuple, pairs.tolist())) == sorted(map(tuple, due.tolist())), etype
            weights = read("edge", etype, "w")[numbers[own]]
            assert np.array_equal(weights, data["edge", etype]["w"][times]), etype
        keys = {ntype: ["feat"] for ntype in nodes} if list(edges)[0] else ["feat"]
        batches = gb.ItemSampler(task.train_set, batch_size=16).sample_neighbor(graph, [3, 3])
        batch = next(iter(gb.DataLoader(batches.fetch_feature(features, node_feature_keys=keys))))
        for ntype in nodes:
            inputs, rows = key(batch.input_nodes, ntype), batch.node_features[(ntype, "feat") if ntype else "feat"]
            assert torch.equal(rows, torch.from_numpy(data["node", ntype]["feat"])[inputs.long()])
    print(f"{list(nodes)}: as it should be", flush=True)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    check({"": 300}, {"": rng.integers(0, 300, (2, 2000))})
    ends = lambda *sizes: np.stack([rng.integers(0, size, 700) for size in sizes])  # noqa: E731
    check(
        {"a/b": 80, "paper": 120},
        {"a/b:writes:paper": ends(80, 120), "paper:12:a/b": ends(120, 80), "paper:yes:paper": ends(120, 120)},
    )
