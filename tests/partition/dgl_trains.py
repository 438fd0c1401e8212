"""Trains on partitions of `sar-single partition` and on DGL's own partitions of the same graph, and compares.

    python tests/partition/dgl_trains.py target/release/sar-single

Needs dgl 2.1 with PyTorch, and numpy. Loss and accuracies of every epoch agree to 1e-4, for graphs with and without
edge weights, whatever the method. Prints a line per graph; exits with 1 at the first difference.
"""

import json
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("DGLBACKEND", "pytorch")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import dgl  # noqa: E402

BINARY = os.path.abspath(sys.argv[1])


def run(folder, *arguments):
    done = subprocess.run([BINARY, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stderr}"


def curve(folder, config, flags):
    run(folder, "--part-json", config, "--epochs", "8", "--layers", "2", "--hidden", "8", "--dropout", "0", "--spill-dir",
        folder, "--overwrite", "--out", f"{config}.run", *flags)
    lines = [json.loads(line) for line in open(f"{folder}/{config}.run/metrics.jsonl")]
    return [[value for key, value in line.items() if key == "loss" or key.startswith("train_acc")] for line in lines]


def compare(name, partition_flags, train_flags, weights=False):
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(5)
        nodes, pairs = 200, rng.integers(0, 200, (2, 900))
        feat = rng.standard_normal((nodes, 6), dtype=np.float32)
        label = rng.integers(0, 3, nodes)
        train = rng.random(nodes) < 0.6
        np.save(f"{folder}/e.npy", pairs)
        for key, table in {"feat": feat, "label": label, "train_mask": train}.items():
            np.save(f"{folder}/{key}.npy", table)
        graph = dgl.graph(tuple(torch.from_numpy(pairs)), num_nodes=nodes)
        if weights:
            graph.edata["w"] = torch.from_numpy(rng.random(900, dtype=np.float32))
            np.save(f"{folder}/w.npy", graph.edata["w"].numpy())
            partition_flags = ["--edge-data", "w=w.npy", *partition_flags]
            train_flags = ["--edge-weight-key", "w", *train_flags]
        graph = dgl.remove_self_loop(graph)
        graph = dgl.add_self_loop(dgl.add_reverse_edges(graph, copy_edata=True))
        graph.ndata["feat"], graph.ndata["label"] = torch.from_numpy(feat), torch.from_numpy(label)
        graph.ndata["train_mask"] = torch.from_numpy(train)
        dgl.distributed.partition_graph(graph, "theirs", 3, f"{folder}/theirs")
        run(folder, "partition", "--edges", "e.npy", "--node-data", "feat=feat.npy", "--node-data", "label=label.npy",
            "--node-data", "train_mask=train_mask.npy", "--undirected", "--self-loops", "add", "--num-parts", "3",
            "--name", "ours", "--out", "ours", *partition_flags)
        theirs, ours = (curve(folder, f"{side}/{side}.json", train_flags) for side in ("theirs", "ours"))
        assert len(ours) == len(theirs) > 7 and len(ours[0]) > 1
        difference = np.abs(np.array(ours[:8]) - np.array(theirs[:8])).max()
        assert ours[7][0] < ours[0][0], "nothing was learned"
        assert difference < 1e-4, f"{name}: {difference}"
        print(f"{name}: curves differ by {difference:.1e}", flush=True)


if __name__ == "__main__":
    compare("graphsage on streamed partitions", [], [])
    compare("graphsage on random partitions", ["--method", "random"], ["--aggregator", "gcn"])
    compare("weighted gcn on metis partitions", ["--method", "metis"], ["--model", "gcn"], weights=True)
