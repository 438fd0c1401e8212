#!/usr/bin/env python3
"""Writes data/cora/cora.npz from a partition directory of Cora that has the arrays of Planetoid. See README.md here.

    python data/cora.py PARTITIONS/cora.json
"""

import pathlib
import sys

import numpy as np
import torch

import sar_single as sar

KEYS = ("features", "labels", "train_mask", "val_mask", "test_mask")


def of_rank(rank):
    """Nodes of a rank by their ids in the partitions, and its edges by the ids of their ends."""
    source, destination, _, _ = rank.graph.edge_arrays()
    own = rank.first_node + torch.arange(rank.graph.num_dst_nodes())
    ends = rank.graph.halo(own[:, None].double())[source, 0], own[destination]
    return {key: rank.ndata[key].numpy() for key in KEYS}, *(end.long().numpy() for end in ends)


def main():
    ranks = sar.run(of_rank, sys.argv[1])
    table = {key: np.concatenate([nodes[key] for nodes, _, _ in ranks]) for key in KEYS}
    ends = np.stack([np.concatenate([rank[i] for rank in ranks]) for i in (1, 2)])
    # Each tie once; whoever reads the file adds the other direction.
    ends = ends[:, ends[0] < ends[1]]
    ends = ends[:, np.lexsort(ends)]
    paper, word = np.nonzero(table["features"])
    split = sum(number * table[f"{name}_mask"].astype(np.uint8) for number, name in enumerate(("train", "val", "test"), 1))
    np.savez_compressed(
        pathlib.Path(__file__).resolve().parent / "cora" / "cora.npz",
        ties=ends.astype(np.uint16),
        words_per_paper=np.bincount(paper, minlength=len(table["labels"])).astype(np.uint16),
        words=word.astype(np.uint16),
        labels=table["labels"].astype(np.uint8),
        split=split.astype(np.uint8),
    )


if __name__ == "__main__":
    main()
