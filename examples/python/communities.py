"""The graph of the other examples: communities whose members are mostly linked to one another, with noisy features."""

import tempfile

import numpy as np
import sar_single as sar

NODES, EDGES, CLASSES, FEATURES = 2000, 20000, 4, 16


def partition(folder, num_parts=2, reverse=False):
    """Cuts the graph into partitions; gives their JSON file."""
    draw = np.random.default_rng(0)
    label = draw.integers(0, CLASSES, NODES)
    members = [np.flatnonzero(label == c) for c in range(CLASSES)]
    source = draw.integers(0, NODES, EDGES)
    inside = np.array([draw.choice(members[c]) for c in label[source]])
    target = np.where(draw.random(EDGES) < 0.8, inside, draw.integers(0, NODES, EDGES))
    features = np.eye(CLASSES, FEATURES, dtype="float32")[label] + draw.normal(0, 1.5, (NODES, FEATURES)).astype("float32")
    part = draw.random(NODES)
    data = {"features": features, "labels": label, "train_mask": part < 0.5, "val_mask": (part >= 0.5) & (part < 0.7), "test_mask": part >= 0.7}
    if reverse:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
    return sar.partition(folder, edge_index=(source, target), node_data=data, num_parts=num_parts)


def run(worker):
    """Runs ``worker(rank, part_json)`` with the least memory and with plenty, which changes no bit; gives what each rank returns."""
    with tempfile.TemporaryDirectory() as folder:
        part_json = partition(f"{folder}/parts")
        least, ample = (list(sar.run(worker, part_json, args=(part_json,), memory_budget=budget)) for budget in ("min", "4GiB"))
    np.testing.assert_equal(least, ample)
    return least
