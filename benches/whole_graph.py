"""A graph for DGL, put together again from the partitions of a directory."""
import json
import os
import pathlib

os.environ.setdefault("DGLBACKEND", "pytorch")

import dgl
import torch


def whole_graph(part_json):
    """The graph in its global ids, and the columns of its nodes by name."""
    src, dst, columns = [], [], {}
    for part in range(json.loads(pathlib.Path(part_json).read_text())["num_parts"]):
        graph, data, *_ = dgl.distributed.load_partition(str(part_json), part)
        inner, ids, (u, v) = graph.edata["inner_edge"].bool(), graph.ndata[dgl.NID], graph.edges(order="eid")
        src.append(ids[u][inner])
        dst.append(ids[v][inner])
        for key, value in data.items():
            columns.setdefault(key.split("/")[1], []).append(value)
    columns = {key: torch.cat(values) for key, values in columns.items()}
    graph = dgl.graph((torch.cat(src), torch.cat(dst)), num_nodes=len(columns["label"]))
    graph.create_formats_()
    return graph, columns
