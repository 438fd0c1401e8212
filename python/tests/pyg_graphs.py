"""Graphs that tests of PyG's modules cut, in memory and as a rank sees them."""

from __future__ import annotations

import torch

import sar_single as sar

NODES = 60
NODE_KEYS = ("pos", "normal", "batch", "start")
EDGE_KEYS = ("w", "attr", "kind")


def graph():
    """A graph with self loops, edges that are there twice and nodes without edges. Those of partition 2 have no in-edges.

    Edges are sorted by destination, as some aggregations of PyG want them.
    """
    draw = torch.Generator().manual_seed(5)
    part = torch.randint(0, 4, (NODES,), generator=draw)
    part[0] = 0
    ends = torch.randint(0, NODES, (2, 300), generator=draw)
    loops = torch.arange(0, NODES, 7)
    ends = torch.cat([torch.tensor([[3], [0]]), ends[:, ends[0] != ends[1]], ends[:, :5], torch.stack([loops, loops])], 1)
    ends = ends[:, part[ends[1]] != 2]
    ends = ends[:, torch.argsort(ends[1], stable=True)]
    edges = ends.shape[1]

    def uniform(*shape):
        return torch.rand(*shape, generator=draw, dtype=torch.float64)

    return {
        "edge_index": ends,
        "x": torch.randn(NODES, 6, generator=draw, dtype=torch.float64),
        "start": torch.randn(NODES, 6, generator=draw, dtype=torch.float64),
        "pos": uniform(NODES, 3),
        "normal": uniform(NODES, 3),
        "batch": torch.randint(0, 3, (NODES,), generator=draw),
        "w": uniform(edges) + 0.5,
        "attr": uniform(edges, 3),
        "kind": torch.randint(0, 3, (edges,), generator=draw),
        "part": part,
    }


def cut(data, folder, num_parts):
    """The path of the graph's partitions."""
    assignment = folder / f"assignment-{num_parts}"
    assignment.write_text("\n".join(str(int(part) % num_parts) for part in data["part"]))
    return sar.partition(
        folder / f"parts-{num_parts}",
        edge_index=data["edge_index"],
        num_nodes=NODES,
        num_parts=num_parts,
        method="file",
        assignment=assignment,
        node_data={key: data[key] for key in ("x", *NODE_KEYS)},
        edge_data={key: data[key] for key in EDGE_KEYS},
    )


def of_rank(rank, made):
    """The same data of a rank's nodes and edges."""
    node = {key: rank.ndata[key] for key in NODE_KEYS}
    edge = {key: rank.edata[key] for key in EDGE_KEYS}
    return made(x=rank.x, edge_index=rank.edge_index, **node, **edge)


def joined(parts, ids):
    """Values of all ranks' nodes in the order of the whole graph."""
    return torch.cat(parts)[torch.argsort(torch.cat(ids))]


def difference(ours, expected):
    """How far a tensor is from the expected one, in units of its largest value; infinity if it is of another shape.

    Old versions of PyG give NaN for nodes without edges in places; both have to.
    """
    if ours is None or expected is None:
        other = ours if expected is None else expected
        return 0.0 if other is None or not other.any() else float("inf")
    if ours.shape != expected.shape:
        return float("inf")
    if not torch.equal(ours.isnan(), expected.isnan()):
        return float("inf")
    ours, expected = ours.double().nan_to_num(), expected.double().nan_to_num()
    if not expected.numel():
        return 0.0
    return ((ours - expected).abs().max() / max(1.0, expected.abs().max().item())).item()


def worst(ranks, ids, values):
    """The value that differs most from that in memory, and by how much."""
    found = {}
    for i, output in enumerate(values["outputs"]):
        parts = [rank["outputs"][i] for rank in ranks]
        if output.dim() and len(output) == NODES:
            parts = [joined(parts, ids)]
        found[f"output {i}"] = max(difference(part, output) for part in parts)
    found["gradient of x"] = difference(joined([rank["gx"] for rank in ranks], ids), values["gx"])
    for kind in ("parameters", "buffers"):
        for name, value in values[kind].items():
            found[name] = max(difference(rank[kind][name], value) for rank in ranks)
    return max(found.items(), key=lambda item: item[1])
