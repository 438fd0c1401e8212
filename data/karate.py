#!/usr/bin/env python3
"""Writes data/karate: Zachary's karate club, cut into two partitions by DGL 2.1.0. See README.md here."""
import os
import pathlib
import shutil

import dgl
import networkx
import numpy
import torch

HERE = pathlib.Path(__file__).resolve().parent
SEED = 34


def karate():
    """Both directions of every tie, and a self loop at every member."""
    club = networkx.karate_club_graph()
    ties = [(u, v, float(w)) for u, v, w in club.edges(data="weight")]
    edges = ties + [(v, u, w) for u, v, w in ties] + [(u, u, 1.0) for u in club.nodes]
    src, dst, weight = zip(*edges)
    graph = dgl.graph((torch.tensor(src), torch.tensor(dst)), num_nodes=club.number_of_nodes())
    graph.edata["weight"] = torch.tensor(weight, dtype=torch.float32)
    # Members have no attributes: each is its own feature.
    graph.ndata["features"] = torch.eye(graph.num_nodes())
    labels = torch.tensor([int(club.nodes[n]["club"] == "Officer") for n in club.nodes])
    graph.ndata["labels"] = labels
    masks = {name: torch.zeros(graph.num_nodes(), dtype=torch.bool) for name in ("train", "val", "test")}
    random = numpy.random.default_rng(SEED)
    for side in (0, 1):
        members = random.permutation(torch.nonzero(labels == side).ravel().numpy())
        for name, chosen in (("train", members[:5]), ("val", members[5:9]), ("test", members[9:])):
            masks[name][chosen] = True
    for name, mask in masks.items():
        graph.ndata[f"{name}_mask"] = mask
    return graph


def clear_header(path):
    """DGL leaves whatever was in memory in bytes 32 to 4095 of a graph file and never reads them."""
    with open(path, "r+b") as file:
        file.seek(32)
        file.write(bytes(4096 - 32))


def main():
    dgl.random.seed(SEED)
    torch.manual_seed(SEED)
    os.chdir(HERE)  # paths in the JSON file are relative to the folder it is in
    shutil.rmtree("karate", ignore_errors=True)
    dgl.distributed.partition_graph(karate(), "karate", 2, "karate", part_method="metis")
    for path in sorted(pathlib.Path("karate").glob("part*/graph.dgl")):
        clear_header(path)


if __name__ == "__main__":
    main()
